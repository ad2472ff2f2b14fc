"""Clusters that grow by pointwise readers: epilogues, and pointwise kernels as long as their shape allows."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Node
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Cast, Reduction
from nautilus_cli.passes.dataflow import Dataflow
from nautilus_cli.passes.fusion.clusters import Cluster, Clusters
from nautilus_cli.passes.fusion.fusible import is_pointwise


def grow(clusters: Clusters, cluster: Cluster, admits: Callable[[Node], bool]) -> None:
    """Add the free pointwise readers of CLUSTER's values that ADMITS accepts, in topological order, until none is left."""
    flow = clusters.flow
    queue: list[tuple[int, int]] = []
    nodes = flow.graph.nodes

    def offer(node: Node) -> None:
        for reader in flow.successors(node):
            if reader not in clusters.of:
                heapq.heappush(queue, (flow.position[reader], 0))

    for member in list(cluster.members):
        offer(member)
    while queue:
        node = nodes[heapq.heappop(queue)[0]]
        if node in clusters.of or not admits(node) or not clusters.may_add(cluster, node):
            continue
        clusters.add(cluster, node)
        offer(node)


def same_elements(flow: Dataflow, cluster: Cluster, elements: int) -> Callable[[Node], bool]:
    """Accept a pointwise node whose result has one element for each of the cluster's, in the same linear order."""

    def admits(node: Node) -> bool:
        if not is_pointwise(node) or not same(next(node.results()).type.elements, elements) or _widens_for_reduction(flow, node):
            return False
        for value in node.operands():
            source, _ = flow.source(value)
            inside = source in flow.producer and flow.producer[source] in cluster.members
            if inside and not (same(value.type.elements, elements) and flow.is_whole(value)):
                return False
        return True

    return admits


def _widens_for_reduction(flow: Dataflow, node: Node) -> bool:
    """Whether NODE is a cast to a wider type that a reduction reads: the row kernel casts while it loads, at half the bytes."""
    operand, result = node.inputs[0], next(node.results())
    if not isinstance(operators()[node.op].lowering, Cast) or operand is None or result.type.dtype.bits <= operand.type.dtype.bits:
        return False
    return any(isinstance(operators()[reader.op].lowering, Reduction) for reader in flow.successors(node))

"""Fusion: group nodes so that each group is one kernel.

Requires: a decomposed graph (pointwise, movement, reductions and anchors only). Establishes: a FusedGraph.

Order of the steps, and why:
1. Each anchor takes the pointwise work that follows it: an epilogue costs nothing, since the accumulator is in registers.
2. Each reduction takes the pointwise work around it and the reductions over the same rows: the row is read once.
3. What is left before an anchor and cheap becomes its prologue: the tensor is never written. Before the left operand of a product that
   is anything pointwise, and a gather of rows; lowering knows whether it pays there, and asks for it to be stored where not. So it is
   with what a copy, or a write into a cache, alone reads: other copies, such as the Pads that a Concat joins, and cheap work.
4. The rest becomes pointwise kernels, each as long as its shape allows.
"""

from __future__ import annotations

from collections.abc import Collection

from nautilus_cli.ir.dims import same, upper
from nautilus_cli.ir.graph import FusedGraph, Graph, Node
from nautilus_cli.ops.cache_write import OPERATOR as CACHE_WRITE
from nautilus_cli.ops.normalized_matmul import FAMILY as NORMALIZED_MATMUL_FAMILY
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.row_moments import OPERATOR as ROW_MOMENTS
from nautilus_cli.ops.spec import Anchor, Control, Reduction
from nautilus_cli.passes.dataflow import Dataflow, leaves
from nautilus_cli.passes.fusion.clusters import Cluster, Clusters
from nautilus_cli.passes.fusion.copy_clusters import try_copy
from nautilus_cli.passes.fusion.fusible import is_pointwise
from nautilus_cli.passes.fusion.grouping import groups_of
from nautilus_cli.passes.fusion.growth import grow, same_elements
from nautilus_cli.passes.fusion.prologue_clusters import gathers_left, try_prologue
from nautilus_cli.passes.fusion.row_clusters import grow_row

MOST_REPEATED = 1 << 12
"""Elements of a kernel that works a number out again for each: that costs less than a kernel for the number alone."""

LEAVING_MOMENTS = frozenset({"gemm", NORMALIZED_MATMUL_FAMILY})
"""Families of matrix products whose epilogue can leave moments of the rows that it stores."""


def fuse(graph: Graph, stored_left: Collection[Node] = ()) -> FusedGraph:
    """Return GRAPH with its groups in an order in which they can run.

    Args:
        graph: the graph.
        stored_left: products, also of graphs that nodes hold, whose left operand is not computed while it is loaded.
    """
    flow = Dataflow(graph)
    clusters = Clusters(flow)
    gathers = {node for node in flow.computing if gathers_left(flow, node, stored_left)}
    for node in flow.computing:
        lowering = operators()[node.op].lowering
        if node in gathers:
            continue
        if isinstance(lowering, Control):
            clusters.start("control", node, node)
        if node.op == ROW_MOMENTS.name and _joins_rows(clusters, node):
            continue
        if isinstance(lowering, Anchor) and not (node.op == CACHE_WRITE.name and _joins_write(clusters, node)):
            cluster = clusters.start(lowering.family, node, node)
            if lowering.epilogue:
                grow(clusters, cluster, same_elements(flow, cluster, next(node.results()).type.elements))
    for node in flow.computing:
        if node not in clusters.of and isinstance(operators()[node.op].lowering, Reduction):
            cluster = clusters.start("row", node, node)
            grow_row(clusters, cluster)
    copies: dict[Node, Cluster] = {}
    for node in reversed(flow.computing):
        if node not in clusters.of:
            try_prologue(clusters, node, stored_left, gathers)
        if node not in clusters.of and node not in gathers:
            try_copy(clusters, node, copies)
    for node in flow.computing:
        if node in gathers and node not in clusters.of:
            cluster = clusters.start("gather", node, node)
            grow(clusters, cluster, same_elements(flow, cluster, next(node.results()).type.elements))
    numbers = _numbers(clusters)
    for node in flow.computing:
        begun = clusters.start("pointwise", None, node) if node not in clusters.of and node not in numbers else copies.get(node)
        if begun is not None:
            grow(clusters, begun, same_elements(flow, begun, next(node.results()).type.elements))
    for node in reversed(numbers):
        if node not in clusters.of:
            _place_number(clusters, node)
    return FusedGraph(graph, groups_of(clusters, lambda body: fuse(body, stored_left)))


def _numbers(clusters: Clusters) -> list[Node]:
    """Return the free nodes that compute one number of nothing that a kernel stores, in topological order: of sizes, constants, inputs."""
    flow = clusters.flow
    found: list[Node] = []
    for node in flow.computing:
        if node in clusters.of or not is_pointwise(node) or not same(next(node.results()).type.elements, 1):
            continue
        if all(producer in found for producer in flow.predecessors(node)):
            found.append(node)
    return found


def _place_number(clusters: Clusters, node: Node) -> None:
    """Put NODE, which computes one number, into the pointwise kernel that alone reads it, if that is short; else it begins one."""
    flow = clusters.flow
    result = next(node.results())
    readers = {clusters.of.get(reader) for reader in flow.readers.get(result, ())}
    (reader,) = readers if len(readers) == 1 else (None,)
    if reader is not None and reader.kind == "pointwise" and not leaves(flow, result):
        elements = upper(next(reader.members[0].results()).type.elements)
        if elements <= MOST_REPEATED and clusters.may_add(reader, node):
            clusters.add(reader, node)
            return
    grow(clusters, clusters.start("pointwise", None, node), same_elements(flow, clusters.of[node], 1))


def _joins_write(clusters: Clusters, node: Node) -> bool:
    """Put a write of rows into a cache into the kernel of the last such write before it, of as many: that of a layer's keys, and values."""
    before = [n for n in clusters.of if n.op == CACHE_WRITE.name]
    if not before:
        return False
    cluster = clusters.of[before[-1]]
    _, rows = node.operands()
    _, others = before[-1].operands()
    if not same(rows.type.elements, others.type.elements) or not clusters.may_add(cluster, node):
        return False
    clusters.add(cluster, node)
    return True


def _joins_rows(clusters: Clusters, node: Node) -> bool:
    """Put the moments of rows into the product that stores these, where they are of its results; it leaves those of one tensor."""
    flow = clusters.flow
    (rows,) = node.operands()
    source, _ = flow.source(rows)
    cluster = clusters.of.get(flow.producer[source]) if source in flow.producer else None
    if cluster is None or cluster.anchor is None or cluster.kind not in LEAVING_MOMENTS:
        return False
    result = next(cluster.anchor.results())
    is_of_results = flow.is_whole(rows) and same(rows.type.elements, result.type.elements)
    is_alike = is_of_results and same(rows.type.static[-1], result.type.static[-1]) and rows.type.dtype == result.type.dtype
    if not is_alike or any(member.op == ROW_MOMENTS.name for member in cluster.members) or not clusters.may_add(cluster, node):
        return False
    clusters.add(cluster, node)
    return True

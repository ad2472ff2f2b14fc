"""Prologues: what an anchor alone reads and computes while it loads."""

from __future__ import annotations

from collections.abc import Collection

from nautilus_cli.ir.graph import Node
from nautilus_cli.ops.cache_write import FAMILY as CACHE_WRITE_FAMILY
from nautilus_cli.ops.gather import gathered
from nautilus_cli.ops.matmul_pair import FAMILY as MATMUL_PAIR_FAMILY
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Anchor
from nautilus_cli.passes.dataflow import Dataflow, leaves
from nautilus_cli.passes.fusion.clusters import Cluster, Clusters
from nautilus_cli.passes.fusion.fusible import is_cheap_node, is_pointwise

PROLOGUE_NODES = 4
"""Longest prologue; a longer chain is a kernel of its own, since every tile that loads the operand would repeat it."""

LEFT_NODES = 16
"""The same of a product's left operand."""

PRODUCTS = frozenset({"gemm", MATMUL_PAIR_FAMILY})
"""Families of matrix products that may compute their left operand."""


def try_prologue(clusters: Clusters, node: Node, stored_left: Collection[Node], gathers: Collection[Node]) -> None:
    """Put a pointwise NODE, or one of GATHERS, into the anchor that alone reads it.

    It is cheap, or before the left operand of a product, or each of its elements is asked for once.
    """
    flow = clusters.flow
    result = next(node.results())
    readers = flow.readers.get(result, [])
    cluster = clusters.of.get(readers[0]) if readers else None
    if cluster is None or cluster.anchor is None or cluster.kind in ("row", "control", CACHE_WRITE_FAMILY) or leaves(flow, result):
        return
    anchor = cluster.anchor
    is_left = cluster.kind in PRODUCTS and feeds_left(flow, anchor, node)
    if (is_left and anchor in stored_left) or any(reader in gathers for reader in readers):  # a gather's indices are in memory
        return
    traits = operators()[anchor.op].lowering
    assert isinstance(traits, Anchor)
    if not (is_cheap_node(node) or ((is_left or traits.reads_once) and is_pointwise(node)) or (is_left and node in gathers)):
        return
    before = [m for m in cluster.members if flow.position[m] < flow.position[anchor] and _feeds_only(clusters, m, cluster)]
    if len(before) >= (LEFT_NODES if is_left else PROLOGUE_NODES):
        return
    for reader in readers:
        if reader is anchor:
            places = [i for i, v in enumerate(anchor.inputs) if v is not None and flow.source(v)[0] is result]
            if any(i not in traits.prologue for i in places):
                return
        elif reader not in before:
            return
    if clusters.may_add(cluster, node):
        clusters.add(cluster, node)


def gathers_left(flow: Dataflow, node: Node, stored_left: Collection[Node]) -> bool:
    """Whether NODE gathers whole rows, and pointwise work alone lies between them and the left operand of one product."""
    found = gathered(node)
    if found is None or found.axis == len(found.data.type.static) - 1:
        return False
    if any(v.contents is not None for v in (found.data, found.indices)) or leaves(flow, next(node.results())):
        return False
    source, _ = flow.source(found.indices)
    if source in flow.producer and is_pointwise(flow.producer[source]):
        return False
    last = node
    while True:
        readers = list(dict.fromkeys(flow.successors(last)))
        if len(readers) != 1:
            return False
        (last,) = readers
        lowering = operators()[last.op].lowering
        if isinstance(lowering, Anchor):
            return lowering.family in PRODUCTS and last not in stored_left and feeds_left(flow, last, node)
        if not is_pointwise(last):
            return False


def feeds_left(flow: Dataflow, anchor: Node, node: Node) -> bool:
    """Whether all that comes of NODE is the left operand of ANCHOR, a product."""
    stack, seen = [node], {node}
    while stack:
        result = next(stack.pop().results())
        for reader in flow.readers.get(result, ()):
            if reader is anchor:
                if any(v is not None and flow.source(v)[0] is result for v in anchor.inputs[1:]):
                    return False
            elif flow.position[reader] > flow.position[anchor]:
                return False
            elif reader not in seen:
                seen.add(reader)
                stack.append(reader)
    return True


def _feeds_only(clusters: Clusters, node: Node, cluster: Cluster) -> bool:
    return all(clusters.of.get(s) is cluster for s in clusters.flow.successors(node))

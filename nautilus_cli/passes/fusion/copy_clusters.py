"""Copies that take in what they alone read: other copies, such as the Pads that a Concat joins, and cheap work."""

from __future__ import annotations

from nautilus_cli.ir.dims import same, upper
from nautilus_cli.ir.graph import Node
from nautilus_cli.ops.cache_write import FAMILY as CACHE_WRITE_FAMILY
from nautilus_cli.ops.cache_write import OPERATOR as CACHE_WRITE
from nautilus_cli.ops.movement import is_movement
from nautilus_cli.passes.dataflow import leaves
from nautilus_cli.passes.fusion.clusters import Cluster, Clusters
from nautilus_cli.passes.fusion.fusible import is_cheap_node

MOST_COPIED = 32
"""Operands of a copy with all that it takes in; as `within_limits.MOST_OPERANDS`, and for the same reason."""


def try_copy(clusters: Clusters, node: Node, copies: dict[Node, Cluster]) -> None:
    """Put NODE, a copy or cheap, into the copy that alone reads it, each element once; a copy that nothing else runs begins a kernel.

    Args:
        clusters: free nodes among them.
        node: a free one.
        copies: clusters that copy, by the copy that is stored; one more where NODE begins one.
    """
    if _is_copied_from(clusters, node):
        cluster = clusters.of[clusters.flow.readers[next(node.results())][0]]
        if cluster.operands + len(node.inputs) <= MOST_COPIED and clusters.may_add(cluster, node):
            clusters.add(cluster, node)
            return
    if is_movement(node) and len(node.outputs) == 1:
        copies[node] = clusters.start("pointwise", None, node)


def _is_copied_from(clusters: Clusters, node: Node) -> bool:
    """Whether NODE, a copy or cheap, is read by a node of a copying kernel alone, and each of its elements no more than once."""
    flow = clusters.flow
    result = next(node.results())
    readers = flow.readers.get(result, [])
    if not (is_movement(node) or is_cheap_node(node)) or len(readers) != 1 or leaves(flow, result):
        return False
    (reader,) = readers
    cluster = clusters.of.get(reader)
    if cluster is None or cluster.kind not in ("pointwise", CACHE_WRITE_FAMILY):  # of which only those that copy have begun
        return False
    read = [value for value in reader.operands() if flow.source(value)[0] is result]
    elements = read[0].type.elements
    is_once = is_movement(reader) or reader.op == CACHE_WRITE.name or same(next(reader.results()).type.elements, elements)
    return len(read) == 1 and is_once and upper(elements - result.type.elements) <= 0

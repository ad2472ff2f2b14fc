"""The same graph with less fused: to find out which member of a group is wrong, or whether fusing them was.

Requires: a fused graph. Establishes: a fused graph whose other groups are the same.
"""

from __future__ import annotations

from collections.abc import Collection

from nautilus_cli.ir.graph import FusedGraph, Group, Node
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Anchor, Control, Reduction
from nautilus_cli.passes.dataflow import Dataflow
from nautilus_cli.passes.fusion.clusters import Clusters
from nautilus_cli.passes.fusion.fuse import fuse
from nautilus_cli.passes.fusion.grouping import groups_of


def unfuse(fused: FusedGraph, apart: Collection[Group]) -> FusedGraph:
    """Return FUSED with each computing member of the groups APART in a group of its own."""
    flow = Dataflow(fused.graph)
    clusters = Clusters(flow)
    computing = set(flow.computing)
    for group in fused.groups:
        members = [node for node in group.nodes if node in computing]
        if group in apart:
            for node in members:
                clusters.start(*_alone(node), node)
        elif members:  # a group without any is a copy, which the outputs ask for
            cluster = clusters.start(group.kind, group.anchor, members[0])
            for node in members[1:]:
                clusters.add(cluster, node)
    return FusedGraph(fused.graph, groups_of(clusters, fuse))


def _alone(node: Node) -> tuple[str, Node | None]:
    """Return the family and the anchor of a node on its own."""
    lowering = operators()[node.op].lowering
    if isinstance(lowering, Control):
        return "control", node
    if isinstance(lowering, Anchor):
        return lowering.family, node
    return ("row", node) if isinstance(lowering, Reduction) else ("pointwise", None)

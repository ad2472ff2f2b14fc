"""Clusters as groups, in an order in which they can run."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from nautilus_cli.ir.control import bodies
from nautilus_cli.ir.graph import FusedGraph, Graph, Group, Node, Value
from nautilus_cli.passes.dataflow import Dataflow
from nautilus_cli.passes.fusion.clusters import Cluster, Clusters

MOST_TOGETHER = 16
"""Outputs that one kernel copies, each with a load and a store of its own."""


def groups_of(clusters: Clusters, fuse_body: Callable[[Graph], FusedGraph]) -> tuple[Group, ...]:
    """Turn clusters into groups, with the movement that they look through, and copies for outputs that only movement makes.

    Args:
        clusters: of the nodes.
        fuse_body: groups the nodes of a graph that a node holds.
    """
    flow = clusters.flow
    outputs = flow.graph.output_values()
    groups: dict[Cluster, Group] = {}
    copies: list[Group] = []
    viewed: dict[Cluster, list[Value]] = {}
    for value in dict.fromkeys(v for _, v in flow.graph.outputs):
        source, _ = flow.source(value)
        if source is value:
            continue
        owner = clusters.of[flow.producer[source]] if source in flow.producer else None
        if owner is not None and owner.kind != "control" and flow.is_whole(value):
            viewed.setdefault(owner, []).append(value)
        else:
            copies.append(Group("pointwise", None, _movement_behind(flow, [value]), (value,)))
    for cluster in clusters.all():
        members = set(cluster.members)
        stored = [
            v
            for node in sorted(cluster.members, key=flow.position.__getitem__)
            for v in node.results()
            if v in outputs or any(r not in members for r in flow.readers.get(v, ())) or _is_copied(flow, v, copies)
        ]
        stored += viewed.get(cluster, [])
        starts = [v for node in cluster.members for v in node.operands()] + viewed.get(cluster, [])
        nodes = sorted(members | set(_movement_behind(flow, starts)), key=flow.position.__getitem__)
        held = () if cluster.anchor is None else tuple(map(fuse_body, bodies(cluster.anchor.attrs)))
        groups[cluster] = Group(cluster.kind, cluster.anchor, tuple(nodes), tuple(stored), held)
    return (*_ordered(clusters, groups), *_together(copies))


def _together(copies: list[Group]) -> list[Group]:
    """Return copies to outputs of as many elements as one kernel, as of the results of a Split; a few at a time."""
    alike: dict[str, list[Group]] = {}  # by how many, written out, since numbers of elements may be symbolic
    for copy in copies:
        alike.setdefault(str(copy.outputs[0].type.elements), []).append(copy)
    parts = [same[i : i + MOST_TOGETHER] for same in alike.values() for i in range(0, len(same), MOST_TOGETHER)]
    return [
        Group("pointwise", None, tuple(dict.fromkeys(n for copy in part for n in copy.nodes)), tuple(copy.outputs[0] for copy in part))
        for part in parts
    ]


def _is_copied(flow: Dataflow, value: Value, copies: list[Group]) -> bool:
    return any(flow.source(c.outputs[0])[0] is value for c in copies)


def _movement_behind(flow: Dataflow, values: list[Value]) -> tuple[Node, ...]:
    """Return the transparent movement nodes that lie between VALUES and where they come from, in topological order."""
    nodes: set[Node] = set()
    stack = list(values)
    while stack:
        value = stack.pop()
        node = flow.transparent.get(value)
        if node is not None and node not in nodes:
            nodes.add(node)
            stack.extend(node.operands())
    return tuple(sorted(nodes, key=flow.position.__getitem__))


def _ordered(clusters: Clusters, groups: dict[Cluster, Group]) -> list[Group]:
    """Return the groups in topological order; ties by the first node's position, so that equal graphs give equal orders."""
    flow = clusters.flow
    waiting: dict[Cluster, set[Cluster]] = {}
    readers: dict[Cluster, list[Cluster]] = {}
    for cluster in groups:
        needs = {clusters.of[p] for m in cluster.members for p in flow.predecessors(m)} - {cluster}
        waiting[cluster] = needs
        for need in needs:
            readers.setdefault(need, []).append(cluster)
    first = {cluster: min(flow.position[m] for m in cluster.members) for cluster in groups}
    by_first = {position: cluster for cluster, position in first.items()}
    ready = [first[c] for c, needs in waiting.items() if not needs]
    heapq.heapify(ready)
    order: list[Group] = []
    while ready:
        cluster = by_first[heapq.heappop(ready)]
        order.append(groups[cluster])
        for reader in readers.get(cluster, ()):
            waiting[reader].discard(cluster)
            if not waiting[reader]:
                heapq.heappush(ready, first[reader])
    assert len(order) == len(groups), "fusion made groups depend on each other"
    return order

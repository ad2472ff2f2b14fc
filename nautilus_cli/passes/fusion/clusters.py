"""Working state of fusion: which computing node belongs to which cluster, and whether two clusters may merge."""

from __future__ import annotations

from nautilus_cli.ir.graph import Node
from nautilus_cli.passes.dataflow import Dataflow

MOST_NODES = 64
"""In one kernel. Real chains have a dozen; an endless one would be a kernel that compilers take forever for."""

MOST_OPERANDS = 128
"""Of all nodes of one kernel together, which bounds the pointers that it takes. A kernel's arguments end at 4 KiB, 512 of them;
a kernel of that many is one of short vectors.

Source: CUDA C++ Programming Guide 12.0, Technical Specifications per Compute Capability.
"""


class Cluster:
    """Computing nodes that will become one kernel.

    Attributes:
        kind: kernel family.
        anchor: the heavy node, or None.
        members: the nodes.
        operands: of all of them together.
    """

    def __init__(self, kind: str, anchor: Node | None, first: Node) -> None:
        self.kind = kind
        self.anchor = anchor
        self.members = [first]
        self.operands = len(first.inputs)


class Clusters:
    """An assignment of computing nodes to clusters that never makes two clusters depend on each other."""

    def __init__(self, flow: Dataflow) -> None:
        self.flow = flow
        self.of: dict[Node, Cluster] = {}

    def start(self, kind: str, anchor: Node | None, node: Node) -> Cluster:
        """Make a cluster of one node."""
        cluster = Cluster(kind, anchor, node)
        self.of[node] = cluster
        return cluster

    def add(self, cluster: Cluster, node: Node) -> None:
        """Put NODE, which is free, into CLUSTER."""
        cluster.members.append(node)
        cluster.operands += len(node.inputs)
        self.of[node] = cluster

    def all(self) -> list[Cluster]:
        """Return the clusters, each once, by their first node."""
        return list(dict.fromkeys(self.of[node] for node in self.flow.computing if node in self.of))

    def may_add(self, cluster: Cluster, node: Node) -> bool:
        """Whether CLUSTER and the free NODE can run as one: small enough, and no path between them leads through a third kernel."""
        if len(cluster.members) >= MOST_NODES or cluster.operands + len(node.inputs) > MOST_OPERANDS:
            return False
        if any(self.flow.gives_count(member, node) or self.flow.gives_count(node, member) for member in cluster.members):
            return False  # a kernel cannot read a number that it gives
        return not self._path(cluster.members, [node], cluster) and not self._path([node], cluster.members, cluster)

    def _path(self, begin: list[Node], goal: list[Node], cluster: Cluster) -> bool:
        """Whether a path of at least one kernel other than CLUSTER leads from BEGIN to GOAL."""
        position = self.flow.position
        last = max(position[n] for n in goal)
        targets = set(goal)
        inside = set(begin)
        seen: set[Node] = set()
        stack = [s for n in begin for s in self.flow.successors(n) if s not in targets and s not in inside]
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            owner = self.of.get(node)
            group = owner.members if owner is not None and owner is not cluster else [node]
            if min(position[n] for n in group) > last:
                continue
            seen.update(group)
            for member in group:
                for successor in self.flow.successors(member):
                    if successor in targets:
                        return True
                    if successor not in seen and successor not in inside:
                        stack.append(successor)
        return False

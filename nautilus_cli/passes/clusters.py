"""Working state of fusion: which computing node belongs to which cluster, and whether two clusters may merge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nautilus_cli.ir.counts import counts_of, given_in
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.index_map import IndexMap
from nautilus_cli.ops.movement import is_transparent, look_through

MOST_NODES = 64
"""In one kernel. Real chains have a dozen; an endless one would be a kernel that compilers take forever for."""

MOST_OPERANDS = 128
"""Of all nodes of one kernel together, which bounds the pointers that it takes. A kernel's arguments end at 4 KiB, 512 of them;
a kernel of that many is one of short vectors.

Source: CUDA C++ Programming Guide 12.0, Technical Specifications per Compute Capability.
"""


class Dataflow:
    """The graph seen without its transparent movement: which computing node reads which.

    Attributes:
        computing: nodes other than transparent movement, in topological order.
        position: place of each node in the graph's order.
        transparent: producer of each value that transparent movement makes.
        producer: computing producer of each value.
        sources: for each computing node and operand: the value it comes from, and the map to it.
        readers: for each value that a computing node makes: the computing nodes that read it.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.position = {node: i for i, node in enumerate(graph.nodes)}
        self.transparent: dict[Value, Node] = {}
        self.computing: list[Node] = []
        self.producer: dict[Value, Node] = {}
        self._through: dict[Value, tuple[Value, IndexMap]] = {}
        self.readers: dict[Value, list[Node]] = {}
        for node in graph.nodes:
            if is_transparent(node):
                self.transparent.update(dict.fromkeys(node.results(), node))
            else:
                self.computing.append(node)
                self.producer.update(dict.fromkeys(node.results(), node))
        for node in self.computing:
            for source in dict.fromkeys(self.source(v)[0] for v in node.operands()):
                self.readers.setdefault(source, []).append(node)
        self._counts: dict[Node, tuple[Node, ...]] = {}
        self._counted: dict[Node, list[Node]] = {}
        if graph.counts:
            self._read_counts(dict(graph.counts))

    def _read_counts(self, holders: Mapping[str, Value]) -> None:
        """Note which nodes give the counts that others need to know, movement between them included."""
        for node in self.computing:
            found = counts_of(node).union(*(given_in(self.source(v)[1]) for v in node.operands()))
            givers = dict.fromkeys(self.producer[self.source(holders[s.name])[0]] for s in found if s.name in holders)
            givers.pop(node, None)  # what gives a count has it in a shape, and does not read it
            self._counts[node] = tuple(givers)
            for giver in givers:
                self._counted.setdefault(giver, []).append(node)

    def source(self, value: Value) -> tuple[Value, IndexMap]:
        """Return where VALUE comes from, through transparent movement, and the map to it."""
        if value not in self._through:
            self._through[value] = look_through(value, self.transparent)
        return self._through[value]

    def is_whole(self, value: Value) -> bool:
        """Whether VALUE is where it comes from, element by element: all of it, in the same linear order."""
        source, index_map = self.source(value)
        return same(source.type.elements, value.type.elements) and index_map.is_identity

    def gives_count(self, giver: Node, node: Node) -> bool:
        """Whether NODE needs to know a count that GIVER gives."""
        return giver in self._counts.get(node, ())

    def predecessors(self, node: Node) -> Iterator[Node]:
        """Yield the computing nodes that NODE reads from, those that give its counts included."""
        for value in node.operands():
            producer = self.producer.get(self.source(value)[0])
            if producer is not None:
                yield producer
        yield from self._counts.get(node, ())

    def successors(self, node: Node) -> Iterator[Node]:
        """Yield the computing nodes that read from NODE, those that need its counts included."""
        for value in node.results():
            yield from self.readers.get(value, ())
        yield from self._counted.get(node, ())


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

"""A graph seen without the movement that loads look through: which computing node reads which, and what leaves the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nautilus_cli.ir.counts import counts_of, given_in
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.index_map import IndexMap
from nautilus_cli.ops.movement import is_transparent, look_through


class Dataflow:
    """The graph seen without its transparent movement: which computing node reads which.

    Attributes:
        graph: the graph.
        computing: nodes other than transparent movement, in topological order.
        position: place of each node in the graph's order.
        transparent: producer of each value that transparent movement makes.
        producer: computing producer of each value.
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


def leaves(flow: Dataflow, value: Value) -> bool:
    """Whether VALUE is a graph output, or a graph output views it."""
    return any(flow.source(v)[0] is value for v in flow.graph.output_values())

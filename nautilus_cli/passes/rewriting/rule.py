"""What a rewrite rule is, and what it may look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ops.builder import GraphBuilder


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a rule may look at around a node.

    Attributes:
        producers: node of each computed value.
        uses: how often each value is read, graph outputs counted.
    """

    producers: Mapping[Value, Node]
    uses: Mapping[Value, int]

    def sole_producer(self, value: Value | None, op: str) -> Node | None:
        """Return the node of operator OP that computes VALUE for one reader only, if that is how it is computed."""
        node = None if value is None else self.producers.get(value)
        return node if node is not None and node.op == op and value is not None and self.uses[value] == 1 else None

    def sole_convolution(self, value: Value | None) -> Node | None:
        """Return the convolution, transposed or not, that computes VALUE for one reader only, if that is how it is computed."""
        return self.sole_producer(value, "Conv") or self.sole_producer(value, "ConvTranspose")


class Rule(Protocol):
    """A rewrite: pattern, check, replacement. One module in `rules/`, which exposes `RULE`."""

    name: str
    pattern: str

    def check(self, node: Node, around: Surroundings) -> tuple[Node, ...] | str:
        """Return the nodes of the pattern, whose last is NODE, where the rule applies there; else why it does not."""
        ...

    def rewrite(self, node: Node, around: Surroundings, emit: GraphBuilder) -> Value:
        """Emit the replacement and return the value that takes the place of NODE's result."""
        ...


def surroundings(graph: Graph) -> Surroundings:
    """Return what rules may look at in GRAPH."""
    uses: dict[Value, int] = {}
    for node in graph.nodes:
        for value in node.operands():
            uses[value] = uses.get(value, 0) + 1
    for _, value in graph.outputs:
        uses[value] = uses.get(value, 0) + 1
    return Surroundings(graph.producers(), uses)

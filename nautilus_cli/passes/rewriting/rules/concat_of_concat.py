"""Concat(a, Concat(b, c), d) = Concat(a, b, c, d) along one axis: what is joined bit by bit is copied once."""

from __future__ import annotations

from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.passes.rewriting.rule import Surroundings


class ConcatOfConcat:
    """Join the operands of inner concatenations directly."""

    name = "concat_of_concat"
    pattern = "Concat(..., Concat(...), ...)"

    def check(self, node: Node, around: Surroundings) -> tuple[Node, ...] | str:
        """Apply where an operand is a concatenation along the same axis that nothing else reads."""
        if node.op != "Concat":
            return "not a concatenation"
        inner = [around.sole_producer(value, "Concat") for value in node.operands()]
        found = dict.fromkeys(n for n in inner if n is not None)
        if not found:
            return "no operand is a concatenation that nothing else reads"
        same = tuple(n for n in found if _axis(n) == _axis(node))
        return (*same, node) if same else "the inner concatenation is along another axis"

    def rewrite(self, node: Node, around: Surroundings, emit: GraphBuilder) -> Value:
        """Put the inner operands in the place of their concatenation."""
        joined: list[Value] = []
        for value in node.operands():
            inner = around.sole_producer(value, "Concat")
            joined += inner.operands() if inner is not None and _axis(inner) == _axis(node) else [value]
        return emit.node("Concat", joined, node.attrs)


def _axis(node: Node) -> int:
    """Return the axis, counted from the front."""
    axis: int = node.attrs.axis  # type: ignore[attr-defined]
    return axis % len(next(node.results()).type.shape)


RULE = ConcatOfConcat()

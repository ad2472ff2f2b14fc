"""Nodes that hold graphs: what a branch or a loop of which only the run knows the course has for attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from nautilus_cli.ir.graph import Graph, Node
from nautilus_cli.ir.types import TensorType


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BranchAttrs:
    """A branch. Operands are the condition (left out where it is known before a run), then the inputs of both graphs.

    Attributes:
        then_branch: gives the results where the condition holds.
        else_branch: gives them where it does not.
        types: of the results. A branch may fill the beginning of a vector only.
        condition: 1 or 0, where that is an expression of what is known before a run; None where an operand says it.
        refusals: why a branch cannot be taken; empty for one that can. Of one that cannot, nothing is known, and its graph is empty.
    """

    then_branch: Graph
    else_branch: Graph
    types: tuple[TensorType, ...]
    condition: int | None = None
    refusals: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoopAttrs:
    """A loop.

    Operands are how many iterations there are at most (int64, left out where that is known or there is no such number), the condition
    before the first one (left out where it holds), the states at the start, what is scanned, and what the body reads from outside.

    Attributes:
        body: one iteration: from states, a piece of each scanned operand, and what is read from outside, to whether the loop goes on (where
            `is_conditional`), the next states, and a piece of each collected result.
        states: how many there are.
        scanned: of each scanned operand, whether it is read from its end. Pieces lie along its first dimension.
        collected: of each collected result, whether a new piece comes before the others. Pieces lie along its first dimension.
        trips: how many iterations there are at most, where that is known before a run; None where an operand says so, or nothing.
        is_conditional: whether the body's first result may end the loop.
        length: of the first dimension of collected results.
        most: iterations after which it is an error to go on.
    """

    body: Graph
    states: int
    scanned: tuple[bool, ...] = ()
    collected: tuple[bool, ...] = ()
    trips: int | None = None
    is_conditional: bool = False
    length: int = 0
    most: int


def bodies(attrs: object) -> tuple[Graph, ...]:
    """Return the graphs that a node's attributes hold."""
    if isinstance(attrs, BranchAttrs):
        return (attrs.then_branch, attrs.else_branch)
    return (attrs.body,) if isinstance(attrs, LoopAttrs) else ()


def own_attributes(attrs: object) -> object:
    """Return attributes without the graphs among them."""
    if not bodies(attrs):
        return attrs
    return tuple(v for v in (getattr(attrs, f.name) for f in fields(attrs)) if not isinstance(v, Graph))  # type: ignore[arg-type]


def all_nodes(graph: Graph) -> Iterator[Node]:
    """Yield the nodes of a graph, each before those of the graphs that it holds."""
    for node in graph.nodes:
        yield node
        for body in bodies(node.attrs):
            yield from all_nodes(body)


def result_count(attrs: object) -> int:
    """Return how many results a node has by the graphs that it holds."""
    if isinstance(attrs, BranchAttrs):
        return len(attrs.types)
    assert isinstance(attrs, LoopAttrs)
    return len(attrs.body.outputs) - (1 if attrs.is_conditional else 0)

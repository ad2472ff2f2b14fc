"""Apply rewrite rules until none fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.rewrite import prune, retarget, substitute
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.passes import rules

ROUNDS = 64
"""Most sweeps over the graph; rules shrink it, so a graph that still changes after these has a rule that undoes another."""


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


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return every rule of `rules/`, by name."""
    found = [import_module(f"{rules.__name__}.{module.name}").RULE for module in iter_modules(rules.__path__)]
    return tuple(sorted(found, key=lambda rule: rule.name))


def apply_rules(graph: Graph) -> Graph:
    """Sweep over the graph until no rule applies.

    A rule's replacement is seen by the next sweep; within a sweep no two replacements touch, since a pattern's inner nodes have one reader.
    """
    for _ in range(ROUNDS):
        replaced, renamed = _sweep(graph)
        if not replaced:
            return graph
        graph = prune(substitute(graph, values=renamed, nodes=replaced))
    raise InternalError("rewrite rules undo one another")


def explain(graph: Graph, node: Node) -> tuple[tuple[str, str], ...]:
    """Return (rule, reason) for each rule whose pattern ends in NODE's operator but does not apply there."""
    around = surroundings(graph)
    found = [(rule, rule.check(node, around)) for rule in all_rules() if rule.pattern.startswith(f"{node.op}(")]
    return tuple((f"{rule.name}: {rule.pattern}", why) for rule, why in found if isinstance(why, str))


def surroundings(graph: Graph) -> Surroundings:
    """Return what rules may look at in GRAPH."""
    uses: dict[Value, int] = {}
    for node in graph.nodes:
        for value in node.operands():
            uses[value] = uses.get(value, 0) + 1
    for _, value in graph.outputs:
        uses[value] = uses.get(value, 0) + 1
    return Surroundings(graph.producers(), uses)


def _sweep(graph: Graph) -> tuple[dict[Node, tuple[Node, ...]], dict[Value, Value]]:
    around = surroundings(graph)
    replaced: dict[Node, tuple[Node, ...]] = {}
    renamed: dict[Value, Value] = {}
    touched: set[Node] = set()
    for node in graph.nodes:
        rule, matched = _first_match(node, around)
        if rule is None or touched.intersection(matched):
            continue
        emit = GraphBuilder(origin=tuple(dict.fromkeys(name for n in matched for name in n.origin)))
        old, new = next(node.results()), rule.rewrite(node, around, emit)
        made = {v for n in emit.nodes for v in n.results()}
        if new in made:
            replaced[node] = retarget(emit.nodes, {new: old})
        else:
            replaced[node], renamed[old] = tuple(emit.nodes), new
        touched.update(matched)
    return replaced, renamed


def _first_match(node: Node, around: Surroundings) -> tuple[Rule | None, tuple[Node, ...]]:
    for rule in all_rules():
        matched = rule.check(node, around)
        if not isinstance(matched, str):
            return rule, matched
    return None, ()

"""Apply rewrite rules until none fits."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.rewrite import prune, retarget, substitute
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.passes.rewriting import rules
from nautilus_cli.passes.rewriting.rule import Rule, Surroundings, surroundings

ROUNDS = 64
"""Most sweeps over the graph; rules shrink it, so a graph that still changes after these has a rule that undoes another."""


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

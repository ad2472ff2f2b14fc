"""The order of the passes, and the reason of each place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

from nautilus_cli.ir.control import bodies
from nautilus_cli.ir.graph import FusedGraph, Graph, Node
from nautilus_cli.ir.rewrite import substitute
from nautilus_cli.ops.verifier import verify_graph
from nautilus_cli.passes.caches.alias_caches import alias_caches, require_caches
from nautilus_cli.passes.fusion.fuse import fuse
from nautilus_cli.passes.legalization.layout import layout
from nautilus_cli.passes.legalization.materialize import materialize
from nautilus_cli.passes.legalization.separate_outputs import separate_outputs
from nautilus_cli.passes.legalization.supported import require_supported
from nautilus_cli.passes.legalization.within_limits import within_limits
from nautilus_cli.passes.products.halve_products import halve_products
from nautilus_cli.passes.products.pair_products import pair_products
from nautilus_cli.passes.rewriting.apply_rules import apply_rules
from nautilus_cli.passes.rewriting.decompose import decompose
from nautilus_cli.passes.rewriting.remove_identity import remove_identity

Pass = Callable[[Graph], Graph]

PASSES: tuple[tuple[Pass, str], ...] = (
    (decompose, "first, so that every later pass knows few operators"),
    (remove_identity, "before the rules, whose patterns would not look through identities"),
    (alias_caches, "where asked for: before the rules, which look through the Concat that appends to a cache"),
    (apply_rules, "scales and biases fold into weights while convolutions still stand alone"),
    (remove_identity, "rules leave multiplications by one and empty movement"),
    (halve_products, "after the rules, which know products with one bias"),
    (pair_products, "of what the pass before took apart, too"),
    (require_supported, "as late as possible: a node that folded away needs no kernel"),
    (within_limits, "before anything that puts nodes into kernels"),
    (separate_outputs, "after everything that could make two outputs equal"),
    (materialize, "after identities went, since it inserts some that must stay"),
    (layout, "last on the graph: fusion and lowering read the orders"),
)


def simplify(graph: Graph, *, is_supported: bool = True, inplace_cache: bool = False) -> Graph:
    """Run the passes over the graphs that nodes hold, then over the graph, verifying after each.

    Args:
        graph: as the frontend gives it.
        is_supported: whether a node that no kernel can do is an error; inspect lists such nodes instead.
        inplace_cache: whether caches that the model takes and gives out longer are one buffer.
    """
    held = {node: (_simplified(node, is_supported),) for node in graph.nodes if bodies(node.attrs)}
    graph = substitute(graph, nodes=held) if held else graph
    for run, _ in PASSES:
        if (run is require_supported and not is_supported) or (run is alias_caches and not inplace_cache):
            continue
        graph = run(graph)
        verify_graph(graph)
    return require_caches(graph) if inplace_cache else graph


def _simplified(node: Node, is_supported: bool) -> Node:
    """Return a node with the passes run over the graphs that it holds."""
    held = {f.name: getattr(node.attrs, f.name) for f in fields(node.attrs)}  # type: ignore[arg-type]
    graphs = {name: simplify(value, is_supported=is_supported) for name, value in held.items() if isinstance(value, Graph)}
    return replace(node, attrs=replace(node.attrs, **graphs))  # type: ignore[type-var]


def run(graph: Graph, *, inplace_cache: bool = False) -> FusedGraph:
    """Run all passes and fuse; `inplace_cache` as `simplify` has it."""
    return fuse(simplify(graph, inplace_cache=inplace_cache))

"""Write composite operators in simpler ones.

Requires: a typed graph. Establishes: no operator with a Decompose lowering is left, and every other is in its normal form. A node of which
a result is read that its operator's lowering does not give (the indices of MaxPool) stays as it is; see `supported`.
"""

from __future__ import annotations

from dataclasses import replace

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.counts import given_in
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.rewrite import prune, retarget, substitute
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Decompose
from nautilus_cli.ops.stored_sizes import with_stored_sizes


def decompose(graph: Graph) -> Graph:
    """Expand until nothing is left to expand; the results stay the same values, so their provenance stays too."""
    graph = prune(graph)  # a result that nobody reads is no reason to leave a node as it is
    while True:
        replaced: dict[Node, tuple[Node, ...]] = {}
        renamed: dict[Value, Value] = {}
        needed = dict.fromkeys(graph.requirements)
        for node in graph.nodes:
            operator = operators()[node.op]
            builder = GraphBuilder(origin=node.origin, sources=dict(graph.inputs))
            results = None
            if isinstance(operator.lowering, Decompose):
                results = operator.lowering.build(builder, node.attrs, node.inputs)
            elif operator.normalise is not None:
                results = operator.normalise(builder, node.attrs, node.inputs)
            # What depends on a number that kernels give, the graph checks by itself since it was imported.
            needed |= {one: None for one in builder.requirements if not given_in((one.value, one.low, one.high))}
            if results is not None and all(v is None for v in node.outputs[len(results) :]):
                replaced[node] = _keep_results(node, tuple(builder.nodes), results, renamed)
        if not replaced:
            return with_stored_sizes(graph)  # simpler operators compute vectors of sizes, too
        graph = replace(prune(substitute(graph, values=renamed, nodes=replaced)), requirements=tuple(needed))


def _keep_results(node: Node, nodes: tuple[Node, ...], results: tuple[Value | None, ...], renamed: dict[Value, Value]) -> tuple[Node, ...]:
    """Let NODES compute the values of NODE; a result that none of them computes (an operand, a constant) is read in its place."""
    made = {v for n in nodes for v in n.results()}
    kept: dict[Value, Value] = {}
    for old, new in zip(node.outputs, results, strict=False):
        if old is None:
            continue
        if new is None or new.type != old.type:
            raise InternalError(f"the decomposition of {node.op} gives {new and new.type}, not {old.type}", where=", ".join(node.origin))
        if new in made and new not in kept:
            kept[new] = old
        else:
            renamed[old] = new
    return retarget(nodes, kept)

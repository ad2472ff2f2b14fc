"""Drop nodes whose result equals an operand: identities, casts to the same type, movement that moves nothing.

Requires: a decomposed graph. Establishes: no such node is left, except where a graph output must be stored apart (see separate_outputs).
"""

from __future__ import annotations

from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.rewrite import prune, substitute
from nautilus_cli.ops.movement import is_transparent, step_through
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Cast, Pointwise


def remove_identity(graph: Graph) -> Graph:
    """Read the operand in place of the result."""
    renamed: dict[Value, Value] = {}
    for node in graph.nodes:
        equal = _equal_operand(node)
        if equal is not None:
            renamed[next(node.results())] = equal
    return prune(substitute(graph, values=renamed))


def _equal_operand(node: Node) -> Value | None:
    """Return the operand that the only result equals, if there is one."""
    lowering = operators()[node.op].lowering
    results = list(node.results())
    if len(results) != 1:
        return None
    (result,) = results
    first = node.inputs[0] if node.inputs else None
    if isinstance(lowering, (Pointwise, Cast)) and first is not None and first.type == result.type:
        if isinstance(lowering, Cast) or lowering.function == "identity":
            return first
    elif is_transparent(node):
        operand, index_map = step_through(node, result)
        if operand.type == result.type and index_map.is_identity:
            return operand
    return None

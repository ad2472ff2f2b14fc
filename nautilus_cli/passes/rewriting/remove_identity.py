"""Drop nodes whose result equals an operand: identities, casts to the same type, movement that moves nothing, factors of one.

Requires: a decomposed graph. Establishes: no such node is left, except where a graph output must be stored apart (see separate_outputs).
"""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.rewrite import prune, substitute
from nautilus_cli.ops.movement import is_transparent, step_through
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Cast, Pointwise

_NEUTRAL = {"Mul": (1, (1, 0)), "Div": (1, (1,)), "Pow": (1, (1,)), "Sub": (0, (1,))}
"""For each operator the number that leaves the other operand as it is, bit for bit, and which operands it may be. To add zero is not among
them: it makes -0 to +0. Exporters write `alpha` and `value` of PyTorch's functions so."""


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
    is_copy = isinstance(lowering, Cast) or (isinstance(lowering, Pointwise) and lowering.function == "identity")
    if is_copy and first is not None and first.type == result.type:
        return first
    if node.op in _NEUTRAL and len(node.inputs) == 2:
        number, places = _NEUTRAL[node.op]
        for place in places:
            other, neutral = node.inputs[1 - place], node.inputs[place]
            if other is not None and other.type == result.type and neutral is not None and _is_all(neutral.constant, number):
                return other
    if is_transparent(node):
        operand, index_map = step_through(node, result)
        if operand.type == result.type and index_map.is_identity:
            return operand
    return None


def _is_all(constant: np.ndarray | None, number: int) -> bool:
    """Whether a constant is known and every element of it is NUMBER; a zero must be positive."""
    if constant is None or constant.dtype == object or not constant.size or constant.reshape(-1)[0] != number:
        return False  # an array of objects holds sizes that the run alone knows
    return bool(np.all(constant == number)) and not (number == 0 and np.any(np.signbit(constant.astype(np.float64))))

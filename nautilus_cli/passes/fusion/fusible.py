"""What fusion asks of a node: whether it is pointwise, and whether it is cheap enough to be evaluated again."""

from __future__ import annotations

from nautilus_cli.ir.graph import Node
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Cast, Pointwise

CHEAP = frozenset(
    {
        *("abs", "add", "clip", "identity", "logical_and", "logical_not", "logical_or", "max", "min", "mul", "neg", "relu", "sub"),
        *("look_up", "unpack_bits", "where"),
    }
)
"""Device functions that may be evaluated again for every tile that loads the element."""


def is_pointwise(node: Node) -> bool:
    """Whether a node computes each element of one element of each operand."""
    return isinstance(operators()[node.op].lowering, (Pointwise, Cast))


def is_cheap(function: str) -> bool:
    """Whether a device function may be evaluated again for every tile."""
    return function in CHEAP or "cast_" in function


def is_cheap_node(node: Node) -> bool:
    """Whether a node is pointwise and may be evaluated again for every tile that loads the element."""
    lowering = operators()[node.op].lowering
    return isinstance(lowering, Cast) or (isinstance(lowering, Pointwise) and is_cheap(lowering.function))

"""A node that stores its operand anew: it becomes a copy kernel unless a neighbour takes it in."""

from __future__ import annotations

from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ops.copy import OPERATOR
from nautilus_cli.ops.spec import NoAttrs


def copy_node(value: Value, origin: tuple[str, ...] = ()) -> Node:
    """Return a copy of VALUE; never folded, unlike a node that a builder appends."""
    return Node(OPERATOR.name, (value,), (Value(value.type),), NoAttrs(), origin)

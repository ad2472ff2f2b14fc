"""Movement operators of a graph: finding where an element of a value comes from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ir.index_map import IndexMap, compose, identity
from nautilus_cli.ops.contents import readable
from nautilus_cli.ops.inference import infer_types
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Movement, MovementContext, Piece


def context(node: Node, output: int = 0) -> MovementContext:
    """Return what the operator's movement or reduction rule may look at for one result of NODE."""
    if None in node.outputs:  # a rule may need the extent of a result that nobody reads: infer it again
        results = infer_types(operators()[node.op], node.attrs, node.inputs, len(node.outputs))
    else:
        results = tuple(v.type for v in node.results())
    return MovementContext(
        attrs=node.attrs,
        types=tuple(None if v is None else v.type for v in node.inputs),
        constants=tuple(readable(node.op, i, v) for i, v in enumerate(node.inputs)),
        results=results,
        output=output,
    )


def pieces(node: Node, value: Value) -> tuple[Piece, ...]:
    """Return the pieces of VALUE, a result of the movement NODE, in the order in which they are tried."""
    lowering = operators()[node.op].lowering
    assert isinstance(lowering, Movement)
    return lowering.pieces(context(node, node.outputs.index(value)))


def is_movement(node: Node) -> bool:
    """Whether NODE only moves elements."""
    return isinstance(operators()[node.op].lowering, Movement)


@lru_cache(maxsize=16)  # of a Split into hundreds of results it is asked for each of them
def is_transparent(node: Node) -> bool:
    """Whether every element of NODE's results is an element of one operand, so that a load can look through it."""
    if not is_movement(node):
        return False
    for value in node.results():
        parts = pieces(node, value)
        if len(parts) != 1 or parts[0].operand is None or parts[0].map.is_guarded:
            return False
    return True


def step_through(node: Node, value: Value) -> tuple[Value, IndexMap]:
    """Return the operand that VALUE, a result of the transparent NODE, views, and the map from VALUE's coordinates to its linear index."""
    (piece,) = pieces(node, value)
    assert piece.operand is not None
    operand = node.inputs[piece.operand]
    assert operand is not None
    return operand, piece.map


def look_through(value: Value, transparent: Mapping[Value, Node]) -> tuple[Value, IndexMap]:
    """Follow transparent movement back from VALUE.

    Args:
        transparent: the producer of each value that a transparent movement makes.

    Returns:
        The value at the start of the chain, and the map from VALUE's coordinates to that value's row-major linear index.
    """
    index_map = identity(value.type.static)
    while value in transparent:
        value, inner = step_through(transparent[value], value)
        index_map = compose(index_map, inner)
    return value, index_map

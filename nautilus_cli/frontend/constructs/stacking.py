"""Tensors along an axis that does not exist yet, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.wide import reshape


def stacked(builder: GraphBuilder, values: Sequence[Value], axis: int, tensor: str | None = None) -> Value:
    """Return tensors of one shape along a new axis.

    Args:
        builder: where the nodes go.
        values: the tensors.
        axis: the new axis, not negative.
        tensor: what the result is called in the main graph.

    Raises:
        ModelError: they are of different types.
    """
    wide = [_with_axis(builder, value, axis) for value in values]
    (joined,) = builder.apply("Concat", wide, outputs=(tensor,), axis=axis)
    assert joined is not None
    return joined


def element(builder: GraphBuilder, value: Value, axis: int, place: int) -> Value:
    """Return what lies at a place along an axis, without that axis."""
    shape = value.type.static
    bounds = [builder.constant(np.array([n], np.int64)) for n in (place, place + 1, axis)]
    return reshape(builder, builder.node("Slice", [value, *bounds]), (*shape[:axis], *shape[axis + 1 :]))


def _with_axis(builder: GraphBuilder, value: Value, axis: int) -> Value:
    """Return a tensor with a new axis of one."""
    shape = value.type.static
    return reshape(builder, value, (*shape[:axis], 1, *shape[axis:]))

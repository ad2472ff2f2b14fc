"""Sizes as values of a graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ops.builder import GraphBuilder

INT64 = np.int64


def ints(builder: GraphBuilder, *numbers: int) -> Value:
    """Return a constant vector."""
    return builder.constant(np.array(numbers, INT64))


def dim(builder: GraphBuilder, value: Value, axis: int) -> Value:
    """Return a dimension as exporters read it, a vector of one number."""
    number = builder.node("Gather", (builder.node("Shape", (value,)), builder.constant(np.array(axis, INT64))), axis=0)
    return builder.node("Unsqueeze", (number, ints(builder, 0)))


def shape_of(builder: GraphBuilder, parts: Sequence[Value | int]) -> Value:
    """Return a shape that is joined from computed and known numbers."""
    return builder.node("Concat", [ints(builder, part) if isinstance(part, int) else part for part in parts], axis=0)

"""The greatest or least elements along an axis."""

from __future__ import annotations

from typing import Any

from nautilus_cli.kernels.top_k import Problem
from nautilus_cli.lowering.building.expressions import ExpressionBuilder, Leaf
from nautilus_cli.lowering.building.lines import along
from nautilus_cli.lowering.building.lowered import Lowered, Lowering
from nautilus_cli.lowering.building.slots import Slots


def lower(lowering: Lowering) -> Lowered:
    """Columns run along the axis; rows are all other dimensions joined."""
    anchor = lowering.group.anchor
    assert anchor is not None
    x = anchor.inputs[0]
    assert x is not None
    attrs: Any = anchor.attrs
    shape, result = x.type.static, next(anchor.results()).type.static
    axis = attrs.axis % len(shape)
    walk = along(result, axis)

    slots = Slots()
    reader = ExpressionBuilder(lowering.group, slots)
    element = reader.expression((reader.value(x, along(shape, axis)),))
    leaves = {value: Leaf(number, walk) for number, value in enumerate(anchor.outputs) if value is not None}
    builder = ExpressionBuilder(lowering.group, slots, leaves)
    for value in lowering.group.outputs:
        builder.store(value, walk)
    rows, columns = along(shape, axis).extents
    problem = Problem(rows=rows, columns=columns, count=result[axis], is_largest=bool(attrs.largest), value=x.type.dtype.compute)
    return Lowered(family="top_k", problem=problem, functors=(("X", element), ("Epilogue", builder.expression())), slots=slots)

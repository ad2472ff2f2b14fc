"""Pooling over channels-last images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import IndexMap
from nautilus_cli.kernels.pool import Problem
from nautilus_cli.lowering.building.expressions import ExpressionBuilder, Leaf
from nautilus_cli.lowering.building.lowered import Lowered, Lowering, main_storage
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.lowering.building.windows import image, three, window_fields

MODES: dict[str, Callable[[Any], tuple[str, str]]] = {
    "MaxPool": lambda _: ("max", "none"),
    "AveragePool": lambda attrs: ("sum", "window" if attrs.count_include_pad else "valid"),
    "LpPool": lambda _: ("sum", "none"),
}
"""(combine, divisor) of each pooling operator, from its attributes."""


def lower(lowering: Lowering) -> Lowered:
    """Every operator in its normal form: two or three spatial dimensions, explicit padding."""
    anchor = lowering.group.anchor
    assert anchor is not None
    x = anchor.inputs[0]
    assert x is not None
    result = next(anchor.results())
    source, target = image(x), image(result)
    attrs: Any = anchor.attrs
    combine, divisor = MODES[anchor.op](attrs)
    has_indices = any(value is not None for value in anchor.outputs[1:])
    back, bottom, right = three(attrs.pads[len(attrs.kernel_shape) :], 0)
    slots = Slots()
    x_expression = _element(lowering, slots, x)
    epilogue = _epilogue(lowering, slots, target.walk)
    problem = Problem(
        **window_fields(source, target, attrs),
        channels=source.channels,
        pad_back=back,
        pad_bottom=bottom,
        pad_right=right,
        combine=combine,
        divisor=divisor,
        has_indices=has_indices,
        is_column_major=has_indices and attrs.storage_order == 1,
        x_storage=main_storage(x_expression, x.type.dtype),
    )
    return Lowered(family="pool", problem=problem, functors=(("X", x_expression), ("Epilogue", epilogue)), slots=slots)


def _epilogue(lowering: Lowering, slots: Slots, walk: IndexMap) -> Expression:
    """Return the expression that stores the group's outputs: the pooled values are parameter 0, the places of maxima parameter 1."""
    anchor = lowering.group.anchor
    assert anchor is not None
    leaves = {value: Leaf(number, walk) for number, value in enumerate(anchor.outputs) if value is not None}
    builder = ExpressionBuilder(lowering.group, slots, leaves)
    for value in lowering.group.outputs:
        builder.store(value, walk)
    return builder.expression()


def _element(lowering: Lowering, slots: Slots, x: Value) -> Expression:
    """Return the expression of the image; LpPool, whose normal form has p = 1, sums magnitudes."""
    anchor = lowering.group.anchor
    assert anchor is not None
    builder = ExpressionBuilder(lowering.group, slots)
    element = builder.value(x, image(x).walk)
    return builder.expression((builder.apply("abs", (element,), x.type.dtype.compute) if anchor.op == "LpPool" else element,))

"""Pooling over channels-last images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.graph import Value
from nautilus_cli.kernels.pool import Problem
from nautilus_cli.lowering.expressions import ExpressionBuilder
from nautilus_cli.lowering.gemm import epilogue_expression
from nautilus_cli.lowering.lowered import Lowered, Lowering, main_storage
from nautilus_cli.lowering.slots import Slots
from nautilus_cli.lowering.windows import image

MODES: dict[str, Callable[[Any], tuple[str, str]]] = {
    "MaxPool": lambda _: ("max", "none"),
    "AveragePool": lambda attrs: ("sum", "window" if attrs.count_include_pad else "valid"),
    "LpPool": lambda _: ("sum", "none"),
}
"""(combine, divisor) of each pooling operator, from its attributes."""


def lower(lowering: Lowering) -> Lowered:
    """Every operator in its normal form: two spatial dimensions, explicit padding."""
    anchor = lowering.group.anchor
    assert anchor is not None
    x = anchor.inputs[0]
    assert x is not None
    (result,) = anchor.results()
    source, target = image(x), image(result)
    attrs: Any = anchor.attrs
    combine, divisor = MODES[anchor.op](attrs)
    slots = Slots()
    x_expression = _element(lowering, slots, x)
    epilogue = epilogue_expression(lowering, slots, result, target.walk)
    problem = Problem(
        batch=source.batch,
        channels=source.channels,
        in_height=source.height,
        in_width=source.width,
        out_height=target.height,
        out_width=target.width,
        kernel_height=attrs.kernel_shape[0],
        kernel_width=attrs.kernel_shape[1],
        stride_height=attrs.strides[0],
        stride_width=attrs.strides[1],
        dilation_height=attrs.dilations[0],
        dilation_width=attrs.dilations[1],
        pad_top=attrs.pads[0],
        pad_left=attrs.pads[1],
        pad_bottom=attrs.pads[2],
        pad_right=attrs.pads[3],
        combine=combine,
        divisor=divisor,
        x_storage=main_storage(x_expression, x.type.dtype),
    )
    return Lowered(family="pool", problem=problem, functors=(("X", x_expression), ("Epilogue", epilogue)), slots=slots)


def _element(lowering: Lowering, slots: Slots, x: Value) -> Expression:
    """Return the expression of the image; LpPool, whose normal form has p = 1, sums magnitudes."""
    anchor = lowering.group.anchor
    assert anchor is not None
    builder = ExpressionBuilder(lowering.group, slots)
    element = builder.value(x, image(x).walk)
    return builder.expression((builder.apply("abs", (element,), x.type.dtype.compute) if anchor.op == "LpPool" else element,))

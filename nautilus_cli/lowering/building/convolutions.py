"""Convolutions and their transposes as kernels that gather from channels-last images."""

from __future__ import annotations

from collections.abc import Callable

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.graph import Value
from nautilus_cli.kernels.window import GroupedWindow
from nautilus_cli.lowering.building.epilogue import epilogue_expression
from nautilus_cli.lowering.building.expressions import ExpressionBuilder
from nautilus_cli.lowering.building.lowered import Lowered, Lowering, main_storage
from nautilus_cli.lowering.building.operands import accumulator
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.lowering.building.windows import image, window_fields
from nautilus_cli.ops.conv import ConvAttrs
from nautilus_cli.ops.conv_transpose import ConvTransposeAttrs


def convolution(
    lowering: Lowering,
    family: str,
    problem_type: type[GroupedWindow],
    attrs: ConvAttrs | ConvTransposeAttrs,
    weights_expression: Callable[[Slots, Value], Expression],
) -> Lowered:
    """Return the kernel of a group around a convolution in its normal form.

    Args:
        lowering: the group.
        family: of the kernel.
        problem_type: of the family.
        attrs: of the operator.
        weights_expression: gives the expression of the weights, with pointers in the slots it is given.
    """
    x, weights, result = tensors(lowering)
    source, target = image(x), image(result)
    slots = Slots()
    builder = ExpressionBuilder(lowering.group, slots)
    x_expression = builder.expression((builder.value(x, source.walk),))
    stored = weights_expression(slots, weights)
    epilogue = epilogue_expression(lowering, slots, result, target.walk)
    problem = problem_type(
        **window_fields(source, target, attrs),
        groups=attrs.group,
        in_channels=source.channels // attrs.group,
        out_channels=target.channels // attrs.group,
        accumulate=accumulator(result.type.dtype),
        x_storage=main_storage(x_expression, x.type.dtype),
        weight_storage=main_storage(stored, weights.type.dtype),
    )
    functors = (("X", x_expression), ("Weight", stored), ("Epilogue", epilogue))
    return Lowered(family=family, problem=problem, functors=functors, slots=slots)


def tensors(lowering: Lowering) -> tuple[Value, Value, Value]:
    """Return the image, the weights and the result of a convolution."""
    anchor = lowering.group.anchor
    assert anchor is not None
    x, weights = anchor.inputs[0], anchor.inputs[1]
    assert x is not None and weights is not None
    return x, weights, next(anchor.results())

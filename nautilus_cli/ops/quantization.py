"""What the quantised operators share: how scales and zero points spread over a tensor, and the two formulas.

Quantised values are y = saturate(round(x / scale) + zero point); real ones are (y - zero point) · scale. Rounding is to nearest, ties to
even. Sums of products of quantised values are exact, in 32-bit integers.

Source: ONNX 28, QuantizeLinear-28 and DequantizeLinear-28.
"""

from __future__ import annotations

from math import prod

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F32, I2, I4, I8, I16, I32, U2, U4, U8, U16, DType, TensorType
from nautilus_cli.ops.cast import CastAttrs
from nautilus_cli.ops.checks import normal_axis
from nautilus_cli.ops.element_types import ONNX_NUMBERS
from nautilus_cli.ops.spec import Emitter
from nautilus_cli.ops.wide import cast, reshape, scalar

QUANTISED_INTEGERS = (U8, I8, U16, I16, U4, I4, U2, I2)


def check_zero_point(zero_point: TensorType | None, scale: TensorType, name: str) -> None:
    """Check that a zero point has the shape of its scale; of one number, in a list or not, no difference is made.

    Raises:
        ModelError: it has another shape.
    """
    if zero_point is None or zero_point.static == scale.static or {zero_point.static, scale.static} == {(), (1,)}:
        return
    raise ModelError(
        f"operand '{name}' has shape {list(zero_point.static)}; the specification requires that of the scale, {list(scale.static)}"
    )


def quantisation_axis(axis: int, rank: int) -> int:
    """Return the axis counted from the front; a tensor of rank 1 has only one."""
    return 0 if rank == 1 else normal_axis(axis, rank)


def check_granularity(x: TensorType, scale: TensorType, axis: int, block_size: int, name: str) -> None:
    """Check that a scale is one for the tensor, one for each place of an axis, or one for each block.

    Raises:
        ModelError: its shape is none of these.
    """
    shape, found = x.static, scale.static
    if block_size < 0:
        raise ModelError(f"block_size is {block_size}; the specification allows positive numbers, or 0 for no blocks")
    if scale.elements == 1 and len(found) <= 1:
        return
    if not shape:
        raise ModelError(f"operand '{name}' has shape {list(found)}; the specification requires a scalar for a scalar tensor")
    place = quantisation_axis(axis, len(shape))
    if block_size == 0:
        wanted: tuple[int, ...] = (shape[place],)
    else:
        blocks = -(-shape[place] // block_size)
        wanted = (*shape[:place], blocks, *shape[place + 1 :])
    if found != wanted:
        raise ModelError(
            f"operand '{name}' has shape {list(found)}; for a tensor of shape {list(shape)} along axis {axis} "
            f"the specification requires a scalar or {list(wanted)}"
        )


def spread(emitter: Emitter, value: Value, shape: tuple[int, ...], axis: int, block_size: int) -> Value:
    """Return a scale or zero point, checked by `check_granularity`, so that it broadcasts to SHAPE.

    Shapes: one element, [shape[axis]], or SHAPE with ceil(shape[axis] / block_size) in place of shape[axis].
    """
    found = value.type.static
    if value.type.elements == 1 and len(found) <= 1:
        return reshape(emitter, value, ())
    place = quantisation_axis(axis, len(shape))
    if block_size == 0:
        return reshape(emitter, value, tuple(size if i == place else 1 for i, size in enumerate(shape)))
    outer, blocks, inner = prod(shape[:place]), found[place], prod(shape[place + 1 :])
    block_size = shape[place] if blocks == 1 else block_size  # however much longer a single block may be
    repeated = emitter.node(
        "Expand", [reshape(emitter, value, (outer, blocks, 1, inner)), emitter.constant(np.array([1, 1, block_size, 1], np.int64))]
    )
    whole = reshape(emitter, repeated, (outer, blocks * block_size, inner))
    if blocks * block_size != shape[place]:  # the last block is cut off
        bounds = [emitter.constant(np.array([number], np.int64)) for number in (0, shape[place], 1)]
        whole = emitter.node("Slice", [whole, *bounds])
    return reshape(emitter, whole, shape)


def centred(emitter: Emitter, value: Value, zero_point: Value | None) -> Value:
    """Return quantised integers less their zero point, which broadcasts, as 32-bit integers."""
    wide = cast(emitter, value, I32)
    if zero_point is None or is_zero(zero_point):
        return wide
    return emitter.node("Sub", [wide, cast(emitter, zero_point, I32)])


def is_zero(value: Value) -> bool:
    """Whether a zero point is known to be zero."""
    return value.constant is not None and not value.constant.astype(np.float32).any()


def real(emitter: Emitter, value: Value, scale: Value, zero_point: Value | None, dtype: DType) -> Value:
    """Return (value - zero point) · scale in DTYPE, of operands that broadcast."""
    is_integer = not value.type.dtype.is_float
    if is_integer and value.type.dtype.bits > 16:
        wide = cast(emitter, centred(emitter, value, zero_point), F32)  # a difference of wide integers is exact only in integers
    else:
        wide = cast(emitter, value, F32)
        if zero_point is not None and not is_zero(zero_point):
            wide = emitter.node("Sub", [wide, cast(emitter, zero_point, F32)])
    return cast(emitter, emitter.node("Mul", [wide, cast(emitter, scale, F32)]), dtype)


def rounded(emitter: Emitter, quotient: Value, zero_point: Value | None, dtype: DType, *, saturate: int = 1) -> Value:
    """Return saturate(round(quotient) + zero point) in DTYPE, of operands that broadcast; QUOTIENT is float32 or float64."""
    compute = quotient.type.dtype
    if dtype.is_float:
        if zero_point is not None and not is_zero(zero_point):
            quotient = emitter.node("Add", [quotient, cast(emitter, zero_point, compute)])
        return emitter.node("Cast", [quotient], CastAttrs(ONNX_NUMBERS[dtype], saturate))
    whole = emitter.node("Round", [quotient])
    if zero_point is not None and not is_zero(zero_point):
        whole = emitter.node("Add", [whole, cast(emitter, zero_point, compute)])
    low, high = (scalar(emitter, limit, compute) for limit in dtype.limits)
    return cast(emitter, emitter.node("Min", [emitter.node("Max", [whole, low]), high]), dtype)

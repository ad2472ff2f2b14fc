"""Operators on quantised tensors that take off the zero point and scale, compute, and quantise again: one scale and zero point a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BOOL, F32, I8, U8, DType, TensorType
from nautilus_cli.ops.checks import (
    broadcast_shape,
    normal_axis,
    operand,
    operand_count,
    optional_operand,
    required,
    single,
)
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.pool import AveragePoolAttrs, pool_window
from nautilus_cli.ops.quantization import centred, real, rounded
from nautilus_cli.ops.spec import Emitter, Inference, NoAttrs
from nautilus_cli.ops.wide import cast, reshape
from nautilus_cli.ops.window import require_windows

BYTES = (U8, I8)


def quantised(inference: Inference, place: int, name: str, *, is_optional: bool = True) -> TensorType:
    """Return the type of a quantised operand, behind which stand its scale and its zero point.

    Raises:
        ModelError: it is missing or not of 8 bits, its scale is no float32 scalar, or its zero point no scalar of its type.
    """
    x = operand(inference, place, name, BYTES)
    parameters(inference, place + 1, name, x.dtype, is_optional=is_optional)
    return x


def parameters(inference: Inference, place: int, name: str, dtype: DType | None, *, is_optional: bool = True) -> TensorType | None:
    """Check a scale and the zero point behind it; return the zero point's type, None where it is left out.

    Raises:
        ModelError: they do not fit.
    """
    single(operand(inference, place, f"{name}_scale", (F32,)), f"{name}_scale")
    label = f"{name}_zero_point"
    zero_point = optional_operand(inference, place + 1, label, BYTES) if is_optional else operand(inference, place + 1, label, BYTES)
    if zero_point is not None:
        single(zero_point, label)
        if dtype is not None and zero_point.dtype != dtype:
            raise ModelError(f"operand '{label}' has type {zero_point.dtype}; the specification requires that of the tensor, {dtype}")
    return zero_point


def dequantised(emitter: Emitter, operands: Sequence[Value | None], place: int) -> Value:
    """Return the real numbers of a quantised operand, behind which stand its scale and its zero point."""
    x, scale = required(operands[place : place + 2])
    zero_point = operands[place + 2] if place + 2 < len(operands) else None
    offset = None if zero_point is None else reshape(emitter, zero_point, ())
    return real(emitter, x, reshape(emitter, scale, ()), offset, F32)


def requantised(emitter: Emitter, x: Value, operands: Sequence[Value | None], place: int, dtype: DType) -> Value:
    """Return real numbers quantised by the scale at PLACE and the zero point behind it."""
    scale = operands[place]
    assert scale is not None
    zero_point = operands[place + 1] if place + 1 < len(operands) else None
    offset = None if zero_point is None else reshape(emitter, cast(emitter, zero_point, F32), ())
    return rounded(emitter, emitter.node("Div", [x, reshape(emitter, scale, ())]), offset, dtype)


@dataclass(frozen=True, slots=True)
class QLinearLeakyReluAttrs:
    """Attributes of QLinearLeakyRelu."""

    alpha: float = 0.009999999776482582


@dataclass(frozen=True, slots=True, kw_only=True)
class QLinearSoftmaxAttrs:
    """Attributes of QLinearSoftmax; OPSET is that of the Softmax it came from."""

    opset: int
    axis: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class QLinearAveragePoolAttrs:
    """Attributes of QLinearAveragePool."""

    kernel_shape: tuple[int, ...]
    auto_pad: str = "NOTSET"
    ceil_mode: int = 0
    channels_last: int = 0
    count_include_pad: int = 0
    pads: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None

    @property
    def pool(self) -> AveragePoolAttrs:
        """The same, of AveragePool."""
        return AveragePoolAttrs(
            kernel_shape=self.kernel_shape,
            auto_pad=self.auto_pad,
            ceil_mode=self.ceil_mode,
            count_include_pad=self.count_include_pad,
            pads=self.pads,
            strides=self.strides,
        )


@dataclass(frozen=True, slots=True)
class QLinearGlobalAveragePoolAttrs:
    """Attributes of QLinearGlobalAveragePool."""

    channels_last: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QLinearConcatAttrs:
    """Attributes of QLinearConcat."""

    axis: int


def _infer_binary(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 7, 8)
    a, b = quantised(inference, 0, "A"), quantised(inference, 3, "B")
    if a.dtype != b.dtype:
        raise ModelError(f"operand 'B' has type {b.dtype}; the specification requires that of operand 'A', {a.dtype}")
    parameters(inference, 6, "C", a.dtype)
    return (TensorType(a.dtype, broadcast_shape(a.static, b.static)),)


def _build_add(emitter: Emitter, _attrs: NoAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    total = emitter.node("Add", [dequantised(emitter, operands, 0), dequantised(emitter, operands, 3)])
    return (requantised(emitter, total, operands, 6, _dtype(operands)),)


def _build_mul(emitter: Emitter, _attrs: NoAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """The product of the integers is exact; it is scaled once."""
    a, a_scale, a_zero_point, b, b_scale, b_zero_point, c_scale, c_zero_point = (*operands, None)[:8]
    assert a is not None and a_scale is not None and b is not None and b_scale is not None and c_scale is not None
    offsets = [None if z is None else reshape(emitter, z, ()) for z in (a_zero_point, b_zero_point)]
    product = emitter.node("Mul", [centred(emitter, a, offsets[0]), centred(emitter, b, offsets[1])])
    scales = [reshape(emitter, scale, ()) for scale in (a_scale, b_scale, c_scale)]
    factor = emitter.node("Div", [emitter.node("Mul", scales[:2]), scales[2]])
    offset = None if c_zero_point is None else reshape(emitter, cast(emitter, c_zero_point, F32), ())
    return (rounded(emitter, emitter.node("Mul", [cast(emitter, product, F32), factor]), offset, a.type.dtype),)


def _dtype(operands: Sequence[Value | None]) -> DType:
    first = operands[0]
    assert first is not None
    return first.type.dtype


def _infer_unary(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 4, 5)
    x = quantised(inference, 0, "X")
    parameters(inference, 3, "Y", x.dtype)
    return (x,)


def _build_leaky_relu(emitter: Emitter, attrs: QLinearLeakyReluAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    found = emitter.node("LeakyRelu", [dequantised(emitter, operands, 0)], alpha=attrs.alpha)
    return (requantised(emitter, found, operands, 3, _dtype(operands)),)


def _build_sigmoid(emitter: Emitter, _attrs: NoAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    found = emitter.node("Sigmoid", [dequantised(emitter, operands, 0)])
    return (requantised(emitter, found, operands, 3, _dtype(operands)),)


def _infer_softmax(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 5, 5)
    x = quantised(inference, 0, "X")
    parameters(inference, 3, "Y", x.dtype, is_optional=False)
    normal_axis(inference.attrs.axis, len(x.shape))
    return (x,)


def _build_softmax(emitter: Emitter, attrs: QLinearSoftmaxAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Before opset 13, over all dimensions from the axis on."""
    x = dequantised(emitter, operands, 0)
    shape = x.type.static
    axis = normal_axis(attrs.axis, len(shape))
    if attrs.opset < 13 and axis < len(shape) - 1:
        x = reshape(emitter, x, (*shape[:axis], _product(shape[axis:])))
    found = reshape(emitter, emitter.node("Softmax", [x], axis=axis), shape)
    return (requantised(emitter, found, operands, 3, _dtype(operands)),)


def _product(sizes: Sequence[int]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result


def _infer_average_pool(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 4, 5)
    x = quantised(inference, 0, "X")
    parameters(inference, 3, "y", x.dtype)
    shape = channels_first(x.static) if inference.attrs.channels_last else x.static
    windows = pool_window(inference.attrs.pool, shape)
    require_windows(inference, windows)
    found = (*shape[:2], *windows.results)
    return (TensorType(x.dtype, channels_last(found) if inference.attrs.channels_last else found),)


def channels_first(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape, or a permutation, with the last dimension second."""
    return (shape[0], shape[-1], *shape[1:-1])


def channels_last(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape, or a permutation, with the second dimension last."""
    return (shape[0], *shape[2:], shape[1])


def in_channels_first(emitter: Emitter, x: Value, apply: Callable[[Value], Value], *, is_channels_last: int) -> Value:
    """Return what APPLY makes of an image whose channels come second, in the order of X."""
    rank = len(x.type.shape)
    if not is_channels_last:
        return apply(x)
    first = emitter.node("Transpose", [x], perm=channels_first(tuple(range(rank))))
    return emitter.node("Transpose", [apply(first)], perm=channels_last(tuple(range(rank))))


def _build_average_pool(emitter: Emitter, attrs: QLinearAveragePoolAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x = dequantised(emitter, operands, 0)
    found = in_channels_first(emitter, x, lambda v: emitter.node("AveragePool", [v], attrs.pool), is_channels_last=attrs.channels_last)
    return (requantised(emitter, found, operands, 3, _dtype(operands)),)


def _infer_global_average_pool(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 5, 5)
    x = quantised(inference, 0, "X", is_optional=False)
    parameters(inference, 3, "y", x.dtype, is_optional=False)
    if len(x.shape) < 3:
        raise ModelError(f"operand 'X' has shape {list(x.static)}; the specification requires batch, channels and spatial dimensions")
    ones = (1,) * (len(x.shape) - 2)
    last = inference.attrs.channels_last
    return (TensorType(x.dtype, (x.static[0], *ones, x.static[-1]) if last else (*x.static[:2], *ones)),)


def _build_global_average_pool(
    emitter: Emitter, attrs: QLinearGlobalAveragePoolAttrs, operands: tuple[Value | None, ...]
) -> tuple[Value | None, ...]:
    x = dequantised(emitter, operands, 0)
    found = in_channels_first(emitter, x, lambda v: emitter.node("GlobalAveragePool", [v]), is_channels_last=attrs.channels_last)
    return (requantised(emitter, found, operands, 3, _dtype(operands)),)


def _infer_concat(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 5, None)
    count = len(inference.types)
    if count % 3 != 2:
        raise ModelError(f"has {count} operands; the specification requires two, and three for each tensor")
    zero_point = parameters(inference, 0, "Y", None, is_optional=False)
    assert zero_point is not None
    tensors = [quantised(inference, place, f"inputs_{place - 2}", is_optional=False) for place in range(2, count, 3)]
    first = tensors[0].static
    axis = normal_axis(inference.attrs.axis, len(first))
    rest = {(*t.static[:axis], *t.static[axis + 1 :]) for t in tensors}
    if len(rest) > 1 or any(len(t.shape) != len(first) for t in tensors):
        shapes = ", ".join(str(list(t.static)) for t in tensors)
        raise ModelError(f"joins shapes {shapes} along axis {axis}; the specification requires the other dimensions to be equal")
    return (TensorType(zero_point.dtype, (*first[:axis], sum(t.static[axis] for t in tensors), *first[axis + 1 :])),)


def _build_concat(emitter: Emitter, attrs: QLinearConcatAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    zero_point = operands[1]
    assert zero_point is not None
    dtype = zero_point.type.dtype
    every = [requantised(emitter, dequantised(emitter, operands, place), operands[:2], 0, dtype) for place in range(2, len(operands), 3)]
    return (emitter.node("Concat", every, axis=attrs.axis),)


def _infer_where(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 9, 9)
    condition = operand(inference, 0, "condition", (BOOL,))
    x, y = quantised(inference, 1, "x", is_optional=False), quantised(inference, 4, "y", is_optional=False)
    if x.dtype != y.dtype:
        raise ModelError(f"operand 'Y' has type {y.dtype}; the specification requires that of operand 'X', {x.dtype}")
    parameters(inference, 7, "z", x.dtype, is_optional=False)
    return (TensorType(x.dtype, broadcast_shape(condition.static, x.static, y.static)),)


def _build_where(emitter: Emitter, _attrs: NoAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    condition, x = required(operands[:2])
    chosen = emitter.node("Where", [condition, dequantised(emitter, operands, 1), dequantised(emitter, operands, 4)])
    return (requantised(emitter, chosen, operands, 7, x.type.dtype),)


def _row(name: str, infer: Any, build: Any, attributes: type = NoAttrs) -> Any:
    return composed(f"com.microsoft::{name}", infer, build, source=source(name), attributes=attributes)


OPERATORS = (
    _row("QLinearAdd", _infer_binary, _build_add),
    _row("QLinearMul", _infer_binary, _build_mul),
    _row("QLinearLeakyRelu", _infer_unary, _build_leaky_relu, QLinearLeakyReluAttrs),
    _row("QLinearSigmoid", _infer_unary, _build_sigmoid),
    _row("QLinearSoftmax", _infer_softmax, _build_softmax, QLinearSoftmaxAttrs),
    _row("QLinearAveragePool", _infer_average_pool, _build_average_pool, QLinearAveragePoolAttrs),
    _row("QLinearGlobalAveragePool", _infer_global_average_pool, _build_global_average_pool, QLinearGlobalAveragePoolAttrs),
    _row("QLinearConcat", _infer_concat, _build_concat, QLinearConcatAttrs),
    _row("QLinearWhere", _infer_where, _build_where),
)

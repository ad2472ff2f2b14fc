"""ConvInteger and QLinearConv: convolutions of quantised images.

Outside the image lies the zero point, which is 0 once the zero point is taken off.
"""

from __future__ import annotations

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F32, I8, I32, U8, TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand, shaped, single
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.conv import ConvAttrs, conv_window
from nautilus_cli.ops.integer_conv import INTEGER_CONV
from nautilus_cli.ops.quantization import centred, rounded
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.wide import cast, reshape

_BYTES = (U8, I8)


def _of_type(first: TensorType, second: TensorType | None, name: str, of: str) -> None:
    if second is not None and first.dtype != second.dtype:
        raise ModelError(f"operand '{name}' has type {second.dtype}; the specification requires that of operand '{of}', {first.dtype}")


def _result(attrs: ConvAttrs, x: TensorType, w: TensorType) -> tuple[int, ...]:
    found = conv_window(attrs, x.static, w.static)
    return (x.static[0], w.static[0], *found.results)


def _channels(emitter: Emitter, value: Value, rank: int, axis: int) -> Value:
    """Return one number, or one for each output channel, so that it broadcasts along AXIS of a tensor of RANK dimensions."""
    if value.type.elements == 1:
        return reshape(emitter, value, ())
    return reshape(emitter, value, tuple(value.type.elements if i == axis else 1 for i in range(rank)))


def _sums(emitter: Emitter, attrs: ConvAttrs, x: Value, w: Value, x_zero_point: Value | None, w_zero_point: Value | None) -> Value:
    """Return the convolution of both less their zero points, in 32-bit integers."""
    rank = len(x.type.shape)
    image = centred(emitter, x, None if x_zero_point is None else reshape(emitter, x_zero_point, ()))
    offset = None if w_zero_point is None else _channels(emitter, w_zero_point, rank, 0)
    return emitter.node(INTEGER_CONV, [image, _weights(emitter, w, offset)], attrs)


def _weights(emitter: Emitter, w: Value, zero_point: Value | None) -> Value:
    """Return the weights less their zero points; constants at once, whatever their size, since the kernel packs them in another order."""
    if w.constant is None or (zero_point is not None and zero_point.constant is None):
        return centred(emitter, w, zero_point)
    offset = np.int32(0) if zero_point is None or zero_point.constant is None else zero_point.constant.astype(np.int32)
    return emitter.constant(w.constant.astype(np.int32) - offset)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 4)
    x, w = operand(inference, 0, "x", _BYTES), operand(inference, 1, "w", _BYTES)
    shape = _result(inference.attrs, x, w)
    x_zero_point, w_zero_point = (
        optional_operand(inference, 2, "x_zero_point", _BYTES),
        optional_operand(inference, 3, "w_zero_point", _BYTES),
    )
    if x_zero_point is not None:
        _of_type(x, x_zero_point, "x_zero_point", "x")
        single(x_zero_point, "x_zero_point")
    _of_type(w, w_zero_point, "w_zero_point", "w")
    shaped(w_zero_point, "w_zero_point", (), (1,), w.static[:1])
    return (TensorType(I32, shape),)


def _build(emitter: Emitter, attrs: ConvAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, w, x_zero_point, w_zero_point = (*operands, None, None)[:4]
    assert x is not None
    assert w is not None
    return (_sums(emitter, attrs, x, w, x_zero_point, w_zero_point),)


def _infer_quantised(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 8, 9)
    x, w = operand(inference, 0, "x", _BYTES), operand(inference, 3, "w", _BYTES)
    shape = _result(inference.attrs, x, w)
    y_zero_point = operand(inference, 7, "y_zero_point", _BYTES)
    _of_type(x, operand(inference, 2, "x_zero_point", _BYTES), "x_zero_point", "x")
    _of_type(w, operand(inference, 5, "w_zero_point", _BYTES), "w_zero_point", "w")
    for index, name in ((1, "x_scale"), (6, "y_scale")):
        single(operand(inference, index, name, (F32,)), name)
    for index, name in ((2, "x_zero_point"), (7, "y_zero_point")):
        single(operand(inference, index, name, _BYTES), name)
    shaped(operand(inference, 4, "w_scale", (F32,)), "w_scale", (), (1,), w.static[:1])
    shaped(operand(inference, 5, "w_zero_point", _BYTES), "w_zero_point", (), (1,), w.static[:1])
    shaped(optional_operand(inference, 8, "B", (I32,)), "B", w.static[:1])
    return (TensorType(y_zero_point.dtype, shape),)


def _build_quantised(emitter: Emitter, attrs: ConvAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias = (*operands, None)[:9]
    assert x is not None and w is not None and x_scale is not None and w_scale is not None
    assert y_scale is not None and y_zero_point is not None
    rank = len(x.type.shape)
    total = _sums(emitter, attrs, x, w, x_zero_point, w_zero_point)
    if bias is not None:
        total = emitter.node("Add", [total, _channels(emitter, bias, rank, 1)])
    factor = emitter.node("Mul", [reshape(emitter, x_scale, ()), _channels(emitter, w_scale, rank, 1)])
    factor = emitter.node("Div", [factor, reshape(emitter, y_scale, ())])
    scaled = emitter.node("Mul", [cast(emitter, total, F32), factor])
    offset = reshape(emitter, cast(emitter, y_zero_point, F32), ())
    return (rounded(emitter, scaled, offset, y_zero_point.type.dtype),)


QUANTISED = composed("QLinearConv", _infer_quantised, _build_quantised, source="ONNX 28, QLinearConv-10", attributes=ConvAttrs, since=10)

OPERATORS = (
    composed("ConvInteger", _infer, _build, source="ONNX 28, ConvInteger-10", attributes=ConvAttrs, since=10),
    QUANTISED,
)

"""DynamicQuantizeLinear."""

from __future__ import annotations

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F32, U8, TensorType
from nautilus_cli.ops.checks import first_of, operand, operand_count
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.quantization import rounded
from nautilus_cli.ops.reduce import reduction
from nautilus_cli.ops.spec import Emitter, Inference, NoAttrs
from nautilus_cli.ops.wide import cast, scalar


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    x = operand(inference, 0, "x", (F32,))
    return TensorType(U8, x.shape), TensorType(F32, ()), TensorType(U8, ())


def _over_all(emitter: Emitter, op: str, x: Value) -> Value:
    """Return the reduction of all elements, of rows first: a kernel reduces many rows at once, but one row by a single block."""
    rank = len(x.type.shape)
    rows = reduction(emitter, op, x, (rank - 1,)) if rank > 1 else x
    return reduction(emitter, op, rows, tuple(range(rank)), keepdims=0)


def dynamically_quantised(emitter: Emitter, x: Value) -> tuple[Value, Value, Value]:
    """Return a float32 tensor as uint8, its scale and its zero point, from its own range widened to hold zero.

    The formula has a scale of 0 for a tensor of zeros, and divides by it; then the scale is 1, as in onnxruntime.
    """
    zero, one = (scalar(emitter, number, F32) for number in (0, 1))
    low, high = (emitter.node(wider, [_over_all(emitter, op, x), zero]) for op, wider in (("ReduceMin", "Min"), ("ReduceMax", "Max")))
    extent = emitter.node("Sub", [high, low])
    step = emitter.node("Div", [extent, scalar(emitter, U8.limits[1], F32)])
    scale = emitter.node("Where", [emitter.node("Equal", [extent, zero]), one, step])
    intermediate = emitter.node("Sub", [zero, emitter.node("Div", [low, scale])])
    zero_point = rounded(emitter, intermediate, None, U8)
    quantised = rounded(emitter, emitter.node("Div", [x, scale]), cast(emitter, zero_point, F32), U8)
    return quantised, scale, zero_point


def _build(emitter: Emitter, _attrs: NoAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    return dynamically_quantised(emitter, first_of(operands))


OPERATOR = composed("DynamicQuantizeLinear", _infer, _build, source="ONNX 28, DynamicQuantizeLinear-11", since=11)

"""QuantizeLinear."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BF16, F4E2M1, F8E8M0, F16, F32, F64, I32, U8, DType, TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.element_types import FLOAT8, dtype_from_onnx
from nautilus_cli.ops.quantization import QUANTISED_INTEGERS, check_granularity, check_zero_point, rounded, spread
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.wide import cast

QUANTISED = (*QUANTISED_INTEGERS, *FLOAT8, F4E2M1)
_PRECISIONS = (F32, F16, BF16)


@dataclass(frozen=True, slots=True)
class QuantizeLinearAttrs:
    """Attributes of QuantizeLinear; `output_dtype` and `precision` are numbers of TensorProto.DataType, 0 where left out."""

    axis: int = 1
    saturate: int = 1
    block_size: int = 0
    output_dtype: int = 0
    precision: int = 0


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 3)
    attrs = inference.attrs
    x = operand(inference, 0, "x", (F32, F16, BF16, I32))
    scale = operand(inference, 1, "y_scale", (F32, F16, BF16, I32, F8E8M0))
    zero_point = optional_operand(inference, 2, "y_zero_point", QUANTISED)
    check_granularity(x, scale, attrs.axis, attrs.block_size, "y_scale")
    check_zero_point(zero_point, scale, "y_zero_point")
    if attrs.precision and dtype_from_onnx(attrs.precision) not in _PRECISIONS:
        raise ModelError(f"precision is {attrs.precision}; the specification allows float, float16 and bfloat16")
    return (TensorType(_result(attrs, None if zero_point is None else zero_point.dtype), x.shape),)


def _result(attrs: QuantizeLinearAttrs, zero_point: DType | None) -> DType:
    """Return the element type of the result: that of the zero point, else the attribute, else uint8."""
    wanted = dtype_from_onnx(attrs.output_dtype) if attrs.output_dtype else None
    if wanted is not None and wanted not in QUANTISED:
        raise ModelError(f"output_dtype is {wanted}; the specification allows {', '.join(d.name for d in QUANTISED)}")
    if wanted is not None and zero_point is not None and wanted != zero_point:
        raise ModelError(f"output_dtype is {wanted}, but operand 'y_zero_point' has type {zero_point}; the specification requires one type")
    return zero_point or wanted or U8


def _precision(attrs: QuantizeLinearAttrs, scale: DType) -> DType:
    """Return the type in which is divided; of integers, and of scales without a mantissa, one that holds the quotient."""
    if attrs.precision:
        return dtype_from_onnx(attrs.precision)
    return F64 if scale == I32 else scale if scale in _PRECISIONS else F32


def _build(emitter: Emitter, attrs: QuantizeLinearAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Where the precision is of 16 bits, operands and quotient are rounded to it, and the division itself is one of float32."""
    x, scale, zero_point = (*operands, None)[:3]
    assert x is not None
    assert scale is not None
    shape = x.type.static
    precision = _precision(attrs, scale.type.dtype)
    compute = precision.compute
    dividend, divisor = (cast(emitter, cast(emitter, v, precision), compute) for v in (x, scale))
    quotient = emitter.node("Div", [dividend, spread(emitter, divisor, shape, attrs.axis, attrs.block_size)])
    quotient = cast(emitter, cast(emitter, quotient, precision), compute)
    offset = zero_point
    if zero_point is not None:
        offset = spread(emitter, cast(emitter, zero_point, compute), shape, attrs.axis, attrs.block_size)
    dtype = _result(attrs, None if zero_point is None else zero_point.type.dtype)
    return (rounded(emitter, quotient, offset, dtype, saturate=attrs.saturate),)


OPERATORS = (
    composed("QuantizeLinear", _infer, _build, source="ONNX 28, QuantizeLinear-28", attributes=QuantizeLinearAttrs, since=10),
    composed(
        "com.microsoft::QuantizeLinear",
        _infer,
        _build,
        source="onnxruntime 1.32, ContribOperators.md, com.microsoft::QuantizeLinear-1",
        attributes=QuantizeLinearAttrs,
    ),
)

"""DequantizeLinear."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BF16, F4E2M1, F8E8M0, F16, F32, I32, DType, TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand, same_dtype
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.element_types import FLOAT8, dtype_from_onnx
from nautilus_cli.ops.quantization import QUANTISED_INTEGERS, check_granularity, check_zero_point, real, spread
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.wide import cast

_QUANTISED = (*QUANTISED_INTEGERS, I32, *FLOAT8, F4E2M1)
_REAL = (F32, F16, BF16)


@dataclass(frozen=True, slots=True)
class DequantizeLinearAttrs:
    """Attributes of DequantizeLinear; `output_dtype` is a number of TensorProto.DataType, 0 where left out."""

    axis: int = 1
    block_size: int = 0
    output_dtype: int = 0


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 3)
    attrs = inference.attrs
    x = operand(inference, 0, "x", _QUANTISED)
    scale = operand(inference, 1, "x_scale", (*_REAL, F8E8M0))
    zero_point = optional_operand(inference, 2, "x_zero_point", _QUANTISED)
    check_granularity(x, scale, attrs.axis, attrs.block_size, "x_scale")
    same_dtype(x, zero_point, "x_zero_point")
    check_zero_point(zero_point, scale, "x_zero_point")
    dtype = _result(attrs, scale.dtype)
    if dtype not in _REAL:
        raise ModelError(f"the result's type is {dtype}; the specification allows {', '.join(d.name for d in _REAL)}")
    return (TensorType(dtype, x.shape),)


def _result(attrs: DequantizeLinearAttrs, scale: DType) -> DType:
    """Return the element type of the result: the attribute, else that of the scale."""
    return dtype_from_onnx(attrs.output_dtype) if attrs.output_dtype else scale


def _build(emitter: Emitter, attrs: DequantizeLinearAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Zero points are widened before they spread over the tensor."""
    x, scale, zero_point = (*operands, None)[:3]
    assert x is not None
    assert scale is not None
    shape = x.type.static
    compute = I32 if x.type.dtype == I32 else F32
    wide = None if zero_point is None else cast(emitter, zero_point, compute)
    factor = spread(emitter, cast(emitter, scale, F32), shape, attrs.axis, attrs.block_size)
    offset = None if wide is None else spread(emitter, wide, shape, attrs.axis, attrs.block_size)
    return (real(emitter, x, factor, offset, _result(attrs, scale.type.dtype)),)


OPERATORS = (
    composed("DequantizeLinear", _infer, _build, source="ONNX 28, DequantizeLinear-28", attributes=DequantizeLinearAttrs, since=10),
    composed(
        "com.microsoft::DequantizeLinear",
        _infer,
        _build,
        source="onnxruntime 1.32, ContribOperators.md, com.microsoft::DequantizeLinear-1",
        attributes=DequantizeLinearAttrs,
    ),
)

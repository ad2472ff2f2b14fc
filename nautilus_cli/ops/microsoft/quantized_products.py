"""Products of quantised matrices that end as real numbers: QGemm, MatMulIntegerToFloat and DynamicQuantizeMatMul."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F16, F32, I32, TensorType
from nautilus_cli.ops.checks import broadcast_shape, operand, operand_count, optional_operand, ranked, shaped, single
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.dynamic_quantize_linear import dynamically_quantised
from nautilus_cli.ops.matmul import product_shape
from nautilus_cli.ops.matmul_integer import integer_product
from nautilus_cli.ops.microsoft.qlinear import BYTES, parameters, quantised
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.quantization import rounded
from nautilus_cli.ops.spec import Emitter, Inference, NoAttrs
from nautilus_cli.ops.wide import cast, reshape, scalar


@dataclass(frozen=True, slots=True)
class QGemmAttrs:
    """Attributes of QGemm."""

    alpha: float = 1.0
    transA: int = 0  # noqa: N815 (onnxruntime's name)
    transB: int = 0  # noqa: N815 (onnxruntime's name)


def _of_columns(inference: Inference, scale: int, zero_point: int, b: TensorType, columns: int, *, is_required: bool = False) -> None:
    """Check scale and zero point of a right operand: one number, or one for each of its columns."""
    shaped(operand(inference, scale, "b_scale", (F32, F16)), "b_scale", (), (1,), (columns,))
    found = (
        operand(inference, zero_point, "b_zero_point", BYTES)
        if is_required
        else optional_operand(inference, zero_point, "b_zero_point", BYTES)
    )
    shaped(found, "b_zero_point", (), (1,), (columns,))
    if found is not None and found.dtype != b.dtype:
        raise ModelError(f"operand 'b_zero_point' has type {found.dtype}; the specification requires that of operand 'B', {b.dtype}")


def _infer_gemm(inference: Inference) -> tuple[TensorType, ...]:
    """The result is quantised where its scale is given."""
    operand_count(inference, 6, 9)
    attrs = inference.attrs
    a, b = quantised(inference, 0, "a", is_optional=False), operand(inference, 3, "B", BYTES)
    left, right = ranked(a, "A", 2), ranked(b, "B", 2)
    (m, k), (inner, n) = left[:: -1 if attrs.transA else 1], right[:: -1 if attrs.transB else 1]
    if k != inner:
        raise ModelError(f"multiplies shapes {[m, k]} and {[inner, n]} (after transA, transB): the inner dimensions differ")
    _of_columns(inference, 4, 5, b, n, is_required=True)
    bias = optional_operand(inference, 6, "C", (I32,))
    if bias is not None and broadcast_shape(bias.static, (m, n)) != (m, n):
        raise ModelError(f"operand 'C' has shape {list(bias.static)}, which does not broadcast to {[m, n]}")
    if len(inference.types) < 8 or inference.types[7] is None:
        return (TensorType(F32, (m, n)),)
    zero_point = parameters(inference, 7, "y", None, is_optional=False)
    assert zero_point is not None
    return (TensorType(zero_point.dtype, (m, n)),)


def _build_gemm(emitter: Emitter, attrs: QGemmAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """C is an integer in units of alpha · a_scale · b_scale, and is added before the product is scaled."""
    a, a_scale, a_zero_point, b, b_scale, b_zero_point, bias, y_scale, y_zero_point = (*operands, None, None, None)[:9]
    assert a is not None and b is not None and a_scale is not None and b_scale is not None
    left = emitter.node("Transpose", [a], perm=(1, 0)) if attrs.transA else a
    right = emitter.node("Transpose", [b], perm=(1, 0)) if attrs.transB else b
    total = integer_product(emitter, left, right, a_zero_point, b_zero_point)
    if bias is not None:
        total = emitter.node("Add", [total, bias])
    factor = _factor(emitter, a_scale, b_scale)
    if attrs.alpha != 1:
        factor = emitter.node("Mul", [factor, scalar(emitter, attrs.alpha, F32)])
    if y_scale is None:
        return (emitter.node("Mul", [cast(emitter, total, F32), factor]),)
    assert y_zero_point is not None
    factor = emitter.node("Div", [factor, reshape(emitter, y_scale, ())])
    offset = reshape(emitter, cast(emitter, y_zero_point, F32), ())
    return (rounded(emitter, emitter.node("Mul", [cast(emitter, total, F32), factor]), offset, y_zero_point.type.dtype),)


def _factor(emitter: Emitter, a_scale: Value, b_scale: Value) -> Value:
    """Return the product of the scales, one number or one a column."""
    right = cast(emitter, b_scale, F32)
    return emitter.node(
        "Mul", [reshape(emitter, cast(emitter, a_scale, F32), ()), reshape(emitter, right, ()) if right.type.elements == 1 else right]
    )


def _real_product(
    emitter: Emitter,
    a: tuple[Value, Value, Value | None],
    b: tuple[Value, Value, Value | None],
    bias: Value | None,
) -> Value:
    """Return the product of two quantised matrices, each with its scale and zero point, plus a bias, in the type of the second scale."""
    dtype = b[1].type.dtype
    product = cast(emitter, integer_product(emitter, a[0], b[0], a[2], b[2]), F32)
    result = emitter.node("Mul", [product, _factor(emitter, a[1], b[1])])
    if bias is not None:
        result = emitter.node("Add", [result, cast(emitter, bias, F32)])
    return cast(emitter, result, dtype)


def _infer_to_float(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 4, 7)
    a, b = operand(inference, 0, "A", BYTES), operand(inference, 1, "B", BYTES)
    shape = product_shape(a.static, b.static)
    a_scale = operand(inference, 2, "a_scale", (F32, F16))
    single(a_scale, "a_scale")
    _of_columns(inference, 3, 5, b, b.static[-1])
    if operand(inference, 3, "b_scale").dtype != a_scale.dtype:
        raise ModelError("operands 'a_scale' and 'b_scale' have different types; the specification requires one")
    zero_point = optional_operand(inference, 4, "a_zero_point", (a.dtype,))
    if zero_point is not None:
        single(zero_point, "a_zero_point")
    shaped(optional_operand(inference, 6, "bias", (a_scale.dtype,)), "bias", b.static[-1:])
    return (TensorType(a_scale.dtype, shape),)


def _build_to_float(emitter: Emitter, _attrs: NoAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    a, b, a_scale, b_scale, a_zero_point, b_zero_point, bias = (*operands, None, None, None)[:7]
    assert a is not None and b is not None and a_scale is not None and b_scale is not None
    return (_real_product(emitter, (a, a_scale, a_zero_point), (b, b_scale, b_zero_point), bias),)


def _infer_dynamic(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 5)
    a, b = operand(inference, 0, "A", (F32,)), operand(inference, 1, "B", BYTES)
    shape = product_shape(a.static, b.static)
    operand(inference, 2, "b_scale", (F32,))
    _of_columns(inference, 2, 3, b, b.static[-1])
    shaped(optional_operand(inference, 4, "bias", (F32,)), "bias", b.static[-1:])
    return (TensorType(F32, shape),)


def _build_dynamic(emitter: Emitter, _attrs: NoAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    a, b, b_scale, b_zero_point, bias = (*operands, None, None)[:5]
    assert a is not None and b is not None and b_scale is not None
    return (_real_product(emitter, dynamically_quantised(emitter, a), (b, b_scale, b_zero_point), bias),)


OPERATORS = (
    composed("com.microsoft::QGemm", _infer_gemm, _build_gemm, source=source("QGemm"), attributes=QGemmAttrs),
    composed("com.microsoft::MatMulIntegerToFloat", _infer_to_float, _build_to_float, source=source("MatMulIntegerToFloat")),
    composed("com.microsoft::DynamicQuantizeMatMul", _infer_dynamic, _build_dynamic, source=source("DynamicQuantizeMatMul")),
)

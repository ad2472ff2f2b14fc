"""MatMulInteger and QLinearMatMul: products of quantised matrices."""

from __future__ import annotations

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BF16, F16, F32, I8, I32, U8, TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand, required, same_dtype
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.element_types import FLOAT8
from nautilus_cli.ops.matmul import product_shape
from nautilus_cli.ops.quantization import centred, real, rounded
from nautilus_cli.ops.spec import Emitter, Inference, NoAttrs
from nautilus_cli.ops.wide import cast, reshape, scalar

BYTES = (U8, I8)
_QUANTISED = (*BYTES, *FLOAT8)
_SCALES = (F32, F16, BF16)


def row_shape(matrix: tuple[int, ...], found: tuple[int, ...], name: str) -> tuple[int, ...]:
    """Return the shape in which a scale or zero point broadcasts to a left operand: one element, one a row, or [..., m, 1].

    Raises:
        ModelError: it has another shape.
    """
    if found in ((), (1,)):
        return ()
    if len(matrix) >= 2 and found == (matrix[-2],):
        return (matrix[-2], 1)
    if len(matrix) >= 2 and found == (*matrix[:-1], 1):
        return found
    raise ModelError(
        f"operand '{name}' has shape {list(found)}; for rows of {list(matrix)} the specification allows one element, or one a row"
    )


def column_shape(matrix: tuple[int, ...], found: tuple[int, ...], name: str) -> tuple[int, ...]:
    """Return the shape in which a scale or zero point broadcasts to a right operand: one element, one a column, or [..., 1, n].

    Raises:
        ModelError: it has another shape.
    """
    if found in ((), (1,)):
        return ()
    if len(matrix) >= 2 and found == (matrix[-1],):
        return found
    if len(matrix) >= 2 and found == (*matrix[:-2], 1, matrix[-1]):
        return found
    raise ModelError(
        f"operand '{name}' has shape {list(found)}; for columns of {list(matrix)} the specification allows one element, or one a column"
    )


def rows(emitter: Emitter, matrix: Value, value: Value | None, name: str) -> Value | None:
    """Return a scale or zero point of a left operand so that it broadcasts to it."""
    return None if value is None else reshape(emitter, value, row_shape(matrix.type.static, value.type.static, name))


def columns(emitter: Emitter, matrix: Value, value: Value | None, name: str) -> Value | None:
    """Return a scale or zero point of a right operand so that it broadcasts to it."""
    return None if value is None else reshape(emitter, value, column_shape(matrix.type.static, value.type.static, name))


def integer_product(emitter: Emitter, a: Value, b: Value, a_zero_point: Value | None, b_zero_point: Value | None) -> Value:
    """Return (a - zero point) (b - zero point) in 32-bit integers; zero points as the operators have them."""
    left = centred(emitter, a, rows(emitter, a, a_zero_point, "a_zero_point"))
    right = centred(emitter, b, columns(emitter, b, b_zero_point, "b_zero_point"))
    return emitter.node("MatMul", [left, right])


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 4)
    a, b = operand(inference, 0, "A", BYTES), operand(inference, 1, "B", BYTES)
    a_zero_point, b_zero_point = (
        optional_operand(inference, 2, "a_zero_point", BYTES),
        optional_operand(inference, 3, "b_zero_point", BYTES),
    )
    if a_zero_point is not None:
        same_dtype(a, a_zero_point, "a_zero_point")
        row_shape(a.static, a_zero_point.static, "a_zero_point")
    if b_zero_point is not None:
        _same_type(b, b_zero_point, "b_zero_point", "B")
        column_shape(b.static, b_zero_point.static, "b_zero_point")
    return (TensorType(I32, product_shape(a.static, b.static)),)


def _same_type(first: TensorType, second: TensorType, name: str, of: str) -> None:
    if first.dtype != second.dtype:
        raise ModelError(f"operand '{name}' has type {second.dtype}; the specification requires that of operand '{of}', {first.dtype}")


def _build(emitter: Emitter, _attrs: NoAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    a, b, a_zero_point, b_zero_point = (*operands, None, None)[:4]
    assert a is not None
    assert b is not None
    return (integer_product(emitter, a, b, a_zero_point, b_zero_point),)


def _infer_quantised(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 8, 8)
    a, b = operand(inference, 0, "a", _QUANTISED), operand(inference, 3, "b", _QUANTISED)
    a_zero_point, b_zero_point = operand(inference, 2, "a_zero_point", _QUANTISED), operand(inference, 5, "b_zero_point", _QUANTISED)
    _same_type(a, a_zero_point, "a_zero_point", "a")
    _same_type(b, b_zero_point, "b_zero_point", "b")
    if a.dtype.is_float != b.dtype.is_float:
        raise ModelError(f"multiplies types {a.dtype} and {b.dtype}; integers go with integers, and floats with floats")
    a_scale, b_scale = operand(inference, 1, "a_scale", _SCALES), operand(inference, 4, "b_scale", _SCALES)
    for found, name in ((a_scale, "a_scale"), (a_zero_point, "a_zero_point")):
        row_shape(a.static, found.static, name)
    for found, name in ((b_scale, "b_scale"), (b_zero_point, "b_zero_point")):
        column_shape(b.static, found.static, name)
    y_scale, y_zero_point = operand(inference, 6, "y_scale", _SCALES), operand(inference, 7, "y_zero_point", _QUANTISED)
    _same_type(a_scale, b_scale, "b_scale", "a_scale")
    _same_type(a_scale, y_scale, "y_scale", "a_scale")
    shape = product_shape(a.static, b.static)
    for found, name in ((y_scale, "y_scale"), (y_zero_point, "y_zero_point")):
        row_shape(shape, found.static, name)
    return (TensorType(y_zero_point.dtype, shape),)


def _build_quantised(emitter: Emitter, _attrs: NoAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Products of integers are summed exactly and then scaled, with one factor where the scales are single numbers."""
    a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point = required(operands)
    left_scale, right_scale = (
        rows(emitter, a, cast(emitter, a_scale, F32), "a_scale"),
        columns(emitter, b, cast(emitter, b_scale, F32), "b_scale"),
    )
    assert left_scale is not None
    assert right_scale is not None
    shape = product_shape(a.type.static, b.type.static)
    if a.type.dtype.is_float:
        one = scalar(emitter, 1, F32)
        product = emitter.node(
            "MatMul",
            [
                real(emitter, a, one, rows(emitter, a, cast(emitter, a_zero_point, F32), "a_zero_point"), F32),
                real(emitter, b, one, columns(emitter, b, cast(emitter, b_zero_point, F32), "b_zero_point"), F32),
            ],
        )
    else:
        product = cast(emitter, integer_product(emitter, a, b, a_zero_point, b_zero_point), F32)
    result_scale = reshape(emitter, cast(emitter, y_scale, F32), row_shape(shape, y_scale.type.static, "y_scale"))
    offset = reshape(emitter, cast(emitter, y_zero_point, F32), row_shape(shape, y_zero_point.type.static, "y_zero_point"))
    factor = emitter.node("Div", [emitter.node("Mul", [left_scale, right_scale]), result_scale])
    return (rounded(emitter, emitter.node("Mul", [product, factor]), offset, y_zero_point.type.dtype),)


OPERATORS = (
    composed("MatMulInteger", _infer, _build, source="ONNX 28, MatMulInteger-10", since=10),
    composed("QLinearMatMul", _infer_quantised, _build_quantised, source="ONNX 28, QLinearMatMul-21", since=10),
)

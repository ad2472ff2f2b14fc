"""Quantised operators at their edges: against onnx's reference, and against onnxruntime where that has a kernel."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import TensorType, dtype_of
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.lowered import lowered
from tests.unit.ops.oracle import check, onnxruntime_says

NARROW = [ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2]
FLOAT8 = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz]


def number(value: float, dtype: Any = np.float32) -> np.ndarray:
    return np.array(value, dtype)


def evaluated(op: str, arrays: list[np.ndarray | None], **attrs: Any) -> np.ndarray:
    """Return the truth of an operator, which its lowering must agree with."""
    operator = operators()[op]
    typed = operator.attributes(**attrs)
    (truth,) = operator.evaluate(typed, tuple(arrays), 1)
    (found,) = lowered(operator, typed, arrays, 1)
    assert found.dtype == truth.dtype
    np.testing.assert_array_equal(found.view(f"u{found.itemsize}"), truth.view(f"u{found.itemsize}"))
    return truth


def refuses(op: str, arrays: list[np.ndarray | None], message: str, **attrs: Any) -> None:
    operator = operators()[op]
    types = tuple(None if a is None else TensorType(dtype_of(a), a.shape) for a in arrays)
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes(**attrs), types, (None,) * len(types), 1))


def test_halves_go_to_even_before_the_zero_point_is_added() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5], np.float32)
    assert evaluated("QuantizeLinear", [x, number(1), np.array(3, np.uint8)]).tolist() == [3, 5, 5, 3, 1]


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        *((np.uint8, 0, 255), (np.int8, -128, 127), (np.uint16, 0, 65535), (np.int16, -32768, 32767)),
        *((ml_dtypes.int4, -8, 7), (ml_dtypes.uint4, 0, 15), (ml_dtypes.int2, -2, 1), (ml_dtypes.uint2, 0, 3)),
    ],
)
def test_what_is_out_of_range_saturates(dtype: Any, low: int, high: int) -> None:
    x = np.array([1e30, -1e30, np.inf, -np.inf, high + 1.0, low - 1.0, high, low], np.float32)
    found = evaluated("QuantizeLinear", [x, number(1), np.zeros((), np.int8).astype(dtype)])
    assert found.dtype == dtype
    assert found.astype(np.int64).tolist() == [high, low] * 4


@pytest.mark.parametrize("dtype", FLOAT8)
def test_8_bit_floats_saturate_unless_asked_not_to(dtype: Any) -> None:
    x = np.array([1e6, -1e6, 3.3], np.float32)
    highest = float(ml_dtypes.finfo(dtype).max)
    zero = np.zeros((), np.float32).astype(dtype)
    assert evaluated("QuantizeLinear", [x, number(1), zero]).astype(np.float32).tolist()[:2] == [highest, -highest]
    assert not np.isfinite(evaluated("QuantizeLinear", [x, number(1), zero], saturate=0).astype(np.float32)[:2]).any()


@pytest.mark.parametrize("dtype", [np.uint8, *NARROW])
@pytest.mark.parametrize(("shape", "axis", "block"), [((3, 7, 2), 1, 3), ((3, 7, 2), -1, 2), ((8, 4), 0, 4), ((5, 6), 1, 4)])
def test_blocks_of_which_the_last_may_be_cut(shape: tuple[int, ...], axis: int, block: int, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    blocks = list(shape)
    blocks[axis] = -(-shape[axis] // block)
    scale = (0.3 * (1 + rng.random(blocks))).astype(np.float32)
    zero_point = rng.integers(0, 2, blocks).astype(np.int8).astype(dtype)
    x = (2 * rng.standard_normal(shape)).astype(np.float32)
    attrs = {"axis": axis, "block_size": block}
    check("QuantizeLinear", [x, scale, zero_point], attrs)
    check("DequantizeLinear", [evaluated("QuantizeLinear", [x, scale, zero_point], **attrs), scale, zero_point], attrs)


@pytest.mark.parametrize("half", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16])
def test_the_scale_s_type_is_the_precision_of_the_division(half: Any, dtype: Any) -> None:
    """onnxruntime divides in float32 and gives other numbers; the reference rounds the quotient to the scale's type."""
    rng = np.random.default_rng(1)
    x, scale = (30 * rng.standard_normal(500)).astype(half), number(0.113, half)
    operands = [x, scale, np.array(5, dtype)]
    check("QuantizeLinear", operands)
    wide = evaluated("QuantizeLinear", operands, precision=1)
    narrow = evaluated("QuantizeLinear", operands)
    assert (wide != narrow).any()
    assert np.abs(wide.astype(int) - narrow.astype(int)).max() <= (1 if half == np.float16 else 8)
    check("DequantizeLinear", [narrow, scale, operands[2]])


def test_integers_are_quantised_by_an_integer_scale() -> None:
    x = np.array([-7, 7, 1000, 5, 3], np.int32)
    assert evaluated("QuantizeLinear", [x, np.array(2, np.int32), np.array(0, np.int8)]).tolist() == [-4, 4, 127, 2, 2]


def test_wide_integers_lose_their_zero_point_before_they_are_rounded() -> None:
    x = np.array([2**30 + 1, -(2**30)], np.int32)
    assert evaluated("DequantizeLinear", [x, number(1), np.array(2**30, np.int32)]).tolist() == [1.0, -(2.0**31)]


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), ()])
def test_empty_tensors_and_scalars(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, np.float32)
    assert evaluated("QuantizeLinear", [x, number(0.5), np.array(7, np.uint8)]).tolist() == np.full(shape, 7).tolist()


@pytest.mark.parametrize(
    ("arrays", "attrs", "message"),
    [
        ([np.zeros((3, 4), np.float32), np.ones(3, np.float32)], {}, r"'y_scale' has shape \[3\].* along axis 1 .* a scalar or \[4\]"),
        ([np.zeros((3, 4), np.float32), np.ones(4, np.float32)], {"axis": 2}, "axis is 2"),
        ([np.zeros((3, 4), np.float32), np.ones((3, 2), np.float32)], {"block_size": 3, "axis": 0}, r"or \[1, 4\]"),
        ([np.zeros((3, 4), np.float32), np.ones((3, 2), np.float32)], {"block_size": -2}, "block_size is -2"),
        ([np.zeros(4, np.float32), number(1), np.zeros(4, np.uint8)], {}, "'y_zero_point' has shape"),
        ([np.zeros(4, np.float32), number(1), np.array(0, np.uint8)], {"output_dtype": 3}, "output_dtype is i8, but operand"),
        ([np.zeros(4, np.float32), number(1)], {"output_dtype": 7}, "output_dtype is i64; the specification allows u8"),
        ([np.zeros(4, np.float32), number(1)], {"precision": 11}, "precision is 11"),
        ([np.zeros(4, np.float64), number(1)], {}, "operand 'x' has type f64"),
    ],
)
def test_refused_quantisation(arrays: list[np.ndarray | None], attrs: dict[str, Any], message: str) -> None:
    refuses("QuantizeLinear", arrays, message, **attrs)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ([np.zeros(4, np.uint8), number(1), np.array(0, np.int8)], "'x_zero_point' has type i8"),
        ([np.zeros(4, np.float32), number(1)], "operand 'x' has type f32"),
        ([np.zeros(4, np.uint8), number(1, ml_dtypes.float8_e8m0fnu)], "the result's type is f8e8m0"),
    ],
)
def test_refused_dequantisation(arrays: list[np.ndarray | None], message: str) -> None:
    refuses("DequantizeLinear", arrays, message)


@pytest.mark.parametrize("x", [np.zeros((2, 3)), np.full((2, 3), 4.5), np.full((2, 3), -4.5), np.array([-1.0, 3.0]), np.array(2.0)])
def test_dynamic_ranges(x: np.ndarray) -> None:
    check("DynamicQuantizeLinear", [x.astype(np.float32)], outputs=3, opset=22, oracle=onnxruntime_says)


BYTES = [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)]


def quantised(rng: np.random.Generator, dtype: Any, *shape: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize(("left", "right"), BYTES)
@pytest.mark.parametrize("shapes", [((4, 9), (9, 3)), ((2, 4, 9), (9, 3)), ((2, 4, 9), (2, 9, 3)), ((9,), (9, 3)), ((4, 9), (9,))])
def test_integer_products(shapes: tuple[tuple[int, ...], tuple[int, ...]], left: Any, right: Any) -> None:
    rng = np.random.default_rng(2)
    a, b = quantised(rng, left, *shapes[0]), quantised(rng, right, *shapes[1])
    zeros = [np.array(100, left), np.array(17, right)]
    check("MatMulInteger", [a, b], opset=22, oracle=onnxruntime_says)
    check("MatMulInteger", [a, b, *zeros], opset=22, oracle=onnxruntime_says)
    if len(shapes[1]) == 2:
        check("MatMulInteger", [a, b, None, quantised(rng, right, 3)])


def test_zero_points_of_rows_and_columns() -> None:
    rng = np.random.default_rng(3)
    a, b = quantised(rng, np.uint8, 2, 4, 9), quantised(rng, np.uint8, 2, 9, 3)
    rows, columns = quantised(rng, np.uint8, 2, 4, 1), quantised(rng, np.uint8, 2, 1, 3)
    check("MatMulInteger", [a, b, rows, columns])
    found = evaluated("MatMulInteger", [a[0], b[0], rows[0, :, 0], columns[0, 0]])
    np.testing.assert_array_equal(found, (a[0].astype(int) - rows[0]) @ (b[0].astype(int) - columns[0]))


def test_sums_beyond_32_bits_of_float_are_exact() -> None:
    k = 3000
    a, b = np.full((1, k), 255, np.uint8), np.full((k, 1), 255, np.uint8)
    assert evaluated("MatMulInteger", [a, b]).tolist() == [[255 * 255 * k]]
    x, w = np.full((1, k, 1, 1), 255, np.uint8), np.full((1, k, 1, 1), 255, np.uint8)
    assert evaluated("ConvInteger", [x, w]).tolist() == [[[[255 * 255 * k]]]]


@pytest.mark.parametrize(("left", "right"), BYTES)
@pytest.mark.parametrize(
    ("x", "w", "attrs"),
    [
        ((2, 4, 7, 6), (6, 4, 3, 3), {"pads": [1, 0, 2, 1], "strides": [2, 1]}),
        ((2, 4, 7, 6), (6, 2, 3, 2), {"group": 2, "dilations": [2, 1]}),
        ((1, 6, 7, 6), (6, 1, 3, 3), {"group": 6, "auto_pad": "SAME_UPPER"}),
        ((2, 3, 9), (5, 3, 3), {"pads": [1, 1]}),
        ((1, 2, 4, 5, 3), (3, 2, 2, 2, 2), {}),
    ],
)
def test_integer_convolutions(x: tuple[int, ...], w: tuple[int, ...], attrs: dict[str, Any], left: Any, right: Any) -> None:
    """Outside the image lies the zero point."""
    rng = np.random.default_rng(4)
    image, weights = quantised(rng, left, *x), quantised(rng, right, *w)
    x_zero, w_zero = np.array(77, left), np.array(9, right)
    if left == np.uint8:  # onnxruntime's CPU has no other ConvInteger
        check("ConvInteger", [image, weights, x_zero, w_zero], attrs, opset=22, oracle=onnxruntime_says)
    scales = (0.001 * (1 + rng.random(w[0]))).astype(np.float32)
    zeros = np.full(w[0], 9 if right == np.uint8 else 0, right)
    bias = rng.integers(-3000, 3000, w[0]).astype(np.int32)
    operands = [image, number(0.021), x_zero, weights, scales, zeros, number(0.37), np.array(90, left), bias]
    check("QLinearConv", operands, attrs, opset=22, oracle=onnxruntime_says)
    check("QLinearConv", [*operands[:4], number(0.0013), w_zero, *operands[6:8]], attrs, opset=22, oracle=onnxruntime_says)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("columns", [False, True])
def test_quantised_products(columns: bool, dtype: Any) -> None:
    rng = np.random.default_rng(5)
    a, b = quantised(rng, dtype, 2, 5, 30), quantised(rng, dtype, 30, 4)
    scale = (0.01 * (1 + rng.random(4))).astype(np.float32) if columns else number(0.013)
    zero = np.full(4, 3, dtype) if columns else np.array(3, dtype)
    operands = [a, number(0.021), np.array(40, dtype), b, scale, zero, number(0.61), np.array(60, dtype)]
    check("QLinearMatMul", operands, opset=22, oracle=onnxruntime_says)


@pytest.mark.parametrize("dtype", FLOAT8[::2])
def test_products_of_8_bit_floats(dtype: Any) -> None:
    rng = np.random.default_rng(6)
    a, b = (rng.standard_normal(shape).astype(np.float32).astype(dtype) for shape in ((4, 6), (6, 3)))
    zero = np.zeros((), np.float32).astype(dtype)
    found = evaluated("QLinearMatMul", [a, number(0.5), zero, b, number(2), zero, number(0.25), zero])
    np.testing.assert_array_equal(found, (4 * (a.astype(np.float32) @ b.astype(np.float32))).astype(dtype))


@pytest.mark.parametrize(
    ("op", "arrays", "message"),
    [
        ("MatMulInteger", [np.zeros((2, 3), np.uint8), np.zeros((4, 2), np.uint8)], "the inner dimensions 3 and 4 differ"),
        ("MatMulInteger", [np.zeros((2, 3), np.uint8), np.zeros((3, 2), np.uint8), np.zeros(3, np.uint8)], "one element, or one a row"),
        ("MatMulInteger", [np.zeros((2, 3), np.uint8), np.zeros((3, 2), np.int8), None, np.zeros(2, np.uint8)], "that of operand 'B', i8"),
        ("ConvInteger", [np.zeros((1, 2, 3, 3), np.uint8), np.zeros((1, 2, 1, 1), np.int8), np.zeros(2, np.uint8)], "requires a scalar"),
        ("ConvInteger", [np.zeros((1, 2, 3, 3), np.float32), np.zeros((1, 2, 1, 1), np.int8)], "operand 'x' has type f32"),
    ],
)
def test_refused_products(op: str, arrays: list[np.ndarray | None], message: str) -> None:
    refuses(op, arrays, message)


@pytest.mark.parametrize(
    ("source", "target"), [(np.float16, 5), (ml_dtypes.float8_e5m2, 2), (ml_dtypes.int4, 21), (np.uint8, 9), (np.bool_, 3)]
)
def test_bits_stay(source: Any, target: int) -> None:
    codes = np.arange(2 if source == np.bool_ else 8, dtype=f"u{np.dtype(source).itemsize}")
    found = evaluated("BitCast", [codes.view(source)], to=target)
    wanted = codes != 0 if target == 9 else codes
    np.testing.assert_array_equal(found.view(np.bool_ if target == 9 else codes.dtype), wanted)


def test_bits_of_another_width_are_refused() -> None:
    refuses("BitCast", [np.zeros(3, np.float32)], "f32, of 32 bits, as i64, of 64", to=7)

"""RowMoments and NormalizedMatMul together are a norm and a product."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F16, F32, DType, TensorType
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.ops.normalized_matmul import NormalizedMatMulAttrs
from nautilus_cli.ops.row_moments import RowMomentsAttrs

MOMENTS, NORMALIZED = "nautilus::RowMoments", "nautilus::NormalizedMatMul"


def input_of(emit: GraphBuilder, name: str, *shape: int, dtype: DType = F32) -> Value:
    return emit.input(name, TensorType(dtype, shape))


@pytest.mark.parametrize("is_centred", [True, False])
def test_a_product_of_normalised_rows(is_centred: bool) -> None:
    random = np.random.default_rng(0)
    x = (random.standard_normal((3, 5, 64)) + 2).astype(np.float32)
    weight = random.standard_normal((64, 7))
    weight = (weight - weight.mean(0) if is_centred else weight).astype(np.float32)
    bias = random.standard_normal(7).astype(np.float32)
    emit = GraphBuilder()
    rows = input_of(emit, "x", 3, 5, 64)
    moments = emit.node(MOMENTS, (rows,), RowMomentsAttrs(columns=32))
    assert moments.type == TensorType(F32, (3, 5, 2, 2))
    attrs = NormalizedMatMulAttrs(epsilon=1e-3, is_centred=int(is_centred))
    result = emit.node(NORMALIZED, (rows, emit.constant(weight), moments, emit.constant(bias)), attrs)
    found = evaluate(emit.graph([("y", result)]), {"x": x})["y"]
    wide = x.astype(np.float64)
    centred = wide - wide.mean(-1, keepdims=True) if is_centred else wide
    expected = centred / np.sqrt(np.square(centred).mean(-1, keepdims=True) + 1e-3) @ weight.astype(np.float64) + bias
    assert np.abs(found - expected).max() <= 64 * np.finfo(np.float32).eps * np.abs(expected).max()


@pytest.mark.parametrize("epsilon", [1e-12, 0.0])
def test_centred_columns_make_nothing_of_a_row_of_one_number(epsilon: float) -> None:
    """Only roundings, which a small epsilon would raise; without one it is 0/0, as that of a norm."""
    emit = GraphBuilder()
    rows = input_of(emit, "x", 3, 64)
    moments = emit.node(MOMENTS, (rows,), RowMomentsAttrs(columns=32))
    weight, bias = np.full((64, 2), 1e-3, np.float32), np.array([1.5, -2], np.float32)
    attrs = NormalizedMatMulAttrs(epsilon=epsilon, is_centred=1)
    result = emit.node(NORMALIZED, (rows, emit.constant(weight), moments, emit.constant(bias)), attrs)
    x = np.stack([np.full(64, 1000), np.full(64, 0), np.full(64, np.inf)]).astype(np.float32)
    found = evaluate(emit.graph([("y", result)]), {"x": x})["y"]
    expected = np.stack([bias if epsilon else np.full(2, np.nan)] * 2 + [np.full(2, np.nan)])
    np.testing.assert_array_equal(found, expected)


def test_no_rows_have_no_moments() -> None:
    emit = GraphBuilder()
    moments = emit.node(MOMENTS, (input_of(emit, "x", 0, 64),), RowMomentsAttrs(columns=32))
    assert evaluate(emit.graph([("y", moments)]), {"x": np.zeros((0, 64), np.float32)})["y"].shape == (0, 2, 2)


def test_parts_are_whole() -> None:
    emit = GraphBuilder()
    with pytest.raises(ModelError, match=r"moments of parts of 32 columns of \[4, 40\]; whole parts are necessary"):
        emit.node(MOMENTS, (input_of(emit, "x", 4, 40),), RowMomentsAttrs(columns=32))


@pytest.mark.parametrize(
    ("moments", "bias", "message"),
    [
        ((5, 2, 2), (8,), r"multiplies \[4, 64\] and \[64, 8\] by moments of \[5, 2, 2\]"),
        ((4, 2, 3), (8,), r"by moments of \[4, 2, 3\]"),
        ((4, 2, 2), (9,), r"operand 'bias' has shape \[9\]; the specification requires \[8\]"),
    ],
)
def test_operands_that_do_not_fit(moments: tuple[int, ...], bias: tuple[int, ...], message: str) -> None:
    emit = GraphBuilder()
    operands = (
        input_of(emit, "a", 4, 64, dtype=F16),
        input_of(emit, "b", 64, 8, dtype=F16),
        input_of(emit, "moments", *moments),
        input_of(emit, "bias", *bias),
    )
    with pytest.raises(ModelError, match=message):
        emit.node(NORMALIZED, operands, NormalizedMatMulAttrs(epsilon=0.0, is_centred=1))

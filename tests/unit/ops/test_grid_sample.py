from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F32, I32, I64, TensorType
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import seeds, values
from tests.unit.ops.oracle import check, onnxruntime_says, reference

MODES = ("linear", "nearest", "cubic")
PADDINGS = ("zeros", "border", "reflection")


@st.composite
def grids(draw: st.DrawFn, rank: int, low: int) -> tuple[tuple[int, ...], np.ndarray, dict[str, Any]]:
    """A shape of X, a grid that reaches far outside, and attributes."""
    size = tuple(draw(st.integers(low, 6)) for _ in range(rank))
    out = tuple(draw(st.integers(1, 4)) for _ in range(rank))
    batch = draw(st.integers(1, 2))
    rng = draw(seeds())
    grid = rng.uniform(-2.5, 2.5, (batch, *out, rank))
    if draw(st.booleans()):
        grid = np.round(grid * 8) / 8  # ties
    attrs = {"align_corners": draw(st.integers(0, 1)), "padding_mode": draw(st.sampled_from(PADDINGS))}
    return (batch, draw(st.integers(1, 3)), *size), grid.astype(np.float32), attrs


@given(grids(2, 2), st.sampled_from(MODES), seeds())
@settings(max_examples=150)
def test_planes(drawn: tuple[tuple[int, ...], np.ndarray, dict[str, Any]], mode: str, rng: np.random.Generator) -> None:
    shape, grid, attrs = drawn
    check("GridSample", [values(rng, shape, np.float32), grid], {**attrs, "mode": mode}, oracle=onnxruntime_says, terms=64, depth=32)


@given(grids(3, 2), st.sampled_from(MODES[:2]), seeds())
@settings(max_examples=60)
def test_volumes(drawn: tuple[tuple[int, ...], np.ndarray, dict[str, Any]], mode: str, rng: np.random.Generator) -> None:
    shape, grid, attrs = drawn
    check("GridSample", [values(rng, shape, np.float32), grid], {**attrs, "mode": mode}, oracle=onnxruntime_says, terms=64, depth=32)


@given(grids(1, 2), st.sampled_from(MODES[:2]), st.sampled_from([np.float32, np.float16]), seeds())
@settings(max_examples=40)
def test_lines(drawn: tuple[tuple[int, ...], np.ndarray, dict[str, Any]], mode: str, dtype: object, rng: np.random.Generator) -> None:
    """Which onnxruntime has not; the reference rounds weights to the elements' type, so they are held against it in steps it can hold."""
    shape, grid, attrs = drawn
    grid = np.round(grid * 8) / np.float32(8)
    x = values(rng, shape, dtype)
    check("GridSample", [x, grid.astype(np.float32)], {**attrs, "mode": mode}, oracle=reference, terms=64, depth=32)


def test_where_there_is_no_place() -> None:
    """NaN and places that no integer holds are outside; a mirror in one element is that element."""
    operator = operators()["GridSample"]
    x = np.arange(1, 5, dtype=np.float32).reshape(1, 1, 4)
    grid = np.array([np.nan, np.inf, -1e38, 0.25], np.float32).reshape(1, 4, 1)
    with np.errstate(all="raise"):
        (found,) = operator.evaluate(operator.attributes(mode="nearest"), (x, grid), 1)
        assert found.reshape(-1).tolist() == [0, 0, 0, 3]
        single = operator.attributes(padding_mode="reflection", align_corners=1)
        (found,) = operator.evaluate(single, (x[..., :1], np.array([[[0.3], [-5.0]]], np.float32)), 1)
        assert found.reshape(-1).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("types", "attrs", "message"),
    [
        ([TensorType(F32, (1, 2, 3, 4)), TensorType(F32, (1, 5, 5, 3))], {}, "number of spatial dimensions"),
        ([TensorType(F32, (1, 2, 3, 4)), TensorType(F32, (2, 5, 5, 2))], {}, "number of spatial dimensions"),
        ([TensorType(F32, (1, 2)), TensorType(F32, (1, 0))], {}, "number of spatial dimensions"),
        ([TensorType(F32, (1, 2, 0, 4)), TensorType(F32, (1, 5, 5, 2))], {}, "nothing to sample"),
        (
            [TensorType(I32, (1, 2, 3, 4)), TensorType(F32, (1, 5, 5, 2))],
            {},
            "has type i32 and mode is linear; the specification does not say how",
        ),
        ([TensorType(F32, (1, 2, 3, 4)), TensorType(I64, (1, 5, 5, 2))], {}, "'grid' has type i64"),
        ([TensorType(F32, (1, 2, 3, 4)), TensorType(F32, (1, 5, 5, 2))], {"mode": "bilinear"}, "mode is 'bilinear'"),
        ([TensorType(F32, (1, 2, 3, 4)), TensorType(F32, (1, 5, 5, 2))], {"padding_mode": "zero"}, "padding_mode is 'zero'"),
    ],
)
def test_refusals(types: list[TensorType], attrs: dict[str, Any], message: str) -> None:
    operator = operators()["GridSample"]
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes(**attrs), tuple(types), (None, None), 1))

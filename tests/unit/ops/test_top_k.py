from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import BOOL, F32, I64, TensorType
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from nautilus_cli.ops.top_k import TopKAttrs
from tests.unit.ops.drawing import FLOATS, INTEGERS, full_shapes, seeds, values
from tests.unit.ops.oracle import check, onnxruntime_says

TOP_K = operators()["TopK"]


@given(st.data(), full_shapes(1), st.sampled_from((*FLOATS, *INTEGERS)), seeds(), st.booleans())
@settings(max_examples=100)
def test_top_k(data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator, largest: bool) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    k = np.array([data.draw(st.integers(1, shape[axis]))])
    check("TopK", [values(rng, shape, dtype), k], {"axis": axis, "largest": int(largest)}, outputs=2)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nan_and_ties_are_as_in_onnxruntime(dtype: object, largest: int) -> None:
    x = np.array([1, np.nan, -np.inf, 0.0, -0.0, 1, np.inf, np.nan, 0.0, -1]).astype(dtype)  # type: ignore[call-overload]
    for k in (1, 2, 3, 5, 10):
        check("TopK", [x, np.array([k])], {"largest": largest}, outputs=2, oracle=onnxruntime_says)


def test_the_number_as_an_attribute() -> None:
    x = np.array([[3, 1, 2], [4, 6, 5]], np.float32)
    found, places = TOP_K.evaluate(TopKAttrs(k=2), (x,), 2)
    assert found.tolist() == [[3, 2], [6, 5]]
    assert places.tolist() == [[0, 2], [1, 2]]
    assert TOP_K.infer(Inference(TopKAttrs(k=2), (TensorType(F32, (2, 3)),), (None,), 2))[1] == TensorType(I64, (2, 2))


def test_none_of_them() -> None:
    found, places = TOP_K.evaluate(TopKAttrs(), (np.zeros((2, 3), np.float32), np.array([0])), 2)
    assert found.shape == places.shape == (2, 0)


@pytest.mark.parametrize(
    ("attrs", "type_", "k", "message"),
    [
        ({}, TensorType(F32, (2, 3)), np.array([4]), r"k is \[4\]; the specification allows one number, 0 to 3"),
        ({}, TensorType(F32, (2, 3)), np.array([-1]), "0 to 3"),
        ({}, TensorType(F32, (2, 3)), np.array([1, 2]), "one number"),
        ({}, TensorType(F32, (2, 3)), None, "'K' decides the result's shape"),
        ({"axis": 2}, TensorType(F32, (2, 3)), np.array([1]), "axis is 2"),
        ({}, TensorType(BOOL, (3,)), np.array([1]), "operand 'X' has type bool"),
    ],
)
def test_refusals(attrs: dict[str, Any], type_: TensorType, k: np.ndarray | None, message: str) -> None:
    types = (type_, TensorType(I64, (1,) if k is None else k.shape))
    with pytest.raises(ModelError, match=message):
        TOP_K.infer(Inference(TopKAttrs(**attrs), types, (None, k), 2))

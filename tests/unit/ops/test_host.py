"""Operators that are evaluated at compile time, or whose results follow from shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import numpy_helper

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Decompose, Inference
from tests.unit.ops.drawing import MovedTypes, full_shapes, seeds, shapes, values
from tests.unit.ops.lowered import Evaluator
from tests.unit.ops.oracle import check


@given(st.data(), shapes(), MovedTypes, seeds())
@settings(max_examples=30)
def test_shape_and_size(data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    x = values(rng, shape, dtype)
    attrs = {name: data.draw(st.integers(-6, 6)) for name in ("start", "end") if data.draw(st.booleans())}
    check("Shape", [x], attrs)
    check("Size", [x])


@pytest.mark.parametrize(
    "attrs",
    [
        {"value": numpy_helper.from_array(np.arange(6, dtype=np.float16).reshape(2, 3))},
        {"value_float": 0.1},
        {"value_floats": [0.1, 2]},
        {"value_int": 2**40},
        {"value_ints": [1, -2]},
    ],
)
def test_constant(attrs: dict[str, Any]) -> None:
    check("Constant", [], attrs)


@given(shapes(), st.sampled_from([None, np.float16, np.int64, np.bool_]))
@settings(max_examples=20)
def test_constant_of_shape(shape: tuple[int, ...], dtype: Any) -> None:
    attrs = {} if dtype is None else {"value": numpy_helper.from_array(np.array([3], dtype))}
    check("ConstantOfShape", [np.array(shape, np.int64)], attrs)


@given(st.sampled_from([np.int16, np.int32, np.int64, np.float32, np.float64]), st.integers(-9, 9), st.integers(-9, 9), st.data())
@settings(max_examples=60)
def test_range(dtype: Any, start: int, limit: int, data: st.DataObject) -> None:
    delta = data.draw(st.sampled_from([1, 2, 3, -1, -2] if np.dtype(dtype).kind == "i" else [0.5, 1, 0.3, -0.7]))
    check("Range", [np.array(v, dtype) for v in (start, limit, delta)])


def test_range_of_sixteen_bits() -> None:
    check("Range", [np.array(v, np.float16) for v in (0, 10, 0.5)])


@given(full_shapes(1), MovedTypes, seeds())
@settings(max_examples=20)
def test_non_zero(shape: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    check("NonZero", [values(rng, shape, dtype) * (rng.random(shape) < 0.5)])


@given(st.data(), full_shapes(1, 3), st.sampled_from([np.int64, np.int32, np.uint8, np.float32]), seeds())
@settings(max_examples=30)
def test_one_hot(data: st.DataObject, shape: tuple[int, ...], dtype: Any, rng: np.random.Generator) -> None:
    depth = data.draw(st.integers(1, 4))
    low = 0 if np.dtype(dtype).kind == "u" else -depth
    indices = rng.integers(low, depth, shape).astype(dtype)
    kind = data.draw(st.sampled_from([np.float32, np.int64]))
    operands = [indices, np.array(depth), np.array([0, 1]).astype(kind)]
    check("OneHot", operands, {"axis": data.draw(st.integers(-len(shape) - 1, len(shape)))})


def test_one_hot_leaves_rows_out_of_range_off() -> None:
    operator = operators()["OneHot"]
    (found,) = operator.evaluate(operator.attributes(), (np.array([3, -4, 1]), np.array(3), np.array([5.0, 7.0])), 1)
    assert found.tolist() == [[5, 5, 5], [5, 5, 5], [5, 7, 5]]


@given(full_shapes(2, 2), st.sampled_from([None, 1, 7]), st.integers(-3, 3))
@settings(max_examples=20)
def test_eye_like(shape: tuple[int, ...], dtype: int | None, k: int) -> None:
    check("EyeLike", [np.zeros(shape, np.float16)], {"k": k} if dtype is None else {"k": k, "dtype": dtype})


@given(full_shapes(2, 4), st.sampled_from([np.float32, np.int64, np.bool_]), seeds(), st.integers(0, 1), st.none() | st.integers(-6, 6))
@settings(max_examples=30)
def test_trilu(shape: tuple[int, ...], dtype: object, rng: np.random.Generator, upper: int, k: int | None) -> None:
    check("Trilu", [values(rng, shape, dtype), *([] if k is None else [np.array(k)])], {"upper": upper})


@pytest.mark.parametrize("upper", [0, 1])
def test_trilu_with_a_diagonal_known_at_run_time(upper: int) -> None:
    """The mask compares with an operand whose contents the decomposition does not look at."""
    operator = operators()["Trilu"]
    assert isinstance(operator.lowering, Decompose)
    x, k = np.arange(1, 13).reshape(3, 4), np.array(-1)

    class Late(Evaluator):
        def node(self, op: str, inputs: Any, attrs: Any = None, **overrides: Any) -> Value:
            return super().node(op, [self.constant(k) if v is unknown else v for v in inputs], attrs, **overrides)

    evaluator = Late()
    unknown = Value(TensorType(I64, ()))
    (found,) = operator.lowering.build(evaluator, operator.attributes(upper), (evaluator.constant(x), unknown))
    assert found is not None
    np.testing.assert_array_equal(found.constant, np.triu(x, -1) if upper else np.tril(x, -1))


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "message"),
    [
        ("Constant", [], {}, "holds no tensor and no numbers"),
        ("ConstantOfShape", [np.array([-1])], {}, "does not allow negative sizes"),
        ("ConstantOfShape", [TensorType(I64, (2,))], {}, "'input' decides the result's shape"),
        ("ConstantOfShape", [np.array([2])], {"value": np.zeros(2, np.float32)}, r"value has shape \[2\]"),
        ("Range", [np.array(1), np.array(2), np.array(0)], {}, "a step other than 0"),
        ("Range", [np.array(1), np.array([2, 3]), np.array(1)], {}, r"'limit' has shape \[2\]"),
        ("NonZero", [TensorType(F32, (2,))], {}, "'X' decides the result's shape"),
        ("OneHot", [np.array([1]), np.array(3), np.array([1])], {}, r"'values' has shape \[1\]"),
        ("OneHot", [np.array([1]), np.array(-3), np.array([0, 1])], {}, "not negative"),
        ("EyeLike", [TensorType(F32, (2,))], {}, "requires a matrix"),
        ("Trilu", [TensorType(F32, (2,))], {}, "rank 2 at least"),
    ],
)
def test_refusals(name: str, operands: list[Any], attrs: dict[str, Any], message: str) -> None:
    operator = operators()[name]
    types = tuple(TensorType(I64, o.shape) if isinstance(o, np.ndarray) else o for o in operands)
    constants = tuple(o if isinstance(o, np.ndarray) else None for o in operands)
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes(**attrs), types, constants, 1))

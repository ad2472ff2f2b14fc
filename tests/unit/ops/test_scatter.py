from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import BOOL, F32, I64, TensorType
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.scatter_elements import MOST_KNOWN_ELEMENTS
from nautilus_cli.ops.scattering import REDUCTIONS
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import full_shapes, seeds, values
from tests.unit.ops.lowered import Evaluator
from tests.unit.ops.oracle import same

KINDS = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.int64, np.uint32, np.bool_)


def combine(reduction: str, old: Any, new: Any) -> Any:
    """One update, in Python's terms."""
    if reduction == "none":
        return new
    if isinstance(old, bool):
        return (old or new) if reduction in ("add", "max") else (old and new)
    with np.errstate(all="ignore"):
        return {"add": old + new, "mul": old * new, "max": np.maximum(old, new), "min": np.minimum(old, new)}[reduction]


def wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype in (np.float16, ml_dtypes.bfloat16) else array.copy()


def by_element(data: np.ndarray, indices: np.ndarray, updates: np.ndarray, axis: int, reduction: str) -> np.ndarray:
    """ScatterElements by the loop of its specification."""
    result = wide(data)
    for place in np.ndindex(indices.shape):
        target = list(place)
        target[axis] = int(indices[place])
        old = result[tuple(target)]
        result[tuple(target)] = combine(reduction, bool(old) if data.dtype == bool else old, wide(updates)[place])
    return result.astype(data.dtype)


def by_slice(data: np.ndarray, indices: np.ndarray, updates: np.ndarray, reduction: str) -> np.ndarray:
    """ScatterND by the loop of its specification."""
    result = wide(data)
    for place in np.ndindex(indices.shape[:-1]):
        target = tuple(int(i) for i in indices[place])
        old = result[target]
        if data.dtype == bool and reduction != "none":
            result[target] = (old | updates[place]) if reduction in ("add", "max") else (old & updates[place])
        else:
            result[target] = combine(reduction, old, wide(updates)[place])
    return result.astype(data.dtype)


def check(name: str, arrays: tuple[np.ndarray, ...], attrs: dict[str, Any], expected: np.ndarray, terms: int) -> list[str]:
    """Hold truth and lowering against the expected result; return the operators that are left when the indices are known."""
    operator = operators()[name]
    typed = operator.attributes(**attrs)
    (found,) = operator.evaluate(typed, arrays, 1)
    same(found, expected, terms=terms, depth=2)
    evaluator = Evaluator()
    (value,) = evaluator.apply(operator, typed, tuple(evaluator.constant(a) for a in arrays), 1)
    assert value.constant is not None
    same(value.constant, expected, terms=terms, depth=2)
    return evaluator.reached


@given(st.data(), full_shapes(1, 3), st.sampled_from(KINDS), st.sampled_from(REDUCTIONS), seeds(), st.booleans())
@settings(max_examples=150)
def test_elements(
    data: st.DataObject, shape: tuple[int, ...], dtype: object, reduction: str, rng: np.random.Generator, is_narrow: bool
) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    reached = tuple(data.draw(st.integers(1, d)) if is_narrow else d for d in shape)
    reached = tuple(data.draw(st.integers(1, 6)) if a == axis % len(shape) else d for a, d in enumerate(reached))
    indices = rng.integers(-shape[axis], shape[axis], reached).astype(data.draw(st.sampled_from([np.int32, np.int64])))
    x, updates = values(rng, shape, dtype), values(rng, reached, dtype)
    expected = by_element(x, indices, updates, axis % len(shape), reduction)
    check("ScatterElements", (x, indices, updates), {"axis": axis, "reduction": reduction}, expected, reached[axis])
    if reduction == "none":
        check("Scatter", (x, indices, updates), {"axis": axis}, expected, 1)


@given(st.data(), full_shapes(1, 4), st.sampled_from(KINDS), st.sampled_from(REDUCTIONS), seeds())
@settings(max_examples=150)
def test_slices(data: st.DataObject, shape: tuple[int, ...], dtype: object, reduction: str, rng: np.random.Generator) -> None:
    chosen = data.draw(st.integers(1, len(shape)))
    sets = data.draw(full_shapes(0, 2))
    indices = np.stack([rng.integers(-d, d, sets) for d in shape[:chosen]], -1)
    x, updates = values(rng, shape, dtype), values(rng, (*sets, *shape[chosen:]), dtype)
    expected = by_slice(x, indices, updates, reduction)
    check("ScatterND", (x, indices, updates), {"reduction": reduction}, expected, int(np.prod(sets)))


def test_the_last_of_several_updates_wins() -> None:
    x, updates = np.zeros(5000, np.float32), np.arange(1, 100001, dtype=np.float32)
    indices = np.random.default_rng(0).integers(0, 5000, 100000)
    expected = x.copy()
    for place, update in zip(indices.tolist(), updates.tolist(), strict=True):
        expected[place] = update
    check("ScatterElements", (x, indices, updates), {}, expected, 1)
    check("ScatterND", (x, indices[:, None], updates), {}, expected, 1)


def test_sixteen_bit_sums_are_rounded_once() -> None:
    x, indices, updates = np.array([2048], np.float16), np.zeros(4, np.int64), np.ones(4, np.float16)
    (found,) = operators()["ScatterElements"].evaluate(operators()["ScatterElements"].attributes(reduction="add"), (x, indices, updates), 1)
    assert found.tolist() == [2052]


def test_nan_propagates() -> None:
    x, indices = np.array([1, np.nan], np.float32), np.array([[0], [1]])
    for reduction in ("add", "mul", "max", "min"):
        attrs = operators()["ScatterND"].attributes(reduction)
        (found,) = operators()["ScatterND"].evaluate(attrs, (x, indices, np.array([np.nan, 2], np.float32)), 1)
        assert np.isnan(found).all()


@pytest.mark.parametrize(
    ("indices", "left"),
    [
        ([[1], [2], [3]], ["Reshape", "Concat"]),  # a run of neighbours only joins
        ([[0], [2], [0]], ["Gather", "Where"]),
        ([[3], [2], [1], [0]], ["Gather"]),  # all are replaced
    ],
)
def test_known_slices_need_no_scatter(indices: list[list[int]], left: list[str]) -> None:
    x, places = np.arange(8, dtype=np.float32).reshape(4, 2), np.array(indices)
    updates = -np.arange(2 * len(indices), dtype=np.float32).reshape(-1, 2)
    reached = check("ScatterND", (x, places, updates), {}, by_slice(x, places, updates, "none"), 1)
    assert "ScatterND" not in reached
    assert set(left) - {"Reshape"} <= set(reached)


def test_known_indices_that_differ_by_column_are_a_table_while_it_is_small() -> None:
    for rows, is_table in ((100, True), (MOST_KNOWN_ELEMENTS // 2 + 1, False)):
        x, indices, updates = np.zeros((rows, 2), np.int8), np.array([[0, 1], [2, 3]]), np.ones((2, 2), np.int8)
        reached = check("ScatterElements", (x, indices, updates), {}, by_element(x, indices, updates, 0, "none"), 1)
        assert ("GatherElements" in reached) == is_table
        assert ("ScatterElements" in reached) == (not is_table)


def test_known_sums_into_one_place_stay_a_scatter() -> None:
    x, indices, updates = np.zeros((4, 2), np.float32), np.array([[1], [1]]), np.ones((2, 2), np.float32)
    assert "ScatterND" in check(
        "ScatterND", (x, indices, updates), {"reduction": "add"}, np.array([[0, 0], [2, 2], [0, 0], [0, 0]], np.float32), 2
    )


def test_no_updates_leave_the_data() -> None:
    x = np.arange(6, dtype=np.int64).reshape(2, 3)
    empty = np.zeros((0, 3), np.int64)
    assert check("ScatterElements", (x, empty, empty), {"reduction": "add"}, x, 1) == []
    assert check("ScatterND", (x, np.zeros((0, 1), np.int64), empty), {}, x, 1) == []


def test_unknown_indices_stay_a_scatter_of_what_they_cover() -> None:
    for shape, left in (((2, 4), None), ((2, 3), ["Slice", "ScatterElements", "Slice", "Concat"])):
        builder = GraphBuilder()
        types = (TensorType(F32, (3, 4)), TensorType(I64, shape), TensorType(F32, shape))
        operands = tuple(builder.input(name, type_) for name, type_ in zip("xiu", types, strict=True))
        operator = operators()["ScatterElements"]
        assert operator.normalise is not None
        results = operator.normalise(builder, operator.attributes(), operands)
        assert (results is None) == (left is None)
        assert [node.op for node in builder.nodes] == (left or [])


@pytest.mark.parametrize(
    ("name", "attrs", "shapes", "message"),
    [
        ("ScatterElements", {"reduction": "mean"}, ((2,), (1,), (1,)), "reduction is 'mean'; the specification allows 'none', 'add'"),
        ("ScatterElements", {"axis": 1}, ((2,), (1,), (1,)), "axis is 1"),
        ("ScatterElements", {}, ((2, 3), (1,), (1,)), "requires equal rank"),
        ("ScatterElements", {}, ((2, 3), (1, 4), (1, 4)), "no larger size except along axis 0"),
        ("ScatterElements", {}, ((2, 3), (1, 3), (2, 3)), r"'updates' has shape \[2, 3\]; the specification requires that of 'indices'"),
        ("ScatterND", {}, ((2, 3), (4, 3), (4,)), "1 to 2 indices in the last dimension"),
        ("ScatterND", {}, ((2, 3), (4, 0), (4, 2, 3)), "1 to 2 indices in the last dimension"),
        ("ScatterND", {}, ((2, 3), (4, 1), (4, 2)), r"'updates' has shape \[4, 2\]; the specification requires \[4, 3\]"),
        ("ScatterND", {"reduction": "avg"}, ((2,), (1, 1), (1,)), "reduction is 'avg'"),
    ],
)
def test_refusals(name: str, attrs: dict[str, Any], shapes: tuple[tuple[int, ...], ...], message: str) -> None:
    types = tuple(TensorType(dtype, shape) for dtype, shape in zip((F32, I64, F32), shapes, strict=True))
    with pytest.raises(ModelError, match=message):
        operators()[name].infer(Inference(operators()[name].attributes(**attrs), types, (None,) * 3, 1))


def test_refused_operands() -> None:
    types = (TensorType(F32, (4,)), TensorType(I64, (1,)), TensorType(BOOL, (1,)))
    with pytest.raises(ModelError, match="operand 'updates' has type bool"):
        operators()["ScatterElements"].infer(Inference(operators()["ScatterElements"].attributes(), types, (None,) * 3, 1))
    types = (TensorType(F32, (4,)), TensorType(I64, (1,)), TensorType(F32, (1,)))
    with pytest.raises(ModelError, match="index 4 is outside a dimension of 4"):
        operators()["Scatter"].infer(Inference(operators()["Scatter"].attributes(), types, (None, np.array([4]), None), 1))

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.ops.gather import Progression, as_slice
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import MovedTypes, full_shapes, seeds, values
from tests.unit.ops.oracle import check, onnxruntime_says

Indices = st.sampled_from([np.int32, np.int64])


@given(st.data(), full_shapes(1), full_shapes(0, 2), MovedTypes, Indices, seeds())
@settings(max_examples=40)
def test_gather(
    data: st.DataObject, shape: tuple[int, ...], places: tuple[int, ...], dtype: object, kind: Any, rng: np.random.Generator
) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    indices = np.asarray(rng.integers(-shape[axis], shape[axis], places)).astype(kind)
    check("Gather", [values(rng, shape, dtype), indices], {"axis": axis})


@given(st.data(), full_shapes(1), MovedTypes, Indices, seeds())
@settings(max_examples=40)
def test_gather_elements(data: st.DataObject, shape: tuple[int, ...], dtype: object, kind: Any, rng: np.random.Generator) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    places = [data.draw(st.integers(1, d)) for d in shape]
    places[axis] = data.draw(st.integers(1, 6))
    indices = rng.integers(-shape[axis], shape[axis], places).astype(kind)
    check("GatherElements", [values(rng, shape, dtype), indices], {"axis": axis}, oracle=onnxruntime_says)


@given(st.data(), full_shapes(1), full_shapes(0, 2), MovedTypes, seeds())
@settings(max_examples=60)
def test_gather_nd(data: st.DataObject, shape: tuple[int, ...], sets: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    batch = data.draw(st.integers(0, len(shape) - 1))
    depth = data.draw(st.integers(1, len(shape) - batch))
    columns = [rng.integers(-shape[batch + n], shape[batch + n], (*shape[:batch], *sets)) for n in range(depth)]
    check("GatherND", [values(rng, shape, dtype), np.stack(columns, -1)], {"batch_dims": batch})


@given(st.integers(1, 9), st.lists(st.integers(-9, 8), min_size=1, max_size=5))
def test_progressions(size: int, numbers: list[int]) -> None:
    indices = np.array([n % size for n in numbers])
    found = as_slice(indices, size)
    if found is not None:
        assert indices.tolist() == [found.start + i * found.step for i in range(found.count)]
        assert found.step != 0
    else:
        assert len(set(np.diff(indices).tolist())) != 1 or indices[0] == indices[1]


@pytest.mark.parametrize(
    ("indices", "expected"),
    [
        (3, Progression(3, 1, 1)),
        ([-1], Progression(4, 1, 1)),
        ([1, 3], Progression(1, 2, 2)),
        ([[4, 3], [2, 1]], Progression(4, -1, 4)),
        ([-1, 0], Progression(4, -4, 2)),
        ([1, 1], None),
        ([0, 1, 3], None),
    ],
)
def test_known_progressions(indices: object, expected: Progression | None) -> None:
    assert as_slice(np.array(indices), 5) == expected


def test_index_out_of_range_is_refused_at_compile_time() -> None:
    for name, known in (("Gather", [5]), ("Gather", [-6]), ("GatherElements", [5]), ("GatherND", [[5]])):
        operator = operators()[name]
        indices = np.array(known)
        types = (TensorType(F32, (5,)), TensorType(I64, indices.shape))
        with pytest.raises(ModelError, match=r"index -?[56] is outside a dimension of 5; the specification allows -5 to 4"):
            operator.infer(Inference(operator.attributes(), types, (None, indices), 1))


@pytest.mark.parametrize(
    ("name", "types", "attrs", "message"),
    [
        ("Gather", [TensorType(F32, (5,)), TensorType(F32, (2,))], {}, "'indices' has type f32; the specification allows i32, i64"),
        ("Gather", [TensorType(F32, (5,)), TensorType(I64, (2,))], {"axis": 1}, "axis is 1"),
        ("GatherElements", [TensorType(F32, (5, 2)), TensorType(I64, (2, 3))], {}, "no larger size except along axis 0"),
        ("GatherElements", [TensorType(F32, (5, 2)), TensorType(I64, (2,))], {}, "requires equal rank"),
        ("GatherND", [TensorType(F32, (5, 2)), TensorType(I64, (2, 3))], {}, "and the last one 1 to 2"),
        ("GatherND", [TensorType(F32, (5, 2)), TensorType(I64, (2, 1))], {"batch_dims": 1}, "the first 1 dimensions must be equal"),
        ("GatherND", [TensorType(F32, (5, 2)), TensorType(I64, (2, 1))], {"batch_dims": 2}, "batch_dims below both"),
    ],
)
def test_refusals(name: str, types: list[TensorType], attrs: dict[str, Any], message: str) -> None:
    operator = operators()[name]
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes(**attrs), tuple(types), (None,) * len(types), 1))


@pytest.mark.parametrize(
    ("indices", "found"),
    [
        ([0, 1, 2], Progression(0, 1, 3)),
        ([2, 1, 0], Progression(2, -1, 3)),
        ([-1], Progression(-1, 1, 1)),
        ([-3, -1], Progression(-3, 2, 2)),
        ([-1, -2], None),
        ([-1, 0], None),
        ([0, 3], None),
        ([-4], None),
    ],
)
def test_a_slice_of_an_open_dimension_is_one_at_every_size(indices: list[int], found: Progression | None) -> None:
    assert as_slice(np.array(indices), symbol("n", 3, 9)) == found

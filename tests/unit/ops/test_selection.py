"""Compress, Unique and ReverseSequence."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import BOOL, F32, I64, TensorType
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import HostOnly, Inference
from tests.unit.ops.drawing import MovedTypes, full_shapes, seeds, shapes, values
from tests.unit.ops.oracle import check, onnxruntime_says


@given(st.data(), shapes(1), MovedTypes, seeds())
@settings(max_examples=60)
def test_compress(data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    x = values(rng, shape, dtype)
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1))
    extent = x.size if axis is None else shape[axis]
    condition = rng.random(data.draw(st.integers(0, extent))) < 0.5
    check("Compress", [x, condition], {} if axis is None else {"axis": axis})


@given(
    st.data(), full_shapes(1, 3), st.sampled_from([np.float32, np.int64, np.uint8, np.float16, ml_dtypes.bfloat16]), st.booleans(), seeds()
)
@settings(max_examples=60)
def test_unique(data: st.DataObject, shape: tuple[int, ...], dtype: object, is_sorted: bool, rng: np.random.Generator) -> None:
    x = rng.integers(0, 3, shape).astype(dtype)
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1))
    attrs = {"sorted": int(is_sorted)} | ({} if axis is None else {"axis": axis})
    if dtype in (np.float32, np.int64):  # of those that onnxruntime knows
        check("Unique", [x], attrs, outputs=4, oracle=onnxruntime_says)
    operator = operators()["Unique"]
    found, first, inverse, counts = operator.evaluate(operator.attributes(**attrs), (x,), 4)
    lines = x.reshape(-1) if axis is None else x
    np.testing.assert_array_equal(lines.take(first, axis or 0), found)
    np.testing.assert_array_equal(found.take(inverse, axis or 0), lines)
    assert counts.sum() == inverse.size
    if not is_sorted:
        assert (np.diff(first) > 0).all()


def test_unique_is_for_the_host() -> None:
    assert isinstance(operators()["Unique"].lowering, HostOnly)
    assert len(operators()["Unique"].evaluate(operators()["Unique"].attributes(), (np.array([2, 2]),), 2)) == 2


@given(st.data(), shapes(2, 4), MovedTypes, st.booleans(), seeds())
@settings(max_examples=60)
def test_reverse_sequence(
    data: st.DataObject, shape: tuple[int, ...], dtype: object, is_batch_first: bool, rng: np.random.Generator
) -> None:
    batch_axis = 0 if is_batch_first else 1
    lengths = rng.integers(0, shape[1 - batch_axis] + 1, shape[batch_axis])
    x = values(rng, shape, dtype)
    expected = x.copy()
    for number, length in enumerate(lengths.tolist()):
        if is_batch_first:
            expected[number, :length] = x[number, :length][::-1]
        else:
            expected[:length, number] = x[:length, number][::-1]
    attrs = {"batch_axis": batch_axis, "time_axis": 1 - batch_axis}
    check("ReverseSequence", [x, lengths], attrs, oracle=lambda *_: [expected])


@pytest.mark.parametrize(
    ("name", "attrs", "operands", "message"),
    [
        ("Compress", {}, (TensorType(F32, (4,)), TensorType(BOOL, (4,))), "'condition' decides the result's shape"),
        (
            "Compress",
            {"axis": 0},
            (TensorType(F32, (2, 3)), np.ones(3, bool)),
            r"shape \[3\]; the specification requires a vector of up to 2",
        ),
        ("Compress", {"axis": 2}, (TensorType(F32, (2, 3)), np.ones(2, bool)), "axis is 2"),
        ("Compress", {}, (TensorType(F32, (2, 3)), np.ones((2, 3), bool)), "requires a vector"),
        ("Compress", {}, (TensorType(F32, (4,)), TensorType(I64, (4,))), "'condition' has type i64"),
        ("Unique", {}, (TensorType(F32, (4,)),), "'X' decides the result's shape"),
        ("Unique", {"axis": 1}, (np.ones(3),), "axis is 1"),
        (
            "ReverseSequence",
            {"batch_axis": 1, "time_axis": 1},
            (TensorType(F32, (2, 3)), TensorType(I64, (3,))),
            "requires 0 and 1, or 1 and 0",
        ),
        ("ReverseSequence", {}, (TensorType(F32, (2,)), TensorType(I64, (2,))), "of rank 2 at least"),
        ("ReverseSequence", {}, (TensorType(F32, (2, 3)), TensorType(I64, (2,))), r"has shape \[2\]; one for each of 3"),
        ("ReverseSequence", {}, (TensorType(F32, (2, 3)), np.array([1, 2, 3])), "a sequence of 2 steps allows 0 to 2"),
    ],
)
def test_refusals(name: str, attrs: dict[str, Any], operands: tuple[Any, ...], message: str) -> None:
    types = tuple(TensorType(BOOL if o.dtype == bool else I64, o.shape) if isinstance(o, np.ndarray) else o for o in operands)
    constants = tuple(o if isinstance(o, np.ndarray) else None for o in operands)
    with pytest.raises(ModelError, match=message):
        operators()[name].infer(Inference(operators()[name].attributes(**attrs), types, constants, 1))

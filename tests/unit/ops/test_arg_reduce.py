from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import BOOL, F16, F32, I64, U32, U64, DType, TensorType
from nautilus_cli.ops.arg_key import ArgIndexAttrs, ArgKeyAttrs
from nautilus_cli.ops.arg_reduce import ArgReduceAttrs
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import FLOATS, INTEGERS, full_shapes, seeds, values
from tests.unit.ops.lowered import lowered
from tests.unit.ops.oracle import check


def few(rng: np.random.Generator, shape: tuple[int, ...], dtype: object) -> np.ndarray:
    """Values of which several are equal, zeros of either sign among them."""
    return np.asarray(rng.choice(np.array([-2, -1, -0.0, 0, 1, 2]), shape)).astype(dtype)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["ArgMax", "ArgMin"])
@given(st.data(), full_shapes(1), st.sampled_from((*FLOATS, *INTEGERS)), seeds(), st.booleans(), st.booleans())
@settings(max_examples=60)
def test_where_the_extreme_is(
    name: str, data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator, keepdims: bool, last: bool
) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = few(rng, shape, dtype) if data.draw(st.booleans()) and np.dtype(dtype).kind != "u" else values(rng, shape, dtype)
    check(name, [x], {"axis": axis, "keepdims": int(keepdims), "select_last_index": int(last)})


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["ArgMax", "ArgMin"])
def test_nan_is_extreme(name: str, dtype: object) -> None:
    x = np.array([[1, np.nan, np.inf, np.nan, 0], [-np.inf, -np.inf, 1, np.inf, np.inf], [-np.nan, 1, 2, 3, 4]]).astype(dtype)  # type: ignore[call-overload]
    expected = {"ArgMax": ([1, 3, 0], [3, 4, 0]), "ArgMin": ([1, 0, 0], [3, 1, 0])}[name]
    for last in (0, 1):
        attrs = ArgReduceAttrs(axis=1, keepdims=0, select_last_index=last)
        for (found,) in (operators()[name].evaluate(attrs, (x,), 1), lowered(operators()[name], attrs, [x], 1)):
            assert found.tolist() == expected[last]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float64, np.int32, np.uint32])
def test_neighbouring_values_are_told_apart(dtype: object) -> None:
    kind = np.dtype(dtype)  # type: ignore[call-overload]
    if kind.kind == "f":
        x = np.array([1, np.nextafter(1, 2), 1], kind)
        expected = [1, 0]
    else:
        limits = np.iinfo(kind)
        x = np.array([limits.max - 1, limits.max, limits.min + 1, limits.min, limits.max], kind)
        expected = [1, 3]
    for name, place in zip(("ArgMax", "ArgMin"), expected, strict=True):
        (found,) = lowered(operators()[name], ArgReduceAttrs(), [x], 1)
        assert found.tolist() == [place]


@given(st.data(), full_shapes(1), st.sampled_from(FLOATS), seeds())
@settings(max_examples=40)
def test_hardmax(data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    check("Hardmax", [few(rng, shape, dtype)], {"axis": axis})


def test_hardmax_of_nothing() -> None:
    (found,) = lowered(operators()["Hardmax"], operators()["Hardmax"].attributes(), [np.zeros((2, 0), np.float32)], 1)
    assert found.shape == (2, 0)


@pytest.mark.parametrize(
    ("name", "type_", "axis", "message"),
    [
        ("ArgMax", TensorType(F32, (2, 3)), 2, "for a tensor of rank 2 the specification allows -2 to 1"),
        ("ArgMin", TensorType(BOOL, (2,)), 0, "operand 'data' has type bool"),
        ("ArgMax", TensorType(F32, (2, 0)), 1, r"shape \[2, 0\]: along axis 1 there is no element"),
        ("Hardmax", TensorType(I64, (2,)), 0, "operand 'input' has type i64"),
    ],
)
def test_refusals(name: str, type_: TensorType, axis: int, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        operators()[name].infer(Inference(operators()[name].attributes(axis=axis), (type_,), (None,), 1))


@pytest.mark.parametrize("dtype", [F16, F32, U64])
def test_keys_leave_room_for_the_place(dtype: DType) -> None:
    inference = Inference(ArgKeyAttrs(), (TensorType(dtype, (2, 3)), TensorType(U32, (3,))), (None, None), 1)
    if dtype == U64:
        with pytest.raises(ModelError, match="operand 'X' has type u64"):
            operators()["nautilus::ArgKey"].infer(inference)
    else:
        assert operators()["nautilus::ArgKey"].infer(inference) == (TensorType(U64, (2, 3)),)


def test_the_place_comes_back() -> None:
    places = np.array([0, 1, 2**32 - 1], np.uint32)
    for last in (0, 1):
        (keys,) = operators()["nautilus::ArgKey"].evaluate(ArgKeyAttrs(0, last), (np.ones(3, np.float32), places), 1)
        (found,) = operators()["nautilus::ArgIndex"].evaluate(ArgIndexAttrs(last), (keys,), 1)
        assert found.tolist() == places.tolist()
        assert np.argmax(keys) == (2 if last else 0)

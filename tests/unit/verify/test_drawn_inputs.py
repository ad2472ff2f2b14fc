"""Drawn and given inputs."""

from __future__ import annotations

import re
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from nautilus_cli.errors import UsageError
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.types import BF16, BOOL, F16, F32, I8, I64, NARROW, U8, DType, TensorType
from nautilus_cli.verify.inputs import check_given, draw


def value(*shape: int, dtype: DType = F32) -> Value:
    return Value(TensorType(dtype, shape))


def graph_of(**inputs: Value) -> Graph:
    return Graph(tuple(inputs.items()), (), ())


def drawn(dtype: DType, *shape: int) -> np.ndarray:
    return draw(graph_of(x=value(*shape, dtype=dtype)), 0, {})["x"].array


@pytest.mark.parametrize("dtype", [F32, F16, BF16])
def test_floats_are_standard_normal(dtype: DType):
    values = drawn(dtype, 100, 100)
    assert values.dtype == dtype.numpy
    assert abs(float(values.astype(np.float64).mean())) < 0.05
    assert abs(float(values.astype(np.float64).std()) - 1) < 0.05


def test_integers_and_booleans_take_their_usual_values():
    assert set(np.unique(drawn(I64, 1000))) == set(range(10))
    assert drawn(U8, 10000).min() == 0
    assert drawn(U8, 10000).max() == 255
    assert drawn(I8, 10000).min() == -128
    assert set(np.unique(drawn(BOOL, 100))) == {False, True}


def test_scalars_and_empty_inputs():
    assert drawn(F32).shape == ()
    assert drawn(I64).shape == ()
    assert drawn(F32, 0, 3).shape == (0, 3)


def test_indices_and_masks_by_use():
    ids, table, mask, flags = value(8, 16, dtype=I64), value(50, 4), value(8, 16, dtype=I64), value(8, 16, dtype=BOOL)
    nodes = (
        Node("Gather", (table, ids), (value(8, 16, 4),), SimpleNamespace(axis=0)),
        Node("Cast", (mask,), (flags,), SimpleNamespace()),
    )
    inputs = draw(Graph((("ids", ids), ("mask", mask)), (), nodes), 0, {})
    assert inputs["ids"].array.min() >= 0
    assert 40 < inputs["ids"].array.max() < 50
    assert inputs["ids"].description == "indices 0..49"
    assert set(np.unique(inputs["mask"].array)) == {0, 1}
    assert (inputs["mask"].array[:, 0] == 1).all()
    assert inputs["mask"].array.dtype == np.int64


def test_the_same_seed_gives_the_same_inputs_and_each_input_its_own():
    one, two = graph_of(a=value(9)), graph_of(a=value(9), b=value(9))
    first, again, other = draw(two, 1, {}), draw(two, 1, {}), draw(two, 2, {})
    np.testing.assert_array_equal(first["a"].array, again["a"].array)
    assert not np.array_equal(first["a"].array, other["a"].array)
    assert not np.array_equal(first["a"].array, first["b"].array)
    np.testing.assert_array_equal(draw(one, 1, {})["a"].array, first["a"].array)


def test_a_range_outranks_the_rest():
    graph = graph_of(ids=value(1000, dtype=I64), x=value(1000), flag=value(100, dtype=BOOL))
    inputs = draw(graph, 0, {"ids": (-3, 3), "x": (2.0, 2.5), "flag": (1, 1)})
    assert set(np.unique(inputs["ids"].array)) == set(range(-3, 4))
    assert inputs["x"].array.min() >= 2
    assert inputs["x"].array.max() <= 2.5
    assert inputs["flag"].array.all()


@pytest.mark.parametrize(
    ("dtype", "limits", "message"),
    [
        (I64, (3, 1), "empty"),
        (I64, (0.5, 1), "no integer"),
        (U8, (0, 256), "0 to 255"),
        (BOOL, (0, 2), "0 to 1"),
    ],
)
def test_ranges_that_cannot_be_drawn(dtype: DType, limits: tuple[float, float], message: str):
    with pytest.raises(UsageError, match=message):
        draw(graph_of(x=value(2, dtype=dtype)), 0, {"x": limits})


def test_a_range_for_an_unknown_input_lists_the_nearest():
    with pytest.raises(UsageError, match="Known: ids"):
        draw(graph_of(ids=value(2, dtype=I64)), 0, {"idz": (0, 1)})


GIVEN = graph_of(x=value(2, 3), ids=value(2, dtype=I64))


def test_given_inputs_come_in_the_order_of_the_model():
    arrays = {"ids": np.array([1, 2]), "x": np.zeros((3, 2), np.float32).T}
    checked = check_given(arrays, GIVEN, "x.npz")
    assert list(checked) == ["x", "ids"]
    assert checked["x"].flags.c_contiguous


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros((2, 3), np.float32)}, "lacks the input 'ids'"),
        ({"x": np.zeros((2, 3), np.float32), "ids": np.zeros(2, np.int64), "idx": np.zeros(1)}, "no input 'idx'. Known: ids"),
        ({"x": np.zeros((2, 3)), "ids": np.zeros(2, np.int64)}, r"float64\[2, 3\]; the model takes float32\[2, 3\]"),
        ({"x": np.zeros((3, 2), np.float32), "ids": np.zeros(2, np.int64)}, r"float32\[3, 2\]"),
    ],
)
def test_given_inputs_that_do_not_fit(arrays: dict[str, np.ndarray], message: str):
    with pytest.raises(UsageError, match=message) as caught:
        check_given(arrays, GIVEN, "x.npz")
    assert re.match(r"x\.npz: ", str(caught.value))


def test_bfloat16_is_given_as_its_bits():
    values = np.array([1.5, -2], ml_dtypes.bfloat16)
    graph = graph_of(x=value(2, dtype=BF16))
    np.testing.assert_array_equal(check_given({"x": values.view(np.uint16)}, graph, "x.npz")["x"], values)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_narrow_types_are_drawn_and_given_as_their_bits(dtype: DType):
    graph = graph_of(x=value(400, dtype=dtype))
    drawn = draw(graph, 1, {})["x"].array
    assert drawn.dtype == dtype.numpy
    codes = drawn.view(np.uint8)
    assert codes.max() < 1 << dtype.bits
    assert not dtype.is_float or np.isfinite(drawn.astype(np.float32)).all()
    assert dtype.is_float or len(np.unique(codes)) == 1 << dtype.bits
    np.testing.assert_array_equal(check_given({"x": codes}, graph, "x.npz")["x"].view(np.uint8), codes)

"""Indices of values that are the same within rounding: either is right. Of other integers none is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

from nautilus_cli.frontend.load import load
from nautilus_cli.numerics import EXACT
from nautilus_cli.verify.check import Settings, verify
from nautilus_cli.verify.report import Report
from tests.e2e import networks

ROWS, COLUMNS = 2, 6


def network(*nodes: NodeProto, output: tuple[int, ...], dtype: int = TensorProto.INT64, **weights: np.ndarray) -> ModelProto:
    """The nodes, after a product with one: its error makes a tie."""
    first = helper.make_node("MatMul", ["x", "one"], ["scores"], "product")
    weights = {"one": np.eye(COLUMNS, dtype=np.float32), **weights}
    return networks.model([first, *nodes], [networks.port("x", ROWS, COLUMNS)], [networks.port("y", *output, dtype=dtype)], weights)


def best(**attributes: int) -> NodeProto:
    return helper.make_node("ArgMax", ["scores"], ["y"], "choose", axis=1, **attributes)


def scores(gap: float) -> np.ndarray:
    """Rows whose greatest element is the second one, by GAP before the fifth, which is by GAP before the first."""
    x = np.full((ROWS, COLUMNS), 0.25, np.float32)
    x[:, 1], x[:, 4], x[:, 0] = 1 + gap, 1, 1 - gap
    return x


def found(model: ModelProto, y: np.ndarray, gap: float, folder: Path) -> Report:
    path = networks.saved(model, folder / "model.onnx")
    np.savez(folder / "x.npz", x=scores(gap))
    return verify(path, load(path).graph, lambda _: {"y": y}, Settings(inputs=folder / "x.npz", fp32_mode="ffma"))


@pytest.mark.parametrize("keepdims", [0, 1])
def test_the_other_of_two_equals(keepdims: int, tmp_path: Path):
    shape = (ROWS, 1) if keepdims else (ROWS,)
    model = network(best(keepdims=keepdims), output=shape)
    result = found(model, np.array([4, 1]).reshape(shape), 2.0**-23, tmp_path)
    assert result.is_match
    assert result.comparisons["y"].tolerance == EXACT
    assert result.notes == ("output 'y': 1 indices name another element of the same value within rounding.",)


def test_an_element_that_is_less(tmp_path: Path):
    model = network(best(keepdims=0), output=(ROWS,))
    assert found(model, np.array([1, 1]), 1e-3, tmp_path).is_match
    result = found(model, np.array([4, 1]), 1e-3, tmp_path)
    assert result.comparisons["y"].failures == 1
    assert result.notes == ()


def test_an_index_that_is_none(tmp_path: Path):
    model = network(best(keepdims=0), output=(ROWS,))
    assert found(model, np.array([4, COLUMNS]), 2.0**-23, tmp_path).comparisons["y"].failures == 1
    assert found(model, np.array([-2, 1]), 2.0**-23, tmp_path).comparisons["y"].failures == 1


def test_behind_what_keeps_the_order(tmp_path: Path):
    cast = helper.make_node("Cast", ["found"], ["small"], "cast", to=TensorProto.INT32)
    chosen = helper.make_node("ArgMin", ["negative"], ["found"], "choose", axis=1, keepdims=1)
    nodes = [helper.make_node("Neg", ["scores"], ["negative"]), chosen, cast, helper.make_node("Squeeze", ["small"], ["y"])]
    model = network(*nodes, output=(ROWS,), dtype=TensorProto.INT32)
    assert found(model, np.array([1, 4], np.int32), 2.0**-23, tmp_path).is_match
    assert not found(model, np.array([1, 2], np.int32), 2.0**-23, tmp_path).is_match


@pytest.mark.parametrize(
    ("indices", "is_match"),
    [([1, 4, 0], True), ([4, 1, 0], True), ([0, 4, 1], True), ([4, 4, 0], False), ([1, 4, 2], False), ([1, 1, 1], False)],
)
def test_the_greatest_few(indices: list[int], is_match: bool, tmp_path: Path):
    """Any order of equals, and none of them twice."""
    node = helper.make_node("TopK", ["scores", "three"], ["values", "y"], "choose", axis=1)
    model = network(node, output=(ROWS, 3), three=np.array([3]))
    assert found(model, np.array([[1, 4, 0], indices]), 2.0**-23, tmp_path).is_match is is_match


def test_another_integer_that_hangs_on_a_rounding(tmp_path: Path):
    """A count of elements from a threshold on."""
    nodes = [
        helper.make_node("GreaterOrEqual", ["scores", "threshold"], ["above"]),
        helper.make_node("Cast", ["above"], ["y"], "cast", to=TensorProto.INT64),
    ]
    model = network(*nodes, output=(ROWS, COLUMNS), threshold=np.float32(1))
    expected = (scores(2.0**-23) >= 1).astype(np.int64)
    assert found(model, expected, 2.0**-23, tmp_path).is_match
    expected[0, 0] = 1
    assert found(model, expected, 2.0**-23, tmp_path).comparisons["y"].failures == 1

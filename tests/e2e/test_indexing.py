"""Scatters, scans, selections and contractions in one network, with work fused around them, held against the operators' truths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.errors import UsageError
from tests.e2e.every_order import Sketch, check_every_order
from tests.e2e.networks import model


def arg_reductions(s: Sketch) -> None:
    half = s.node("Add", s.floats(3, 17, 5, dtype=np.float16), s.floats(5, dtype=np.float16))
    s.node("ArgMax", half, axis=1, keepdims=0)
    s.node("ArgMin", s.integers(-9, 9, 4, 33), axis=-1, select_last_index=1)
    s.node("ArgMax", s.floats(6, 7, dtype=np.float64), axis=0)
    s.node("Hardmax", s.floats(2, 5, 9), axis=1)


def scatters(s: Sketch) -> None:
    for number, reduction in enumerate(("none", "add", "mul", "max", "min")):
        data, updates = s.floats(2, 13, 6), s.node("Neg", s.floats(2, 5, 6))
        indices = s.integers(-13, 13, 2, 5, 6, dtype=np.int32 if number % 2 else np.int64)
        s.node("Relu", s.node("ScatterElements", data, indices, updates, axis=1, reduction=reduction))
        s.node("ScatterND", s.floats(4, 5, 8), s.integers(-4, 4, 3, 2), s.floats(3, 8), reduction=reduction)
        s.node("ScatterND", s.integers(-99, 99, 30), s.integers(0, 30, 70, 1), s.integers(-9, 9, 70), reduction=reduction)
    # Indices that one dimension repeats, as scatter_add of graph networks has them: the columns share them.
    shared = s.node("Expand", s.integers(0, 20, 50, 1), s.constant([50, 16]))
    zeros = s.node("ConstantOfShape", s.constant([20, 16]), value=numpy_helper.from_array(np.zeros(1, np.float32)))
    s.node("ScatterElements", zeros, shared, s.floats(50, 16), axis=0, reduction="add")
    s.node("ScatterElements", s.floats(7, 9), s.integers(0, 9, 4, 3), s.floats(4, 3), axis=1)
    s.node("ScatterElements", s.floats(3, 40, dtype=np.float16), s.integers(0, 40, 3, 6), s.floats(3, 6, dtype=np.float16), axis=1)
    s.node("ScatterND", s.floats(9, 4), s.constant([[2], [7], [2]]), s.floats(3, 4))
    s.node("ScatterND", s.floats(9, 4), s.constant([[3], [4]]), s.floats(2, 4), reduction="add")
    flags = s.node("Less", s.floats(12), s.constant(np.float32(0)))
    s.node("ScatterElements", flags, s.integers(0, 12, 4), s.node("Not", s.node("Less", s.floats(4), s.constant(np.float32(0)))))


def scans(s: Sketch) -> None:
    s.node("Sqrt", s.node("Abs", s.node("CumSum", s.node("Abs", s.floats(3, 50)), s.constant(1))))
    s.node("CumSum", s.floats(40, 6, dtype=np.float16), s.constant(0), reverse=1)
    s.node("CumSum", s.integers(-9, 9, 2, 7, 3), s.constant(-2), exclusive=1, reverse=1)
    s.node("CumProd", s.node("Exp", s.node("Mul", s.floats(5, 11), s.constant(np.float32(0.1)))), s.constant(1), exclusive=1)


def selections(s: Sketch) -> None:
    best = s.node("TopK", s.node("Neg", s.floats(3, 90)), s.constant([7]), outputs=2)
    s.node("Relu", best)
    s.node("TopK", s.integers(-5, 5, 12, 4), s.constant([5]), outputs=2, axis=0, largest=0)
    s.node("TopK", s.floats(2, 3000, dtype=np.float16), s.constant([20]), outputs=2)
    s.node("TopK", s.floats(2, 9), s.constant([9]), outputs=2, sorted=0)
    s.node("Compress", s.floats(3, 6), s.constant([True, False, False, True, True]), axis=1)
    s.node("ReverseSequence", s.floats(7, 4, 3), s.integers(0, 8, 4))
    s.node("ReverseSequence", s.floats(4, 7), s.integers(0, 8, 4), batch_axis=0, time_axis=1)
    s.node("OneHot", s.integers(-6, 7, 3, 4), s.constant(6), s.floats(2), axis=1)
    s.node("GatherND", s.floats(3, 5, 6), s.integers(-5, 5, 3, 4, 1), batch_dims=1)


def contractions(s: Sketch) -> None:
    s.node("Einsum", s.floats(2, 9, 3, 8), s.floats(2, 7, 3, 8), equation="bqhd,bkhd->bhqk")
    s.node("Einsum", s.floats(2, 5, 5), equation="...ii->...i")
    s.node("Einsum", s.floats(4, 6), s.floats(6, 5), s.floats(5), equation="ij,jk,k->i")
    s.node("Einsum", s.floats(3, 4), s.floats(5), equation="ij,k->kji")
    s.node("Einsum", s.integers(-9, 9, 4, 6, dtype=np.int32), s.integers(-9, 9, 6, dtype=np.int32), equation="ij,j")


@pytest.fixture(scope="module")
def sketch() -> Sketch:
    sketch = Sketch()
    for part in (arg_reductions, scatters, scans, selections, contractions):
        part(sketch)
    return sketch


def test_agrees_with_the_truth_in_every_order(sketch: Sketch, tmp_path: Path) -> None:
    check_every_order(sketch, tmp_path, terms=50, depth=6)  # products and sums of up to 50 terms, which may cancel


def test_an_update_out_of_range_is_reported(tmp_path: Path) -> None:
    path, output = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    ports = [helper.make_tensor_value_info(n, t, d) for n, t, d in (("x", 1, [9, 4]), ("i", TensorProto.INT64, [2, 1]), ("u", 1, [2, 4]))]
    onnx.save(model([helper.make_node("ScatterND", ["x", "i", "u"], ["y"])], ports, [helper.make_tensor_value_info("y", 1, [9, 4])]), path)
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", verify=False))
    x, u = np.zeros((9, 4), np.float32), np.ones((2, 4), np.float32)
    with nautilus_cli.load(output) as library:
        with pytest.raises(UsageError, match="index outside"):
            library({"x": x, "i": np.array([[0], [9]]), "u": u})
        found = np.asarray(library({"x": x, "i": np.array([[0], [-1]]), "u": u})["y"])
        assert found.sum() == 8
        assert found[[0, 8]].all()

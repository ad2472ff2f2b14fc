"""Tensors without elements: what is reduced to something, and what stays empty, equal onnxruntime's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import nautilus_cli
from tests.e2e import networks
from tests.e2e.commands import Caller
from tests.e2e.networks import port, saved

OF_FLOATS = ("ReduceLogSum", "ReduceLogSumExp")
OF_NUMBERS = (
    *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"),
    *("ReduceL1", "ReduceL2", "ReduceSumSquare"),
)


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT, TensorProto.INT32], ids=["floats", "integers"])
def test_reductions(dtype: int, nautilus: Caller, tmp_path: Path) -> None:
    """Over the dimension of nothing, which leaves a value for each row; and over another, which leaves nothing."""
    operators = (*OF_NUMBERS, *OF_FLOATS) if dtype == TensorProto.FLOAT else OF_NUMBERS
    nodes, outputs = [], []
    for op in operators:
        for axis, shape in ((1, (2, 1, 4)), (0, (1, 0, 4))):
            nodes.append(helper.make_node(op, ["x", f"axis{axis}"], [f"{op}{axis}"]))
            outputs.append(port(f"{op}{axis}", *shape, dtype=dtype))
    axes = {f"axis{axis}": np.array([axis]) for axis in (0, 1)}
    saved(networks.model(nodes, [port("x", 2, 0, 4, dtype=dtype)], outputs, axes), tmp_path / "model.onnx")
    done = nautilus("compile", tmp_path / "model.onnx", "-o", tmp_path / "libmodel.so", "--target", "emulated").done()
    assert done.out.count(" ok\n") == len(outputs), done.out


def test_a_run_without_rows(nautilus: Caller, tmp_path: Path) -> None:
    """What a kernel gives to others has no element: those that share a row among threads have a block all the same, which reads none."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Neg", ["r"], ["kept"]),
        helper.make_node("TopK", ["r", "count"], ["values", "places"], axis=2),
        helper.make_node("Det", ["r"], ["det"]),
    ]
    outputs = [port("kept", "n", 3, 3), port("values", "n", 3, 2), port("places", "n", 3, 2, dtype=TensorProto.INT64), port("det", "n")]
    proto = networks.model(nodes, [port("x", "n", 3, 3)], outputs, {"count": np.array([2])})
    model, library = saved(proto, tmp_path / "model.onnx"), tmp_path / "libmodel.so"
    nautilus("compile", model, "-o", library, "--target", "emulated", "--dim", "n=0..5", "--no-verify").done()
    for n in (0, 5):
        nautilus("verify", model, library, "--dim", f"n={n}").done()


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_a_resized_axis_of_nothing(mode: str, nautilus: Caller, tmp_path: Path) -> None:
    """What a result takes is in tables, which have nothing in them where there is none; the first run has no memory for them either."""
    resized = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode=mode)
    scales = {"scales": np.array([1, 1, 2, 2], np.float32)}
    proto = networks.model([resized], [port("x", 2, 3, "n", 5)], [port("y", 2, 3, "m", 10)], scales)
    model, library = saved(proto, tmp_path / "model.onnx"), tmp_path / "libmodel.so"
    nautilus("compile", model, "-o", library, "--target", "emulated", "--dim", "n=0..4", "--no-verify").done()
    with nautilus_cli.load(library) as loaded:
        assert loaded(x=np.zeros((2, 3, 0, 5), np.float32))["y"].shape == (2, 3, 0, 10)
    nautilus("verify", model, library, "--dim", "n=4").done()

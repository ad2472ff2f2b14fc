"""Tensors without elements: what is reduced to something, and what stays empty, equal onnxruntime's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

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

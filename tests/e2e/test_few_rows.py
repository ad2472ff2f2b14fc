"""Products of few rows run on the family for them, through the host code."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import nautilus_cli
from tests.e2e.commands import Caller
from tests.e2e.networks import model, port, saved

WIDTH, HIDDEN, RESULTS = 256, 512, 320


@pytest.mark.parametrize(("rows", "dtype"), [(1, np.float16), (1, np.float32), (3, np.float32), (2, np.float16)])
def test_two_layers(rows: int, dtype: type, tmp_path: Path, nautilus: Caller) -> None:
    """y = relu(x w1 + b) w2 of a few rows."""
    random = np.random.default_rng(0)
    weights = [(random.standard_normal(shape) / 16).astype(dtype) for shape in ((WIDTH, HIDDEN), (HIDDEN,), (HIDDEN, RESULTS))]
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["product"]),
        helper.make_node("Add", ["product", "b"], ["biased"]),
        helper.make_node("Relu", ["biased"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "w2"], ["y"]),
    ]
    kind = TensorProto.FLOAT16 if dtype is np.float16 else TensorProto.FLOAT
    proto = model(
        nodes,
        [port("x", rows, WIDTH, dtype=kind)],
        [port("y", rows, RESULTS, dtype=kind)],
        dict(zip(("w1", "b", "w2"), weights, strict=True)),
    )
    path = tmp_path / "libmodel.so"
    nautilus("compile", saved(proto, tmp_path / "model.onnx"), "-o", path, "--target", "emulated,sm_90a").done()
    found = json.loads(path.with_suffix(".json").read_text())
    for part in (found, *found["more_targets"]):
        assert [kernel["family"] for kernel in part["kernels"]] == ["gemm_skinny"] * 2
    with nautilus_cli.load(path, place="emulated") as loaded:
        x = random.standard_normal((rows, WIDTH)).astype(dtype)
        wide = [w.astype(np.float64) for w in weights]
        hidden = np.maximum(x.astype(np.float64) @ wide[0] + wide[1], 0).astype(dtype)
        expected = hidden.astype(np.float64) @ wide[2]
        result = loaded(x=x)["y"].astype(np.float64)
        assert np.linalg.norm(result - expected) < (2**-10 if dtype is np.float16 else 2**-20) * np.linalg.norm(expected)

"""Products of 16-bit numbers run on tensor cores, through the host code: tensor maps follow the caller's pointers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import nautilus_cli
from tests.e2e.commands import Caller
from tests.e2e.networks import model, port, saved

ROWS, WIDTH, HIDDEN, RESULTS = 512, 256, 1024, 320


@pytest.fixture(scope="module")
def weights() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    first, second = ((random.standard_normal(shape) / 16).astype(np.float16) for shape in ((WIDTH, HIDDEN), (HIDDEN, RESULTS)))
    return first, second


@pytest.fixture
def library(weights: tuple[np.ndarray, np.ndarray], tmp_path: Path, nautilus: Caller) -> Path:
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["product"], "first"),
        helper.make_node("Relu", ["product"], ["hidden"], "activation"),
        helper.make_node("MatMul", ["hidden", "w2"], ["y"], "second"),
    ]
    proto = model(
        nodes,
        [port("x", ROWS, WIDTH, dtype=TensorProto.FLOAT16)],
        [port("y", ROWS, RESULTS, dtype=TensorProto.FLOAT16)],
        {"w1": weights[0], "w2": weights[1]},
    )
    path = tmp_path / "libmodel.so"
    nautilus("compile", saved(proto, tmp_path / "model.onnx"), "-o", path, "--target", "emulated,sm_80,sm_90a").done()
    return path


def test_each_target_has_its_families(library: Path) -> None:
    found = json.loads(library.with_suffix(".json").read_text())
    families = {part["target"]: [kernel["family"] for kernel in part["kernels"]] for part in (found, *found["more_targets"])}
    assert families == {"sm_80": ["gemm_mma"] * 2, "sm_90a": ["gemm_wgmma"] * 2, "emulated": ["gemm_wgmma"] * 2}


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_maps_follow_the_pointers(library: Path, weights: tuple[np.ndarray, np.ndarray], launch: str) -> None:
    random = np.random.default_rng(1)
    with nautilus_cli.load(library, place="emulated", launch=launch) as loaded:
        for _ in range(3):
            x = random.standard_normal((ROWS, WIDTH)).astype(np.float16)
            hidden = np.maximum(x.astype(np.float64) @ weights[0].astype(np.float64), 0).astype(np.float16)
            expected = hidden.astype(np.float64) @ weights[1].astype(np.float64)
            result = loaded(x=x)["y"]
            assert np.linalg.norm(result.astype(np.float64) - expected) < 2**-10 * np.linalg.norm(expected)

"""Products of 16-bit numbers run on tensor cores, through the host code: tensor maps follow the caller's pointers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import nautilus_cli
from tests.e2e.commands import Caller
from tests.e2e.networks import model, port, saved

ROWS, WIDTH, HIDDEN, RESULTS = 512, 256, 1024, 320


@pytest.fixture(scope="module")
def weights() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    first, second = ((random.standard_normal(shape) / 16).astype(np.float16) for shape in ((WIDTH, HIDDEN), (HIDDEN, RESULTS)))
    return first, second


def two_products(weights: tuple[np.ndarray, np.ndarray], dtype: int) -> ModelProto:
    """Return y = relu(x w1) w2."""
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["product"], "first"),
        helper.make_node("Relu", ["product"], ["hidden"], "activation"),
        helper.make_node("MatMul", ["hidden", "w2"], ["y"], "second"),
    ]
    return model(
        nodes,
        [port("x", ROWS, WIDTH, dtype=dtype)],
        [port("y", ROWS, RESULTS, dtype=dtype)],
        {"w1": weights[0], "w2": weights[1]},
    )


@pytest.fixture
def library(weights: tuple[np.ndarray, np.ndarray], tmp_path: Path, nautilus: Caller) -> Path:
    path = tmp_path / "libmodel.so"
    nautilus(
        "compile",
        saved(two_products(weights, TensorProto.FLOAT16), tmp_path / "model.onnx"),
        "-o",
        path,
        "--target",
        "emulated,sm_80,sm_90a",
    ).done()
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


@pytest.mark.parametrize(
    ("mode", "families"),
    [("ffma", ["gemm"] * 2), ("3xtf32", ["gemm_wgmma", "gemm_mma"]), ("tf32", ["gemm_wgmma"] * 2)],
    ids=["ffma", "3xtf32", "tf32"],
)
def test_fp32_runs_on_tensor_cores_where_asked(
    mode: str, families: list[str], weights: tuple[np.ndarray, np.ndarray], tmp_path: Path, nautilus: Caller
) -> None:
    """Each mode keeps the tolerance that is its own; rounding to tf32 would not keep that of fp32."""
    proto = two_products(tuple(w.astype(np.float32) for w in weights), TensorProto.FLOAT)  # type: ignore[arg-type]
    source, path = saved(proto, tmp_path / "model.onnx"), tmp_path / "libmodel.so"
    nautilus("compile", source, "-o", path, "--target", "emulated", "--fp32-mode", mode).done()
    found = json.loads(path.with_suffix(".json").read_text())
    assert [kernel["family"] for kernel in found["kernels"]] == families
    (output,) = json.loads(path.with_suffix(".verify.json").read_text())["outputs"]
    assert output["tolerance"]["rtol"] > 1e-3 if mode == "tf32" else output["tolerance"]["rtol"] < 1e-4

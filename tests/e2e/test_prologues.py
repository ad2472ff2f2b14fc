"""Products that compute their left operand while they load it, through the host code, against onnxruntime."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.errors import NautilusError
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.ir.types import F16, dtype_of
from tests.e2e.networks import model, port, saved
from tests.support.closeness import assert_close

HALF = TensorProto.FLOAT16


def weights(*shape: int) -> np.ndarray:
    """Return a weight in 16 bits."""
    return (np.random.default_rng(0).standard_normal(shape) / 16).astype(np.float16)


def gated(rows: int | str) -> ModelProto:
    """Return (x·sigmoid(x)·y) w."""
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["open"], "sigmoid"),
        helper.make_node("Mul", ["x", "open"], ["gate"], "gate"),
        helper.make_node("Mul", ["gate", "y"], ["hidden"], "hidden"),
        helper.make_node("MatMul", ["hidden", "w"], ["z"], "product"),
    ]
    inputs = [port(name, rows, 256, dtype=HALF) for name in ("x", "y")]
    return model(nodes, inputs, [port("z", rows, 96, dtype=HALF)], {"w": weights(256, 96)})


def cast() -> ModelProto:
    """Return half(x) w of a float x."""
    nodes = [helper.make_node("Cast", ["x"], ["half"], "cast", to=HALF), helper.make_node("MatMul", ["half", "w"], ["z"], "product")]
    return model(nodes, [port("x", 300, 256)], [port("z", 300, 96, dtype=HALF)], {"w": weights(256, 96)})


def merged() -> ModelProto:
    """Return attention's last product: heads, scaled, transposed and merged, times a weight."""
    nodes = [
        helper.make_node("Mul", ["x", "scale"], ["scaled"], "scale"),
        helper.make_node("Transpose", ["scaled"], ["turned"], "turn", perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["turned", "shape"], ["rows"], "merge"),
        helper.make_node("MatMul", ["rows", "w"], ["z"], "product"),
    ]
    constants = {"w": weights(128, 96), "scale": np.array(0.75, np.float16), "shape": np.array([2, 150, 128])}
    return model(nodes, [port("x", 2, 4, 150, 32, dtype=HALF)], [port("z", 2, 150, 96, dtype=HALF)], constants)


def gathered(rows: int, dtype: int = HALF) -> ModelProto:
    """Return x[ids] w of a table of 500 rows."""
    nodes = [
        helper.make_node("Gather", ["x", "ids"], ["rows"], "gather", axis=0),
        helper.make_node("MatMul", ["rows", "w"], ["z"], "product"),
    ]
    w = weights(256, 96).astype(np.float16 if dtype == HALF else np.float32)
    inputs = [port("x", 500, 256, dtype=dtype), port("ids", rows, dtype=TensorProto.INT64)]
    return model(nodes, inputs, [port("z", rows, 96, dtype=dtype)], {"w": w})


@pytest.mark.parametrize("rows", [1, 40, 300])
@pytest.mark.parametrize("dtype", [HALF, TensorProto.FLOAT])
def test_rows_that_indices_name(rows: int, dtype: int, tmp_path: Path) -> None:
    """One kernel in every family; an index out of range is an error of the run."""
    output = tmp_path / "libmodel.so"
    path = saved(gathered(rows, dtype), tmp_path / "model.onnx")
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", verify=False))
    assert len(json.loads(output.with_suffix(".json").read_text())["launches"]) == 1
    random, element = np.random.default_rng(1), np.float16 if dtype == HALF else np.float32
    x, ids = random.standard_normal((500, 256)).astype(element), random.integers(-500, 500, rows)
    expected = x.astype(np.float64)[ids] @ weights(256, 96).astype(np.float64)
    with nautilus_cli.load(output) as library:
        assert_close(library(x=x, ids=ids)["z"], expected, f"{rows} rows", terms=256, storage=dtype_of(x))
        ids[-1] = 500
        with pytest.raises(NautilusError, match="index"):
            library(x=x, ids=ids)


@pytest.mark.parametrize("network", [gated(300), cast(), merged()], ids=["gated", "cast", "merged"])
def test_a_left_operand_is_never_stored(network: ModelProto, tmp_path: Path) -> None:
    output = tmp_path / "libmodel.so"
    result = driver.compile(driver.CompileOptions(model=saved(network, tmp_path / "model.onnx"), output=output, target="emulated,sm_90a"))
    assert result.verification is not None
    assert all(found.is_match for found in result.verification.comparisons.values()), result.verification.comparisons
    manifest = json.loads(output.with_suffix(".json").read_text())
    assert [len(part["launches"]) for part in (manifest, *manifest["more_targets"])] == [1, 1]


def test_rows_of_any_number(tmp_path: Path) -> None:
    """One library, several kernels by size; the product of 16-bit numbers as they would have been stored."""
    output = tmp_path / "libmodel.so"
    network = gated("rows")
    driver.compile(
        driver.CompileOptions(
            model=saved(network, tmp_path / "model.onnx"), output=output, target="emulated", dims={"rows": DimRange(1, 1024)}, verify=False
        )
    )
    random = np.random.default_rng(1)
    w = weights(256, 96).astype(np.float64)
    with nautilus_cli.load(output) as library:
        for rows in (1, 7, 64, 129, 500):
            x, y = (random.standard_normal((rows, 256)).astype(np.float16) for _ in range(2))
            wide = x.astype(np.float32)
            hidden = (wide / (1 + np.exp(-wide)) * y.astype(np.float32)).astype(np.float16)
            assert_close(library(x=x, y=y)["z"], hidden.astype(np.float64) @ w, f"{rows} rows", terms=256, depth=2, storage=F16)

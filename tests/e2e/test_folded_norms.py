"""Norms of rows in the products that read them, through the host code: no kernel normalises, and the results stay."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.ir.types import dtype_of
from nautilus_cli.lowering.fusion import norms
from nautilus_cli.numerics import compare, derived
from tests.e2e.networks import model, port, saved

WIDTH, HIDDEN, DEPTH = 96, 160, 64
HALF = TensorProto.FLOAT16


def weights() -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    shapes = {"w0": (DEPTH, WIDTH), "w1": (WIDTH, HIDDEN), "w2": (HIDDEN, WIDTH), "w3": (WIDTH, 40), "w4": (WIDTH, 24)}
    found = {name: random.standard_normal(shape) / np.sqrt(shape[0]) for name, shape in shapes.items()}
    found |= {name: 1 + random.standard_normal(WIDTH) / 4 for name in ("gamma1", "gamma2")}
    found |= {name: random.standard_normal(size) / 2 for name, size in (("beta1", WIDTH), ("b0", WIDTH), ("b1", HIDDEN), ("b3", 40))}
    return {name: array.astype(np.float16) for name, array in found.items()}


def network(rows: int | str, mean: float) -> ModelProto:
    """Return two residual sums, whose rows have that MEAN, each normalised for what follows: the first for one product, by
    LayerNormalization; the second for two, by RMSNormalization, one of which has them in other dimensions."""
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"], "first"),
        helper.make_node("Add", ["a", "b0"], ["a1"]),
        helper.make_node("Add", ["a1", "mean"], ["a2"]),
        helper.make_node("Add", ["a2", "residual"], ["h"]),
        helper.make_node("LayerNormalization", ["h", "gamma1", "beta1"], ["n"], "norm", epsilon=1e-6),
        helper.make_node("MatMul", ["n", "w1"], ["m"], "up"),
        helper.make_node("Add", ["m", "b1"], ["m1"]),
        helper.make_node("Relu", ["m1"], ["m2"]),
        helper.make_node("MatMul", ["m2", "w2"], ["d"], "down"),
        helper.make_node("Add", ["d", "h"], ["g"]),
        helper.make_node("RMSNormalization", ["g", "gamma2"], ["q"], "rms"),
        helper.make_node("MatMul", ["q", "w3"], ["y0"], "left"),
        helper.make_node("Add", ["y0", "b3"], ["y"]),
        helper.make_node("Reshape", ["q", "flat"], ["q1"]),
        helper.make_node("MatMul", ["q1", "w4"], ["z"], "right"),
    ]
    inputs = [port("x", rows, DEPTH, dtype=HALF), port("residual", rows, WIDTH, dtype=HALF)]
    outputs = [port("y", rows, 40, dtype=HALF), port("z", 1, rows, 24, dtype=HALF)]
    constants = weights() | {"mean": np.array(mean, np.float16), "flat": np.array([1, -1, WIDTH])}
    return model(nodes, inputs, outputs, constants, opset=23)


def truth(feeds: dict[str, np.ndarray], mean: float) -> dict[str, np.ndarray]:
    """Return the outputs in float64, of sums that are stored in 16 bits."""
    w = {name: array.astype(np.float64) for name, array in weights().items()}
    x, residual = (feeds[name].astype(np.float64) for name in ("x", "residual"))
    h = (x @ w["w0"] + w["b0"] + mean + residual).astype(np.float16).astype(np.float64)
    normal = (h - h.mean(-1, keepdims=True)) / np.sqrt(h.var(-1, keepdims=True) + 1e-6) * w["gamma1"] + w["beta1"]
    g = np.maximum(normal @ w["w1"] + w["b1"], 0) @ w["w2"] + h
    q = g / np.sqrt(np.square(g).mean(-1, keepdims=True) + 1e-5) * w["gamma2"]
    return {"y": q @ w["w3"] + w["b3"], "z": (q @ w["w4"])[None]}


def check(library: nautilus_cli.Library, rows: int, mean: float) -> None:
    random = np.random.default_rng(rows)
    feeds = {name: random.standard_normal((rows, size)).astype(np.float16) for name, size in (("x", DEPTH), ("residual", WIDTH))}
    expected, found = truth(feeds, mean), library(**feeds)
    for name, array in expected.items():
        result = compare(found[name], array, derived(array, terms=HIDDEN, depth=6, storage=dtype_of(feeds["x"])))
        assert result.is_match, f"{rows} rows, {name}: {result}"


def families(manifest: dict) -> list[str]:
    return [manifest["kernels"][launch["kernel"]]["family"] for launch in manifest["launches"]]


@pytest.mark.parametrize("mean", [0.0, 3.0])
@pytest.mark.parametrize("rows", [70, 200])
def test_no_kernel_normalises(rows: int, mean: float, tmp_path: Path) -> None:
    path, output = saved(network(rows, mean), tmp_path / "model.onnx"), tmp_path / "libmodel.so"
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated,sm_80,sm_90a", verify=False, jobs=1))
    found = json.loads(output.with_suffix(".json").read_text())
    parts = {part["target"]: families(part) for part in (found, *found["more_targets"])}
    assert parts == {"emulated": ["gemm_wgmma"] * 5, "sm_80": ["gemm_mma"] * 5, "sm_90a": ["gemm_wgmma"] * 5}
    with nautilus_cli.load(output, place="emulated") as library:
        check(library, rows, mean)


def test_open_rows(tmp_path: Path) -> None:
    """One library for all numbers of rows."""
    path, output = saved(network("rows", 1.0), tmp_path / "model.onnx"), tmp_path / "libmodel.so"
    options = driver.CompileOptions(model=path, output=output, target="emulated", dims={"rows": DimRange(1, 300)}, verify=False, jobs=1)
    driver.compile(options)
    assert not {"row", "gemm"}.intersection(families(json.loads(output.with_suffix(".json").read_text())))
    with nautilus_cli.load(output) as library:
        for rows in (1, 37, 300):
            check(library, rows, 1.0)


def chain(rows: int) -> ModelProto:
    """Return x + n(x)·w, twice, and n of that times w, where n is a LayerNormalization without bias: nothing stores the first rows."""
    nodes = []
    for number in range(3):
        nodes += [
            helper.make_node("LayerNormalization", [f"x{number}", "gamma"], [f"n{number}"], f"norm{number}"),
            helper.make_node("MatMul", [f"n{number}", "w"], [f"p{number}"], f"product{number}"),
            helper.make_node("Add", [f"p{number}", f"x{number}"], [f"x{number + 1}"], f"sum{number}"),
        ]
    random = np.random.default_rng(5)
    square = (random.standard_normal((WIDTH, WIDTH)) / 16).astype(np.float16)
    constants = {"w0": square, "w1": square * np.float16(0.5), "w2": -square, "gamma": np.linspace(0.5, 1.5, WIDTH, dtype=np.float16)}
    for number in range(3):
        nodes[3 * number + 1].input[1] = f"w{number}"
    return model(nodes, [port("x0", rows, WIDTH, dtype=HALF)], [port("x3", rows, WIDTH, dtype=HALF)], constants)


def test_a_product_that_takes_moments_and_leaves_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The moments of the input are a kernel of their own, which the estimates would not ask for."""
    monkeypatch.setattr(norms, "_difference_us", lambda *_: -1.0)
    path, output = saved(chain(140), tmp_path / "model.onnx"), tmp_path / "libmodel.so"
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", jobs=1))
    assert families(json.loads(output.with_suffix(".json").read_text())) == ["row", *["gemm_wgmma"] * 3]


def test_open_batches_of_open_rows(tmp_path: Path) -> None:
    """As a transformer's tokens: the moments are of as many rows as both give."""
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"], "first"),
        helper.make_node("Add", ["a", "residual"], ["h"]),
        helper.make_node("LayerNormalization", ["h", "gamma1", "beta1"], ["n"], "norm"),
        helper.make_node("MatMul", ["n", "w1"], ["y"], "up"),
    ]
    inputs = [port(name, "batch", "tokens", size, dtype=HALF) for name, size in (("x", DEPTH), ("residual", WIDTH))]
    constants = {name: array for name, array in weights().items() if name in ("w0", "w1", "gamma1", "beta1")}
    path = saved(model(nodes, inputs, [port("y", "batch", "tokens", HIDDEN, dtype=HALF)], constants), tmp_path / "model.onnx")
    output, dims = tmp_path / "libmodel.so", {"batch": DimRange(1, 4), "tokens": DimRange(1, 90)}
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", dims=dims, verify=False, jobs=1))
    assert len(families(json.loads(output.with_suffix(".json").read_text()))) == 2
    for batch, tokens in ((1, 1), (4, 90), (3, 17)):
        sizes = {"batch": batch, "tokens": tokens}
        found = driver.verify(driver.VerifyOptions(model=path, library=output, sizes=sizes))
        assert all(comparison.is_match for comparison in found.comparisons.values()), sizes


def test_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bulk copies are of something: a kernel without them serves no rows, and reads no moments of any."""
    monkeypatch.setattr(norms, "_difference_us", lambda *_: -1.0)
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"], "first"),
        helper.make_node("LayerNormalization", ["a", "gamma1", "beta1"], ["n"], "norm"),
        helper.make_node("MatMul", ["n", "w1"], ["y"], "up"),
    ]
    constants = {name: array for name, array in weights().items() if name in ("w0", "w1", "gamma1", "beta1")}
    given, result = port("x", "rows", DEPTH, dtype=HALF), port("y", "rows", HIDDEN, dtype=HALF)
    path, output = saved(model(nodes, [given], [result], constants), tmp_path / "model.onnx"), tmp_path / "libmodel.so"
    driver.compile(
        driver.CompileOptions(model=path, output=output, target="emulated", dims={"rows": DimRange(0, 70)}, verify=False, jobs=1)
    )
    assert families(json.loads(output.with_suffix(".json").read_text())) == ["gemm_wgmma"] * 2
    for rows in (0, 1, 70):
        found = driver.verify(driver.VerifyOptions(model=path, library=output, sizes={"rows": rows}))
        assert all(comparison.is_match for comparison in found.comparisons.values()), rows

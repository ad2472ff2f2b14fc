"""Gated units, as SwiGLU and GeGLU: both products of the same rows, and all that follows, are one launch, of any size."""

from __future__ import annotations

import json
from math import erf
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import nautilus_cli
from models import weightless
from models.catalogue import Model, PackedGraph, catalogue
from models.decoders import FOLDER
from nautilus_cli import driver
from nautilus_cli.frontend.load import load
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.ir.types import dtype_of
from nautilus_cli.numerics import compare, derived
from nautilus_cli.passes import pipeline
from tests.e2e.networks import model, port, saved

WIDTH, HIDDEN = 96, 136
EXPORTS = [pytest.param(m, g, id=f"{m.name}/{g.exporter}") for m in catalogue(FOLDER).values() for g in m.graphs]
GATED = {"gpt2": 0, "llama": 2}
"""Layers with a gated unit."""


def weights(kind: type) -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    shapes = {"w1": (WIDTH, HIDDEN), "w2": (WIDTH, HIDDEN), "b": (HIDDEN,)}
    return {name: (random.standard_normal(shape) / np.sqrt(shape[0])).astype(kind) for name, shape in shapes.items()}


def gated(rows: int | str, kind: type, activation: str) -> ModelProto:
    """Return y = f(x w1 + b) (x w2), where f is GELU, or x sigmoid(x) written out as exporters do."""
    opened = [helper.make_node("Gelu", ["biased"], ["gated"])]
    if activation == "silu":
        opened = [helper.make_node("Sigmoid", ["biased"], ["share"]), helper.make_node("Mul", ["biased", "share"], ["gated"])]
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["first"], "gate_proj"),
        helper.make_node("Add", ["first", "b"], ["biased"]),
        *opened,
        helper.make_node("MatMul", ["x", "w2"], ["second"], "up_proj"),
        helper.make_node("Mul", ["gated", "second"], ["y"]),
    ]
    dtype = TensorProto.FLOAT16 if kind is np.float16 else TensorProto.FLOAT
    return model(nodes, [port("x", rows, WIDTH, dtype=dtype)], [port("y", rows, HIDDEN, dtype=dtype)], weights(kind))


def check(library: nautilus_cli.Library, rows: int, kind: type, activation: str) -> None:
    """Assert that the library computes the unit of that many rows."""
    x = np.random.default_rng(rows).standard_normal((rows, WIDTH)).astype(kind)
    w1, w2, b = (weights(kind)[name].astype(np.float64) for name in ("w1", "w2", "b"))
    gate = x.astype(np.float64) @ w1 + b
    opened = gate / (1 + np.exp(-gate)) if activation == "silu" else gate * 0.5 * (1 + np.vectorize(erf)(gate / np.sqrt(2)))
    truth = opened * (x.astype(np.float64) @ w2)
    result = compare(library(x=x)["y"], truth, derived(truth, terms=WIDTH, depth=3, storage=dtype_of(x)))
    assert result.is_match, f"{rows} rows: {result}"


@pytest.mark.parametrize(
    ("rows", "kind", "activation", "families"),
    [
        (1, np.float16, "silu", {"emulated": "gemm_skinny", "sm_80": "gemm_skinny", "sm_90a": "gemm_skinny"}),
        (200, np.float16, "gelu", {"emulated": "gemm_wgmma", "sm_80": "gemm_mma", "sm_90a": "gemm_wgmma"}),
        (200, np.float32, "silu", {"emulated": "gemm", "sm_80": "gemm", "sm_90a": "gemm"}),
    ],
    ids=["one-row", "f16", "f32"],
)
def test_fixed_sizes(rows: int, kind: type, activation: str, families: dict[str, str], tmp_path: Path) -> None:
    """One kernel and one launch everywhere, of the family that suits the rows; the weights of both are one."""
    path, output = saved(gated(rows, kind, activation), tmp_path / "model.onnx"), tmp_path / "libmodel.so"
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated,sm_80,sm_90a", verify=False, jobs=1))
    found = json.loads(output.with_suffix(".json").read_text())
    parts = {part["target"]: part for part in (found, *found["more_targets"])}
    assert {name: [kernel["family"] for kernel in part["kernels"]] for name, part in parts.items()} == {n: [f] for n, f in families.items()}
    assert all(len(part["launches"]) == 1 for part in parts.values())
    assert parts["emulated"]["kernels"][0]["weight_recipes"] == ["dense", "gemm_pairs_nk"]
    assert [sorted(weight["tensors"]) for weight in found["weights"] if weight["recipe"] == "gemm_pairs_nk"] == [["w1", "w2"]]
    with nautilus_cli.load(output, place="emulated") as library:
        check(library, rows, kind, activation)


def test_open_rows(tmp_path: Path) -> None:
    """From one row to many, by one library."""
    path, output = saved(gated("rows", np.float16, "silu"), tmp_path / "model.onnx"), tmp_path / "libmodel.so"
    dims = {"rows": DimRange(1, 2048)}
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", dims=dims, verify=False, jobs=1))
    assert len(json.loads(output.with_suffix(".json").read_text())["launches"]) == 1
    with nautilus_cli.load(output, place="emulated") as library:
        for rows in (1, 3, 16, 65, 200):
            check(library, rows, np.float16, "silu")


@pytest.mark.parametrize(("exported", "graph"), EXPORTS)
def test_exported_decoders(exported: Model, graph: PackedGraph, tmp_path: Path) -> None:
    """Whatever exporter wrote it, a Llama layer's gate and up projections are one kernel, which stores what the third one reads."""
    path = tmp_path / "model.onnx"
    weightless.save(weightless.fill(graph.path), path)
    dims = {"batch": DimRange(1, 2), "sequence": DimRange(1, 6), "past": DimRange(0, 24)}
    groups = pipeline.run(load(path, dims=dims).graph).groups
    pairs = [group for group in groups if group.kind == "gemm_pair"]
    assert len(pairs) == GATED[exported.name]
    for group in pairs:
        assert [node.op for node in group.nodes if node.op in ("Sigmoid", "Mul")].count("Mul") == 2
        assert len(group.outputs) == 1

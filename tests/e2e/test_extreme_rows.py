"""Rows that folded norms could make something else of: of one number, far from zero, infinite, NaN; through the host code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nautilus_cli.ir.graph import FusedGraph, Graph, Value
from nautilus_cli.ir.types import BF16, F16, DType, TensorType
from nautilus_cli.lowering.fusion import norms
from nautilus_cli.lowering.fusion.choice import choose_fusion
from nautilus_cli.numerics import derived
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.passes import pipeline
from tests.support.random_graphs.building import Batch
from tests.support.random_graphs.drawing import RandomGraph

WIDTH, DEPTH, COLUMNS = 96, 64, 40
NORMS = ("LayerNormalization", "RMSNormalization")


def fused(graph: Graph) -> FusedGraph:
    """Return the graph as drivers fuse it, with all norms in products."""
    found = choose_fusion(pipeline.simplify(graph), fp32_mode="ffma")
    assert {group.kind for group in found.groups} == {"gemm", "gemm_normalized"}
    return found


def normalised(emit: GraphBuilder, op: str, rows: Value, epsilon: float, weights: dict[str, np.ndarray]) -> Value:
    """Return a norm of ROWS times a weight."""
    vectors = [emit.constant(weights[name]) for name in ("gamma", "beta")[: 2 if op == "LayerNormalization" else 1]]
    return emit.node("MatMul", (emit.node(op, (rows, *vectors), epsilon=epsilon), emit.constant(weights["w"])))


def truth(op: str, rows: np.ndarray, epsilon: float, weights: dict[str, np.ndarray]) -> np.ndarray:
    """Return the same in float64, of rows as they are stored."""
    x, gamma, beta, w = (array.astype(np.float64) for array in (rows, *(weights[name] for name in ("gamma", "beta", "w"))))
    with np.errstate(all="ignore"):
        if op == "LayerNormalization":
            x = x - x.mean(-1, keepdims=True)
        unit = x / np.sqrt(np.square(x).mean(-1, keepdims=True) + epsilon)
        return np.asarray((unit * gamma + (beta if op == "LayerNormalization" else 0)) @ w)


def weights_of(dtype: DType, depth: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    found = {
        "w0": random.standard_normal((depth, WIDTH)) / np.sqrt(depth),
        "gamma": 1 + random.standard_normal(WIDTH) / 4,
        "beta": random.standard_normal(WIDTH) / 2,
        "w": random.standard_normal((WIDTH, COLUMNS)) / np.sqrt(WIDTH),
    }
    return {name: array.astype(dtype.numpy) for name, array in found.items()}


def strange_rows(dtype: DType) -> np.ndarray:
    """Return rows between which plain ones lie, so that what leaks is seen."""
    random = np.random.default_rng(5)
    rows = random.standard_normal((70, WIDTH))
    rows[3], rows[9], rows[17], rows[20] = 0.0, 10.0, -1000.0, 1e-4
    rows[31, 5], rows[40, 95], rows[41, 0] = np.inf, np.nan, -np.inf
    rows[50, :2] = np.inf, -np.inf
    rows[69] = 0.0
    rows[69, 1] = -0.0
    return rows.astype(dtype.numpy)


def of_a_sum(seed: int, op: str, dtype: DType, epsilon: float) -> RandomGraph:
    """Return a graph that normalises 0·w + rows: what the rows are is known to the last digit."""
    emit, weights, rows = GraphBuilder(), weights_of(dtype, DEPTH), strange_rows(dtype)
    x, r = (emit.input(name, TensorType(dtype, (70, size))) for name, size in (("x", DEPTH), ("r", WIDTH)))
    h = emit.node("Add", (emit.node("MatMul", (x, emit.constant(weights["w0"]))), r))
    expected = truth(op, rows, epsilon, weights)
    return RandomGraph(
        seed=seed,
        graph=emit.graph([("y", normalised(emit, op, h, epsilon, weights))]),
        feeds={"x": np.zeros((70, DEPTH), dtype.numpy), "r": rows},
        expected={"y": expected},
        tolerances={"y": derived(expected, terms=WIDTH, depth=2, storage=dtype)},
    )


def of_a_product(seed: int, op: str, dtype: DType) -> RandomGraph:
    """Return a graph that normalises x·w, stored, whose rows are 1000 and a deviation of a fraction of what rounding that leaves."""
    emit, weights = GraphBuilder(), weights_of(dtype, 2)
    random = np.random.default_rng(11)
    x = np.stack([np.full(70, 1000.0), random.standard_normal(70) / 4], 1).astype(dtype.numpy)
    weights["w0"] = np.stack([np.ones(WIDTH), random.standard_normal(WIDTH)]).astype(dtype.numpy)
    rows = (x.astype(np.float64) @ weights["w0"].astype(np.float64)).astype(dtype.numpy)
    value = emit.input("x", TensorType(dtype, x.shape))
    h = emit.node("MatMul", (value, emit.constant(weights["w0"])))
    expected = truth(op, rows, 1e-5, weights)
    # What is added up is larger than the result by the mean over the deviation, in sums of 32 bits.
    wide = rows.astype(np.float64)
    scale = np.abs(wide).max() / np.sqrt(np.where(wide.var(-1) > 0, wide.var(-1), 1).min() + 1e-5) if op == "LayerNormalization" else 1.0
    tolerance = derived(expected, terms=WIDTH, depth=2, storage=dtype)
    sums = derived(expected.astype(np.float32), terms=WIDTH, scale=float(scale))
    return RandomGraph(
        seed=seed,
        graph=emit.graph([("y", normalised(emit, op, h, 1e-5, weights)), ("h", h)]),
        feeds={"x": x},
        expected={"y": expected, "h": rows},
        tolerances={"y": max(tolerance, sums, key=lambda t: t.atol), "h": derived(rows, terms=2)},
    )


def test_extreme_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One image for all."""
    monkeypatch.setattr(norms, "_difference_us", lambda *_: -1.0)
    graphs = []
    for dtype in (F16, BF16):
        for op in NORMS:
            graphs += [of_a_sum(len(graphs), op, dtype, 1e-12), of_a_product(len(graphs) + 1, op, dtype)]
    graphs.append(of_a_sum(len(graphs), NORMS[0], F16, 0.0))
    batch = Batch(graphs, tmp_path, fused=fused)
    wrong = [failure for one in batch.compiled for failure in batch.failures(one)]
    assert not wrong, "\n".join(wrong)

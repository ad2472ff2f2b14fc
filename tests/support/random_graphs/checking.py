"""Graphs against the plans made of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nautilus_cli.ir.graph import Graph
from nautilus_cli.lowering.planner import plan
from nautilus_cli.numerics import Tolerance, compare
from nautilus_cli.numerics.propagation import estimate
from nautilus_cli.numerics.tolerance import from_deviation
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.passes import pipeline
from nautilus_cli.targets.registry import target
from tests.support.random_graphs import interpreter
from tests.support.random_graphs.building import analytic, mismatches
from tests.support.random_graphs.drawing import RandomGraph


def interpreted(graph: Graph, feeds: Mapping[str, np.ndarray], on: str = "emulated") -> dict[str, np.ndarray]:
    """Return what the plan of a graph computes, in numpy."""
    return interpreter.run(plan(pipeline.run(graph), target(on), analytic, fp32_mode="ffma"), feeds)


def assert_plan_matches(drawn: RandomGraph, on: str = "emulated") -> None:
    """Assert that the plan of a random graph computes what the graph does, where the interpreter knows all of its kernels."""
    planned = plan(pipeline.run(drawn.graph), target(on), analytic, fp32_mode="ffma")
    if interpreter.knows(planned):
        wrong = mismatches(interpreter.run(planned, drawn.feeds), drawn)
        assert not wrong, "\n".join(wrong)


def assert_plan_computes(graph: Graph, *, seed: int = 3) -> None:
    """Assert that the plan of a graph computes what the graph does, on random inputs (integers are below 2)."""
    random = np.random.default_rng(seed)
    feeds = {}
    for name, value in graph.inputs:
        shape, dtype = value.type.static, value.type.dtype
        array = random.standard_normal(shape) if dtype.is_float else random.integers(0, 2, shape)
        feeds[name] = np.asarray(array).astype(dtype.numpy)
    expected = evaluate(graph, feeds)
    found = interpreted(graph, feeds)
    for (name, _), error in zip(graph.outputs, estimate(graph, fp32_mode="ffma"), strict=True):
        tolerance: Tolerance = from_deviation(error.deviation, expected[name])
        result = compare(found[name], expected[name], tolerance)
        assert result.is_match, f"{name}: {result}"

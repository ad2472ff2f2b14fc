"""From a fused graph to a plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nautilus_cli.ir.expression import Expression, Load
from nautilus_cli.ir.graph import Graph
from nautilus_cli.ir.types import F16, I64, TensorType
from nautilus_cli.kernels.base import Family
from nautilus_cli.lowering.plan import ALIGNMENT_BYTES, Plan
from nautilus_cli.lowering.planner import plan, plan_each
from nautilus_cli.passes import pipeline
from nautilus_cli.targets.base import Target
from nautilus_cli.targets.registry import target
from tests.unit.passes.sketches import Sketch


def analytic(family: Family, problem: Any, where: Target) -> Any:
    return family.choose(problem, where)


def planned(graph: Graph, name: str = "sm_90a") -> Plan:
    return plan(pipeline.run(graph), target(name), analytic, fp32_mode="ffma")


def expression(found: Plan, launch: int, functor: str) -> Expression:
    found_functor = dict(found.kernels[found.launches[launch].kernel].request.functors)[functor]
    assert isinstance(found_functor, Expression)
    return found_functor


def test_equal_layers_share_one_kernel() -> None:
    """Names and weights are not in a kernel: two layers of one shape differ in their argument words only."""
    s = Sketch()
    h = s.node("Relu", (s.node("MatMul", (s.x(8, 16), s.c(16, 16))),))
    found = planned(s.graph([("y", s.node("Relu", (s.node("MatMul", (h, s.c(16, 16))),)))]))
    assert len(found.launches) == 2
    assert len(found.kernels) == 1
    assert found.launches[0].words != found.launches[1].words


def test_equal_constants_are_stored_once() -> None:
    s = Sketch()
    weights = s.c(16, 16)
    again = s.constant(np.array(weights.constant))
    found = planned(s.graph([("y", s.node("MatMul", (s.node("MatMul", (s.x(8, 16), weights)), again)))]))
    assert len(found.weights) == 1


def test_an_embedding_and_the_product_with_it_share_a_weight() -> None:
    """[n, k] with aligned rows is the packed form already."""
    s = Sketch()
    table = s.c(32, 16)
    rows = s.node("Gather", (table, s.input("ids", TensorType(I64, (4,)))), axis=0)
    logits = s.node("MatMul", (rows, s.node("Transpose", (table,), perm=(1, 0))))
    found = planned(s.graph([("y", logits)]))
    assert [w.recipe for w in found.weights] == ["dense"]
    assert found.weight_bytes == 32 * 16 * 4


def test_scalars_are_in_the_text_not_in_memory() -> None:
    s = Sketch()
    found = planned(s.graph([("y", s.node("Mul", (s.x(8), s.constant(np.full(8, 2.0, np.float32)))))]))
    assert found.weights == ()
    assert [w.kind for w in found.launches[0].words] == ["input", "output"]


def test_a_convolution_over_pixels_is_a_product() -> None:
    s = Sketch()
    y = s.node("Conv", (s.x(1, 8, 6, 6), s.c(16, 8, 1, 1)), kernel_shape=(1, 1))
    found = planned(s.graph([("y", s.node("Relu", (s.node("MaxPool", (y,), kernel_shape=(2, 2), strides=(2, 2)),)))]))
    assert [k.request.family for k in found.kernels] == ["gemm", "pool"]
    problem = found.kernels[0].request.problem
    assert (problem.m, problem.n, problem.k) == (36, 16, 8)


@pytest.mark.parametrize(("group", "family"), [(1, "conv"), (2, "conv"), (8, "depthwise")])
def test_groups_choose_the_kernel(group: int, family: str) -> None:
    s = Sketch()
    y = s.node("Conv", (s.x(1, 8, 6, 6), s.c(8, 8 // group, 3, 3)), kernel_shape=(3, 3), group=group)
    assert [k.request.family for k in planned(s.graph([("y", y)])).kernels] == [family]


def test_heads_are_strides() -> None:
    """Splitting heads by Reshape and Transpose costs no kernel: the product reads through them, in vectors."""
    s = Sketch(F16)
    x = s.x(1, 16, 32)
    q = s.node("Transpose", (s.node("Reshape", (s.node("MatMul", (x, s.c(32, 32))), s.ints(1, 16, 4, 8))),), perm=(0, 2, 1, 3))
    k = s.node("Transpose", (s.node("Reshape", (s.node("MatMul", (x, s.c(32, 32))), s.ints(1, 16, 4, 8))),), perm=(0, 2, 3, 1))
    found = planned(s.graph([("y", s.node("MatMul", (q, k)))]))
    assert len(found.launches) == 3
    for functor in ("A", "B"):
        (load,) = expression(found, 2, functor).steps
        assert isinstance(load, Load)
        assert len(load.map.stages) == 1
        assert load.map.contiguous_width(8) == 8
    assert (found.kernels[-1].request.problem.a_k_last, found.kernels[-1].request.problem.b_k_last) == (True, True)


def test_memory_is_aligned_and_reused() -> None:
    s = Sketch()
    h = s.x(64, 64)
    for _ in range(6):
        h = s.node("MatMul", (h, s.c(64, 64)))
    found = planned(s.graph([("y", h)]))
    assert all(b.offset % ALIGNMENT_BYTES == 0 for b in found.buffers)
    assert found.arena_bytes == 2 * 64 * 64 * 4


def test_large_tensors_take_64_bit_indices() -> None:
    s = Sketch()
    found = planned(s.graph([("y", s.node("Relu", (s.x(2**16, 2**16),)))]))
    assert found.kernels[0].request.index_bits == 64
    small = Sketch()
    assert planned(small.graph([("y", small.node("Relu", (small.x(4),)))])).kernels[0].request.index_bits == 32


def test_empty_results_need_no_kernel() -> None:
    s = Sketch()
    found = planned(s.graph([("y", s.node("Relu", (s.x(0, 4),)))]))
    assert found.launches == ()


def test_targets_share_weights_and_memory() -> None:
    """A library for several targets holds one copy: every packed form is every target's, at the same place."""
    s = Sketch()
    y = s.node("Conv", (s.x(1, 3, 9, 9), s.c(8, 3, 3, 3)), kernel_shape=(3, 3))
    z = s.node("MatMul", (s.x(40, 15, name="x2"), s.c(15, 7)))  # rows that are padded
    fused = pipeline.run(s.graph([("y", y), ("z", s.node("Add", (z, s.c(7))))]))
    names = ("sm_80", "sm_90a", "sm_120", "emulated")
    plans = plan_each(fused, [(target(name), analytic) for name in names], fp32_mode="ffma")
    assert {recipe for k in plans[0].kernels for recipe in k.recipes} > {"dense"}
    assert len({k.request.schedule for found in plans for k in found.kernels}) > len(plans[0].kernels)
    for name, found in zip(names, plans, strict=True):
        assert found.weights is plans[0].weights
        assert (found.buffers, found.arena_bytes) == (plans[0].buffers, plans[0].arena_bytes)
        assert [launch.words for launch in found.launches] == [launch.words for launch in plans[0].launches]
        alone = plan(fused, target(name), analytic, fp32_mode="ffma")
        assert (found.target, found.kernels, found.launches) == (alone.target, alone.kernels, alone.launches)
        assert [(w.recipe, w.offset, w.tensors) for w in found.weights] == [(w.recipe, w.offset, w.tensors) for w in alone.weights]

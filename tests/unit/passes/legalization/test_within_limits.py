"""Graphs wider and longer than any real one: no kernel grows without end, and no depth of Python's stack is a model's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nautilus_cli.ir.graph import Graph
from nautilus_cli.lowering.planner import plan
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.passes import pipeline
from nautilus_cli.passes.fusion import clusters
from nautilus_cli.passes.fusion.fuse import fuse
from nautilus_cli.passes.fusion.grouping import MOST_TOGETHER
from nautilus_cli.passes.legalization import within_limits
from nautilus_cli.targets.registry import target
from tests.support.random_graphs.checking import assert_plan_computes
from tests.unit.passes.sketches import Sketch


def launches(graph: Graph) -> int:
    return len(
        plan(
            fuse(pipeline.simplify(graph)), target("emulated"), lambda family, problem, on: family.choose(problem, on), fp32_mode="ffma"
        ).launches
    )


@pytest.mark.parametrize("count", [32, 33, 64, 1024, 1025])
def test_wide_concat_becomes_a_tree(count: int, sketch: Sketch, same_results: Callable[[Graph, Graph], None]) -> None:
    x = sketch.x(2, 3)
    scaled = [sketch.node("Mul", (x, sketch.c(1))) for _ in range(count)]
    graph = sketch.graph([("y", sketch.node("Concat", scaled, axis=1))])
    result = within_limits.within_limits(graph)
    assert max(len(node.inputs) for node in result.nodes) == within_limits.MOST_OPERANDS
    assert (result is graph) == (count <= within_limits.MOST_OPERANDS)
    same_results(graph, result)


@pytest.mark.parametrize("op", ["Sum", "Max", "Min"])
@pytest.mark.parametrize("count", [32, 33, 63, 64])
def test_wide_sum_becomes_a_chain_of_the_same_order(op: str, count: int, sketch: Sketch) -> None:
    x = sketch.x(2, 3)
    graph = sketch.graph([("y", sketch.node(op, [sketch.node("Mul", (x, sketch.c(1))) for _ in range(count)]))])
    result = within_limits.within_limits(graph)
    assert max(len(node.inputs) for node in result.nodes) <= within_limits.MOST_OPERANDS
    inputs = {"x": np.linspace(-3, 3, 6, dtype=np.float32).reshape(2, 3)}
    np.testing.assert_array_equal(evaluate(graph, inputs)["y"], evaluate(result, inputs)["y"])


def test_endless_chain_becomes_several_kernels(sketch: Sketch) -> None:
    value = sketch.x(4)
    for _ in range(1000):
        value = sketch.node("Exp", (value,))
    assert launches(sketch.graph([("y", value)])) == -(-1000 // clusters.MOST_NODES)


def test_kernel_has_a_bounded_number_of_operands(sketch: Sketch) -> None:
    value = sketch.x(4)
    for i in range(20):
        value = sketch.node("Sum", (value, *(sketch.x(4, name=f"x{i}_{j}") for j in range(within_limits.MOST_OPERANDS - 1))))
    fused = fuse(pipeline.simplify(sketch.graph([("y", value)])))
    assert [sum(len(node.inputs) for node in group.nodes) for group in fused.groups] == [clusters.MOST_OPERANDS] * 5


def test_endless_movement_is_stored_now_and_then(sketch: Sketch, same_results: Callable[[Graph, Graph], None]) -> None:
    value = sketch.x(2, 3, 4)
    for _ in range(500):
        value = sketch.node("Transpose", (value,), perm=(1, 2, 0))
        value = sketch.node("Reshape", (value, sketch.ints(2, 3, 4)))
    graph = sketch.graph([("y", sketch.node("Relu", (value,)))])
    same_results(graph, within_limits.within_limits(graph))
    assert launches(graph) == -(-1000 // within_limits.MOST_MOVES)


def test_movement_of_a_real_length_is_not_stored(sketch: Sketch) -> None:
    value = sketch.x(2, 3, 4)
    for _ in range(within_limits.MOST_MOVES):
        value = sketch.node("Transpose", (value,), perm=(1, 2, 0))
    graph = sketch.graph([("y", sketch.node("Relu", (value,)))])
    assert within_limits.within_limits(graph) is graph


def test_results_of_a_wide_split_share_kernels(sketch: Sketch) -> None:
    """Outputs of one size, a few a kernel; of another size in others."""
    sizes = (3,) * 40 + (2,) * 3
    parts = sketch.apply("Split", (sketch.x(4, sum(sizes)), sketch.ints(*sizes)), outputs=tuple(f"y{i}" for i in range(43)), axis=1)
    graph = sketch.graph([(f"y{i}", part) for i, part in enumerate(parts) if part is not None])
    fused = fuse(pipeline.simplify(graph))
    assert [len(group.outputs) for group in fused.groups] == [MOST_TOGETHER, MOST_TOGETHER, 8, 3]
    assert all(len({value.type.elements for value in group.outputs}) == 1 for group in fused.groups)
    assert_plan_computes(graph)

"""Two products of the same rows that meet element by element are one node."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.text import print_graph
from nautilus_cli.ops.verifier import verify_graph
from nautilus_cli.passes import pipeline
from nautilus_cli.passes.products.pair_products import pair_products
from tests.support.random_graphs.checking import assert_plan_computes
from tests.unit.passes.sketches import Sketch, ops

PAIR = "nautilus::MatMulPair"


def gated(s: Sketch, x: Value, width: int, *, bias: bool = False) -> Value:
    """Return x·B1·sigmoid(x·B1)·(x·B2), where asked for with a bias each."""
    gate, up = (s.node("MatMul", (x, s.c(x.type.static[-1], width))) for _ in range(2))
    if bias:
        gate, up = (s.node("Add", (product, s.c(width))) for product in (gate, up))
    return s.node("Mul", (s.node("Mul", (gate, s.node("Sigmoid", (gate,)))), up))


def kinds(graph: Graph) -> list[str]:
    """Return the kernel families in order."""
    return [group.kind for group in pipeline.run(graph).groups]


@pytest.mark.parametrize("bias", [False, True])
def test_a_gated_unit_is_one_kernel(sketch: Sketch, same_results: Callable[[Graph, Graph], None], bias: bool) -> None:
    before = sketch.graph([("y", gated(sketch, sketch.x(2, 5, 12), 20, bias=bias))])
    after = pair_products(before)
    verify_graph(after)
    assert list(ops(after)).count(PAIR) == 1 and "MatMul" not in ops(after)
    same_results(before, after)
    assert print_graph(pair_products(after)) == print_graph(after)
    assert kinds(before) == ["gemm_pair"]
    assert_plan_computes(before)


def test_both_products_may_be_read_elsewhere(sketch: Sketch) -> None:
    """A result that leaves the kernel is stored beside what becomes of both."""
    x = sketch.x(7, 12)
    gate, up = (sketch.node("MatMul", (x, sketch.c(12, 9))) for _ in range(2))
    graph = sketch.graph([("y", sketch.node("Mul", (sketch.node("Tanh", (gate,)), up))), ("up", up)])
    assert kinds(graph) == ["gemm_pair"]
    assert_plan_computes(graph)


def test_weights_that_lie_the_other_way_round(sketch: Sketch) -> None:
    """Exporters store [n, k] and transpose it."""
    x = sketch.x(3, 16)
    first, second = (sketch.node("MatMul", (x, sketch.node("Transpose", (sketch.c(24, 16),), perm=(1, 0)))) for _ in range(2))
    graph = sketch.graph([("y", sketch.node("Sub", (first, second)))])
    assert kinds(graph) == ["gemm_pair"]
    assert_plan_computes(graph)


def test_three_products_are_a_pair_and_one(sketch: Sketch) -> None:
    x = sketch.x(4, 8)
    one, two, three = (sketch.node("MatMul", (x, sketch.c(8, 8))) for _ in range(3))
    graph = sketch.graph([("y", sketch.node("Add", (sketch.node("Mul", (one, two)), three)))])
    assert sorted(kinds(graph)) == ["gemm", "gemm_pair"]
    assert_plan_computes(graph)


@pytest.mark.parametrize(
    "build",
    [
        lambda s: [s.node("MatMul", (s.x(4, 8), s.c(8, 6)))],
        lambda s: [s.node("MatMul", (x, s.c(8, 6))) for x in [s.x(4, 8)] for _ in range(2)],  # they do not meet
        lambda s: [s.node("Mul", tuple(s.node("MatMul", (s.x(4, 8), s.c(8, 6))) for _ in range(2)))],  # of different rows
        lambda s: [s.node("Mul", (s.node("MatMul", (x, s.c(8, 6))), s.node("MatMul", (x, s.c(8, 1))))) for x in [s.x(4, 8)]],
        lambda s: [s.node("Mul", (s.node("MatMul", (x, s.x(8, 6))), s.node("MatMul", (x, s.x(8, 6))))) for x in [s.x(4, 8)]],
        lambda s: [
            s.node("Mul", (s.node("MatMul", (x, s.c(8, 4))), s.node("Transpose", (s.node("MatMul", (x, s.c(8, 4))),), perm=(1, 0))))
            for x in [s.x(4, 8)]
        ],
    ],
    ids=["one", "apart", "other-rows", "other-shape", "no-constants", "transposed"],
)
def test_others_stay_apart(sketch: Sketch, build: Callable[[Sketch], list[Value]]) -> None:
    graph = sketch.graph([(f"y{i}", value) for i, value in enumerate(build(sketch))])
    assert print_graph(pair_products(graph)) == print_graph(graph)


def test_a_norm_between_them_keeps_the_results_in_memory(sketch: Sketch) -> None:
    """What meets beyond a reduction does not follow the sums; the pair is one kernel all the same."""
    x = sketch.x(4, 8)
    one, two = (sketch.node("MatMul", (x, sketch.c(8, 8))) for _ in range(2))
    normed = sketch.node("LayerNormalization", (one, sketch.c(8), sketch.c(8)))
    graph = sketch.graph([("y", sketch.node("Add", (sketch.node("Mul", (one, two)), normed)))])
    assert sorted(kinds(graph))[0] == "gemm_pair"
    assert_plan_computes(graph)

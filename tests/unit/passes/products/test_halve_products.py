"""A product whose halves meet element by element becomes two, and one kernel."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.text import print_graph
from nautilus_cli.ops.verifier import verify_graph
from nautilus_cli.passes import pipeline
from nautilus_cli.passes.products.halve_products import halve_products
from tests.support.random_graphs.checking import assert_plan_computes
from tests.unit.passes.sketches import Sketch, ops


def halves(s: Sketch, product: Value, *, by_slices: bool) -> tuple[Value, Value]:
    """Return both halves of a product's columns."""
    width = product.type.static[-1] // 2
    if by_slices:
        bounds = [(s.ints(first), s.ints(first + width), s.ints(-1)) for first in (0, width)]
        first, second = (s.node("Slice", (product, *one)) for one in bounds)
        return first, second
    left, right = s.apply("Split", (product, s.ints(width, width)), outputs=(None, None), axis=-1)
    assert left is not None and right is not None
    return left, right


@pytest.mark.parametrize("by_slices", [False, True])
@pytest.mark.parametrize("bias", ["none", "columns", "scalar"])
def test_a_gated_unit_of_one_projection(sketch: Sketch, same_results: Callable[[Graph, Graph], None], by_slices: bool, bias: str) -> None:
    """Phi's gate_up_proj, and GLU and GeGLU layers."""
    product = sketch.node("MatMul", (sketch.x(2, 5, 12), sketch.c(12, 20)))
    if bias != "none":
        product = sketch.node("Add", (sketch.c(20) if bias == "columns" else sketch.c(1), product))
    up, gate = halves(sketch, product, by_slices=by_slices)
    before = sketch.graph([("y", sketch.node("Mul", (up, sketch.node("Gelu", (gate,)))))])
    after = halve_products(before)
    verify_graph(after)
    assert list(ops(after)).count("MatMul") == 2 and "Slice" not in ops(after)
    same_results(before, after)
    assert print_graph(halve_products(after)) == print_graph(after)
    assert [group.kind for group in pipeline.run(before).groups] == ["gemm_pair"]
    assert_plan_computes(before)


def whole_is_read(s: Sketch, product: Value, up: Value, gate: Value) -> list[Value]:
    return [s.node("Mul", (up, gate)), s.node("Relu", (product,))]


def apart(s: Sketch, product: Value, up: Value, gate: Value) -> list[Value]:
    return [s.node("Relu", (up,)), s.node("Sigmoid", (gate,))]


def turned(s: Sketch, product: Value, up: Value, gate: Value) -> list[Value]:
    return [s.node("Mul", (up, s.node("Reshape", (s.node("Transpose", (gate,), perm=(1, 0)), s.ints(4, 6)))))]


@pytest.mark.parametrize("use", [whole_is_read, apart, turned])
def test_others_stay_whole(sketch: Sketch, use: Callable[[Sketch, Value, Value, Value], list[Value]]) -> None:
    product = sketch.node("MatMul", (sketch.x(4, 8), sketch.c(8, 12)))
    up, gate = halves(sketch, product, by_slices=False)
    graph = sketch.graph([(f"y{i}", value) for i, value in enumerate(use(sketch, product, up, gate))])
    assert print_graph(halve_products(graph)) == print_graph(graph)


@pytest.mark.parametrize("viewed", [False, True])
def test_a_product_that_leaves_before_its_bias_stays_whole(sketch: Sketch, viewed: bool) -> None:
    product = sketch.node("MatMul", (sketch.x(4, 8), sketch.c(8, 12)))
    up, gate = halves(sketch, sketch.node("Add", (product, sketch.c(12))), by_slices=False)
    leaving = sketch.node("Reshape", (product, sketch.ints(2, 2, 12))) if viewed else product
    graph = sketch.graph([("y", sketch.node("Mul", (up, gate))), ("product", leaving)])
    assert print_graph(halve_products(graph)) == print_graph(graph)
    assert_plan_computes(graph)


def test_a_half_that_leaves(sketch: Sketch) -> None:
    """A half that is an output too keeps its name and is stored beside the unit."""
    up, gate = halves(sketch, sketch.node("MatMul", (sketch.x(4, 8), sketch.c(8, 12))), by_slices=False)
    graph = sketch.graph([("y", sketch.node("Mul", (up, sketch.node("Tanh", (gate,))))), ("gate", gate)])
    assert [group.kind for group in pipeline.run(graph).groups] == ["gemm_pair"]
    assert_plan_computes(graph)

"""Products of the same rows are one, whose results are views."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.text import print_graph
from nautilus_cli.ops.verifier import verify_graph
from nautilus_cli.passes import pipeline
from nautilus_cli.passes.stack_products import stack_products
from tests.support.random_graphs.checking import assert_plan_computes
from tests.unit.passes.sketches import Sketch, ops


def heads(s: Sketch, value: Value, count: int) -> Value:
    """Return [batch, rows, width] as [batch, heads, rows, width of a head]."""
    batch, rows, width = value.type.static
    return s.node("Transpose", (s.node("Reshape", (value, s.ints(batch, rows, count, width // count))),), perm=(0, 2, 1, 3))


def attention(s: Sketch, biased: tuple[bool, bool, bool], *, key_heads: int = 4, turned: bool = False) -> Graph:
    """Return scores of 4 heads of 8, times the values; fewer heads of keys and values are repeated."""
    x = s.x(2, 5, 12)

    def projection(count: int, has_bias: bool) -> Value:
        matrix = s.node("Transpose", (s.c(8 * count, 12),), perm=(1, 0)) if turned else s.c(12, 8 * count)
        product = s.node("MatMul", (x, matrix))
        return heads(s, s.node("Add", (product, s.c(8 * count))) if has_bias else product, count)

    q, k, v = (projection(count, has) for count, has in zip((4, key_heads, key_heads), biased, strict=True))
    if key_heads == 1:
        k, v = (s.node("Expand", (one, s.ints(2, 4, 5, 8))) for one in (k, v))
    scores = s.node("Softmax", (s.node("MatMul", (q, s.node("Transpose", (k,), perm=(0, 1, 3, 2)))),), axis=-1)
    return s.graph([("y", s.node("MatMul", (scores, v)))])


@pytest.mark.parametrize("biased", [(True, True, True), (False, False, False), (True, False, True)])
@pytest.mark.parametrize("key_heads", [4, 1])
@pytest.mark.parametrize("turned", [False, True])
def test_projections_of_attention(
    sketch: Sketch, same_results: Callable[[Graph, Graph], None], biased: tuple[bool, bool, bool], key_heads: int, turned: bool
) -> None:
    before = attention(sketch, biased, key_heads=key_heads, turned=turned)
    after = stack_products(before)
    verify_graph(after)
    assert list(ops(after)).count("MatMul") == 3 and list(ops(after)).count("Add") == any(biased)
    same_results(before, after)
    assert print_graph(stack_products(after)) == print_graph(after)
    assert [group.kind for group in pipeline.run(before).groups] == ["gemm", "gemm", "row", "gemm"]
    assert_plan_computes(before)


def test_no_bias_adds_the_zero_that_changes_nothing(sketch: Sketch) -> None:
    (bias,) = (v for node in stack_products(attention(sketch, (True, False, True))).nodes if node.op == "Add" for v in node.inputs[1:])
    assert bias is not None and bias.constant is not None
    assert np.signbit(bias.constant[32:64]).all() and not bias.constant[32:64].any()


def followed(s: Sketch, x: Value) -> list[Value]:
    return [s.node("Relu", (s.node("MatMul", (x, s.c(12, 8))),)) for _ in range(2)]


def stored(s: Sketch, x: Value) -> list[Value]:
    return [s.node("MatMul", (x, s.c(12, 8))) for _ in range(2)]


def of_other_rows(s: Sketch, x: Value) -> list[Value]:
    return [heads(s, s.node("MatMul", (one, s.c(12, 8))), 2) for one in (x, s.node("Relu", (x,)))]


@pytest.mark.parametrize("build", [followed, stored, of_other_rows])
def test_others_stay_apart(sketch: Sketch, build: Callable[[Sketch, Value], list[Value]]) -> None:
    graph = sketch.graph([(f"y{i}", value) for i, value in enumerate(build(sketch, sketch.x(2, 5, 12)))])
    assert print_graph(stack_products(graph)) == print_graph(graph)

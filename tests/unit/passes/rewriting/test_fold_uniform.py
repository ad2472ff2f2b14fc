"""The rule on pointwise operators whose result is one number, whatever part of a constant a run uses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.ops.verifier import verify_graph
from nautilus_cli.passes.rewriting.apply_rules import all_rules, apply_rules
from nautilus_cli.passes.rewriting.rule import surroundings
from tests.unit.ops.open_lowered import evaluate_bound
from tests.unit.passes.sketches import Sketch, ops

TOKENS = symbol("tokens", 1, 6)


def places(s: Sketch, numbers: Sequence[int] = range(6)) -> Value:
    """Return the first TOKENS of some numbers as a column."""
    part = s.node("Slice", (s.constant(np.array(numbers)), s.ints(0), s.sizes([TOKENS]), s.ints(0), s.ints(1)))
    return s.node("Unsqueeze", (part, s.ints(1)))


def test_a_mask_that_hides_nothing_is_a_number() -> None:
    s = Sketch()
    x = s.input("x", TensorType(F32, (TOKENS, TOKENS)))
    seen = s.node("GreaterOrEqual", (places(s), s.constant(np.array(0))))
    everywhere = s.node("Expand", (seen, s.sizes([TOKENS, TOKENS])))
    mask = s.node("Where", (everywhere, s.constant(np.float32(0.5)), s.constant(np.float32(-np.inf))))
    graph = s.graph([("y", s.node("Add", (x, mask)))])
    after = apply_rules(graph)
    verify_graph(after)
    assert list(ops(after)) == ["Expand", "Add"]
    for tokens in (1, 6):
        array = np.random.default_rng(tokens).standard_normal((tokens, tokens)).astype(np.float32)
        (found,) = evaluate_bound(after, {"x": array}, {"tokens": tokens})
        np.testing.assert_array_equal(found, array + np.float32(0.5))


@pytest.mark.parametrize(
    ("bound", "why"),
    [(3, "the result is not the same for all elements"), ([0, 1], "two operands have elements that differ")],
)
def test_masks_that_stay(bound: object, why: str) -> None:
    s = Sketch()
    s.input("x", TensorType(F32, (TOKENS,)))
    graph = s.graph([("y", s.node("GreaterOrEqual", (places(s), s.constant(np.array(bound)))))])
    assert apply_rules(graph) is graph
    assert why in _reasons(graph)


def test_data_is_not_known() -> None:
    s = Sketch()
    x = s.input("x", TensorType(I64, (TOKENS, 1)))
    graph = s.graph([("y", s.node("GreaterOrEqual", (places(s), x)))])
    assert apply_rules(graph) is graph
    assert "an operand is no constant, and no movement of one" in _reasons(graph)


def _reasons(graph: Graph) -> set[str]:
    (rule,) = (rule for rule in all_rules() if rule.name == "fold_uniform")
    found = (rule.check(node, surroundings(graph)) for node in graph.nodes)
    return {why for why in found if isinstance(why, str)}

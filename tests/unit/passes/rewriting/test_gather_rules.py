"""Rules on look-ups by indices that are known but for how many of them a run uses: of constants, and of all elements in order."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.types import F32, TensorType
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.ops.verifier import verify_graph
from nautilus_cli.passes.rewriting.apply_rules import all_rules, apply_rules
from nautilus_cli.passes.rewriting.remove_identity import remove_identity
from nautilus_cli.passes.rewriting.rule import surroundings
from tests.unit.ops.open_lowered import evaluate_bound
from tests.unit.passes.sketches import Sketch, ops

BATCH, TOKENS = symbol("batch", 1, 3), symbol("tokens", 1, 6)
SIZES = [(1, 1), (3, 6), (2, 5)]


def reasons(graph: Graph, name: str) -> set[str]:
    (rule,) = (rule for rule in all_rules() if rule.name == name)
    found = (rule.check(node, surroundings(graph)) for node in graph.nodes)
    return {why for why in found if isinstance(why, str)}


def assert_same(before: Graph, after: Graph) -> None:
    verify_graph(after)
    random = np.random.default_rng(5)
    for batch, tokens in SIZES:
        x = random.standard_normal((batch, tokens)).astype(np.float32)
        sizes = {"batch": batch, "tokens": tokens}
        expected, found = (evaluate_bound(graph, {"x": x}, sizes) for graph in (before, after))
        for truth, result in zip(expected, found, strict=True):
            np.testing.assert_array_equal(result, truth)


def part(s: Sketch, indices: np.ndarray, axis: int, size: int, step: int = 1, start: int = 0) -> Value:
    """Return the first SIZE of constant indices along an axis."""
    bounds = s.ints(start), s.sizes([size]), s.ints(axis), s.ints(step)
    return s.node("Slice", (s.constant(indices), *bounds))


def test_positions_and_token_types_are_looked_up_when_compiling() -> None:
    s = Sketch()
    s.input("x", TensorType(F32, (BATCH, TOKENS)))
    positions = part(s, np.array([[4, 0, 3, 1, 2, 5]]), -1, TOKENS)
    types = s.node("GatherElements", (s.constant(np.zeros((2, 6), np.int64)), positions), axis=1)
    all_types = s.node("Expand", (types, s.sizes([BATCH, TOKENS])))
    table, kinds = s.c(4, 8), s.c(2, 4)
    across = s.node("Gather", (s.constant(np.arange(24, dtype=np.float32).reshape(4, 6)), positions), axis=1)
    found = [s.node("Gather", (s.c(6, 4), positions)), s.node("Gather", (kinds, all_types)), s.node("Gather", (table, positions), axis=-1)]
    graph = s.graph([(f"y{n}", value) for n, value in enumerate((*found, across))])
    after = apply_rules(graph)
    assert sorted(set(ops(after))) == ["Expand", "Slice"]
    assert_same(graph, after)


@pytest.mark.parametrize(
    ("indices", "table", "op", "why"),
    [
        ([0, 1, 9, 0, 0, 0], (4, 2), "Gather", "an index that no run may use lies outside the table"),
        ([[0] * 6] * 3, (2, 6), "GatherElements", "the indices that no run may use are larger than the table"),
        ([0] * 6, (1, 1 << 18), "Gather", f"what is looked up would take {6 << 20} bytes"),
    ],
)
def test_look_ups_that_stay(indices: list[object], table: tuple[int, int], op: str, why: str) -> None:
    s = Sketch()
    s.input("x", TensorType(F32, (BATCH, TOKENS)))
    array = np.array(indices)
    rows = symbol("rows", 1, 2)
    s.input("z", TensorType(F32, (rows,)))
    some = part(s, array, 0, rows if op == "GatherElements" else TOKENS)
    graph = s.graph([("y", s.node(op, (s.constant(np.zeros(table, np.float32)), some), axis=1 if op == "GatherElements" else 0))])
    assert apply_rules(graph) is graph
    assert why in reasons(graph, "gather_of_slice")


def pairs(s: Sketch) -> Value:
    """Return indices [batch, 1, 2, tokens, 2] that count along the first dimension, and along the last but one."""
    shape = [BATCH, 1, 2, TOKENS]
    parts = []
    for size, most, dim in ((BATCH, 3, 0), (TOKENS, 6, 3)):
        counted = part(s, np.arange(most, dtype=np.int64), 0, size)
        apart = s.node("Unsqueeze", (counted, s.ints(*(d for d in range(4) if d != dim))))
        parts.append(s.node("Unsqueeze", (s.node("Expand", (apart, s.sizes(shape))), s.ints(-1))))
    return s.node("Concat", parts, axis=-1)


def test_a_look_up_of_all_elements_in_order_is_a_view() -> None:
    s = Sketch()
    x = s.input("x", TensorType(F32, (BATCH, TOKENS)))
    turned = s.node("GatherND", (s.node("Transpose", (x,), perm=(1, 0)), s.node("Gather", (pairs(s), s.ints(1, 0)), axis=-1)))
    graph = s.graph([("y", s.node("GatherND", (x, pairs(s)))), ("turned", turned)])
    after = remove_identity(apply_rules(graph))
    assert [op for op in ops(after) if op == "GatherND"] == ["GatherND"], "the second one's indices are not apart"
    assert_same(graph, after)


def test_a_constant_look_up_of_all_elements_in_order() -> None:
    """Also where a dimension is 1, which nothing counts along."""
    for rows in (1, 3):
        s = Sketch()
        places = np.stack(np.meshgrid(np.arange(rows), np.arange(5), indexing="ij"), -1).transpose(1, 0, 2)[:, None]
        graph = s.graph([("y", s.node("GatherND", (s.x(rows, 5), s.constant(places.astype(np.int64)))))])
        after = apply_rules(graph)
        assert "GatherND" not in ops(after)
        x = np.random.default_rng(rows).standard_normal((rows, 5)).astype(np.float32)
        np.testing.assert_array_equal(evaluate(after, {"x": x})["y"], evaluate(graph, {"x": x})["y"])


@pytest.mark.parametrize(
    ("step", "start", "along", "is_view"),
    [(1, 0, (0, 1), True), (2, 0, (0, 1), False), (1, 1, (0, 1), False), (1, 0, (0, 0), False)],
    ids=["in-order", "every-other", "from-the-second", "both-along-one"],
)
def test_look_ups_in_another_order_stay(step: int, start: int, along: tuple[int, int], is_view: bool) -> None:
    """Beside one in order, of which each differs in one thing."""
    s = Sketch()
    x = s.input("x", TensorType(F32, (TOKENS, TOKENS)))
    columns = []
    for axis in along:
        counted = part(s, np.arange(20, dtype=np.int64), 0, step * TOKENS + start, step, start)
        spread = s.node("Expand", (s.node("Unsqueeze", (counted, s.ints(1 - axis))), s.sizes([TOKENS, TOKENS])))
        columns.append(s.node("Unsqueeze", (spread, s.ints(2))))
    graph = s.graph([("y", s.node("GatherND", (x, s.node("Concat", columns, axis=-1))))])
    assert ("GatherND" not in ops(apply_rules(graph))) is is_view
    told = "the indices do not count along a dimension of the result each"
    assert (told in reasons(graph, "gather_to_view")) is not is_view


def test_a_look_up_of_some_elements_stays() -> None:
    s = Sketch()
    x = s.input("x", TensorType(F32, (BATCH, 9)))
    places = pairs(s)
    graph = s.graph([("y", s.node("GatherND", (x, places)))])
    s.input("z", TensorType(F32, (TOKENS,)))
    assert "GatherND" in ops(apply_rules(graph))
    assert "the indices do not go through all of a dimension" in reasons(graph, "gather_to_view")

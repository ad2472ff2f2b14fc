"""Caches as one buffer: which pairs are, what becomes of what reads them, and why others are refused."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.text import print_graph
from nautilus_cli.lowering.memory.ports import ports
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.ops.verifier import verify_graph
from nautilus_cli.passes import pipeline
from nautilus_cli.passes.caches.alias_caches import CachePair, alias_caches, cache_pairs
from nautilus_cli.passes.fusion.fuse import fuse
from tests.unit.passes.sketches import Sketch, ops

LENGTH, ROWS, CAPACITY = 3, 2, 5


def appended(s: Sketch, length: int = LENGTH, rows: int = ROWS, name: str = "past") -> tuple[Value, Value, Value]:
    """Return a past of [2, length, 4], rows, and what they are together."""
    past, new = s.x(2, length, 4, name=name), s.node("Neg", (s.x(2, rows, 4, name=f"{name}'s rows"),))
    return past, new, s.node("Concat", (past, new), axis=1)


def attention() -> Graph:
    s = Sketch()
    past, new, present = appended(s)
    scores = s.node("MatMul", (new, s.node("Transpose", (present,), perm=(0, 2, 1))))
    return s.graph([("present", present), ("scores", scores), ("old", s.node("Neg", (past,)))])


def test_readers_see_slices_of_one_buffer() -> None:
    before = attention()
    after = alias_caches(before)
    verify_graph(after)
    assert cache_pairs(after) == (CachePair(input=0, output=0, axis=1, length=LENGTH, rows=ROWS, capacity=CAPACITY),)
    assert "Concat" not in ops(after)
    assert print_graph(alias_caches(after)) == print_graph(after)
    random = np.random.default_rng(0)
    feeds = {"past": random.standard_normal((2, LENGTH, 4), np.float32), "past's rows": random.standard_normal((2, ROWS, 4), np.float32)}
    room = np.full((2, CAPACITY, 4), np.nan, np.float32)
    room[:, :LENGTH] = feeds["past"]
    expected, found = evaluate(before, feeds), evaluate(after, {**feeds, "past": room})
    for name in ("present", "scores", "old"):
        np.testing.assert_array_equal(found[name], expected[name])


def test_ports_have_the_shapes_of_the_model() -> None:
    inputs, outputs = ports(alias_caches(attention()))
    assert inputs[0].shape == (2, LENGTH, 4) and outputs[0].shape == (2, CAPACITY, 4)
    assert inputs[0].stored_shape == outputs[0].stored_shape == (2, CAPACITY, 4)
    assert (inputs[0].bytes, outputs[1].shared) == (2 * CAPACITY * 4 * 4, None)


def test_the_room_is_that_of_the_longest() -> None:
    s = Sketch()
    *_, present = appended(s, symbol("past", 0, 100), symbol("rows", 1, 28))
    (pair,) = cache_pairs(alias_caches(s.graph([("present", present)])))
    assert pair.capacity == 128 and same(pair.length, symbol("past", 0, 100))


def test_writes_of_as_many_rows_are_one_kernel() -> None:
    s = Sketch()
    *_, keys = appended(s, name="keys")
    *_, values = appended(s, name="values")
    *_, others = appended(s, rows=1, name="others")
    fused = fuse(pipeline.simplify(s.graph([("k", keys), ("v", values), ("o", others)]), inplace_cache=True))
    assert [(group.kind, len(group.outputs)) for group in fused.groups] == [("cache_write", 2), ("cache_write", 1)]


def test_writes_of_which_one_needs_the_other_are_two_kernels() -> None:
    s = Sketch()
    *_, first = appended(s, name="first")
    summed = s.node("ReduceMean", (first, s.ints(1)), keepdims=1)
    rows = s.node("Concat", (summed, summed), axis=1)
    second = s.node("Concat", (s.x(2, LENGTH, 4, name="second"), rows), axis=1)
    fused = fuse(pipeline.simplify(s.graph([("a", first), ("b", second)]), inplace_cache=True))
    assert [group.kind for group in fused.groups] == ["cache_write", "row", "cache_write"]


def joined_three(s: Sketch) -> Value:
    return s.node("Concat", (s.x(2, 3, 4, name="past"), s.x(2, 1, 4, name="a"), s.x(2, 1, 4, name="b")), axis=1)


def joined_to_itself(s: Sketch) -> Value:
    past = s.x(2, 3, 4, name="past")
    return s.node("Concat", (past, past), axis=1)


def in_front(s: Sketch) -> Value:
    past = s.x(2, 3, 4, name="past")
    return s.node("Concat", (s.node("Exp", (s.x(2, 1, 4, name="a"),)), past), axis=1)


def no_concat(s: Sketch) -> Value:
    return s.node("Neg", (s.x(2, 3, 4, name="past"),))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (joined_three, "'n' .Concat.: input 'past' and output 'present' cannot lie in the same memory: 3 tensors are joined"),
        (joined_to_itself, "it is joined to itself"),
        (in_front, "'n' .Concat.: output 'present' is not input 'past' with rows appended"),
        (no_concat, "'n' .Neg.: output 'present' is not input 'past' with rows appended"),
    ],
)
def test_what_cannot_be_one_buffer_is_refused(make, told: str) -> None:
    s = Sketch()
    with pytest.raises(ModelError, match=told):
        alias_caches(s.graph([("present", make(s))]))


def test_two_outputs_cannot_go_on_from_one_input() -> None:
    s = Sketch()
    past, rows, first = appended(s)
    second = s.node("Concat", (past, s.node("Neg", (rows,))), axis=1)
    with pytest.raises(ModelError, match="output 'a' goes on from the same input"):
        alias_caches(s.graph([("a", first), ("b", second)]))


def test_a_model_without_a_pair_is_refused_where_caches_are_wanted() -> None:
    s = Sketch()
    graph = s.graph([("y", s.node("Neg", (s.x(2),)))])
    assert alias_caches(graph) is not None
    with pytest.raises(ModelError, match="--inplace-cache: no output is an input with rows appended"):
        pipeline.simplify(graph, inplace_cache=True)

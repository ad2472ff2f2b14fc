"""Caches packed in one tensor: what is one, what becomes of it, and what is none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.ops.split import SplitAttrs
from nautilus_cli.ops.verifier import verify_graph
from nautilus_cli.passes.caches.alias_caches import CachePair, alias_caches, cache_pairs
from tests.unit.passes.sketches import Sketch, ops

LENGTH, ROWS, CAPACITY = 3, 2, 5
Order = Callable[[list[Value]], list[Value]]


def packed(order: Order = lambda parts: parts, *, axis: int = 0) -> Graph:
    """Keys and values in one tensor [2, 2, length, 4]: rows are appended to each; the values' rows follow from the keys."""
    s = Sketch()
    past = s.x(2, 2, LENGTH, 4, name="past")
    keys, values = (s.node("Squeeze", (part, s.ints(0))) for part in s.results("Split", (past,), 2, SplitAttrs(axis=0)))
    rows = s.node("Neg", (s.x(2, ROWS, 4, name="rows"),))
    all_keys = s.node("Concat", (keys, rows), axis=1)
    summed = s.node("ReduceSum", (all_keys, s.ints(1)), keepdims=1)
    others = s.node("Concat", (summed, s.node("Exp", (summed,))), axis=1)
    all_values = s.node("Concat", (values, others), axis=1)
    parts = [s.node("Unsqueeze", (whole, s.ints(axis))) for whole in order([all_keys, all_values])]
    present, total = s.node("Concat", tuple(parts), axis=axis), s.node("ReduceSum", (all_values, s.ints(1)), keepdims=0)
    return s.graph([("present", present), ("sum", total)])


def test_each_region_is_written_by_itself() -> None:
    before = packed()
    after = alias_caches(before)
    verify_graph(after)
    assert cache_pairs(after) == (CachePair(input=0, output=0, axis=2, length=LENGTH, rows=ROWS, capacity=CAPACITY),)
    assert list(ops(after)).count("nautilus::CacheWrite") == 2
    random = np.random.default_rng(0)
    feeds = {"past": random.standard_normal((2, 2, LENGTH, 4), np.float32), "rows": random.standard_normal((2, ROWS, 4), np.float32)}
    room = np.full((2, 2, CAPACITY, 4), np.nan, np.float32)
    room[:, :, :LENGTH] = feeds["past"]
    expected, found = evaluate(before, feeds), evaluate(after, {**feeds, "past": room})
    for name in ("present", "sum"):
        np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.parametrize("make", [lambda: packed(lambda parts: parts[::-1]), lambda: packed(axis=1)])
def test_what_lies_elsewhere_in_the_output_is_no_such_cache(make: Callable[[], Graph]) -> None:
    """Values where the keys were, or keys and values one behind the other for each of the batch."""
    with pytest.raises(ModelError, match="output 'present' is not input 'past' with rows appended by Concat"):
        alias_caches(make())

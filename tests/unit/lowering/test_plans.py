"""Plans, run in numpy: passes, fusion and lowering together keep what a graph computes."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.lowering.planner import plan
from nautilus_cli.passes import pipeline
from nautilus_cli.targets.registry import target
from tests.support.random_graphs.building import analytic
from tests.support.random_graphs.checking import assert_plan_computes, assert_plan_matches, interpreted
from tests.support.random_graphs.drawing import draw
from tests.unit.passes.sketches import Sketch

BLOCKS = 8


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_graphs(block: int) -> None:
    """What is drawn covers every kind of node; see `tests/e2e/test_random_graphs.py` for the same on compiled kernels."""
    for seed in range(block * 50, block * 50 + 50):
        assert_plan_matches(draw(seed))


def test_random_graphs_for_a_gpu() -> None:
    """Schedules differ; plans must not care."""
    for seed in range(1000, 1020):
        assert_plan_matches(draw(seed), "sm_90a")


def test_a_pool_of_powers() -> None:
    """LpPool of every norm and both types."""
    for p in (1, 2, 3):
        s = Sketch()
        y = s.node("LpPool", (s.x(2, 3, 7, 6),), kernel_shape=(3, 2), strides=(2, 2), pads=(1, 0, 1, 1), p=p, ceil_mode=1)
        assert_plan_computes(s.graph([("y", y)]))


def test_an_empty_dimension_behind_movement() -> None:
    """Slices of slices of nothing, and a gather that is a slice."""
    s = Sketch()
    x = s.x(4, 3, 0)
    turned = s.node("Transpose", (s.node("Slice", (x, s.ints(3), s.ints(0), s.ints(0), s.ints(-1))),), perm=(2, 0, 1))
    row = s.node("Gather", (x, s.constant(np.array(1))), axis=1)
    assert_plan_computes(s.graph([("y", s.node("Relu", (turned,))), ("row", row)]))


def test_padding_around_nothing_is_the_fill_value() -> None:
    """A guard that never holds needs no load, and there is nothing to load from."""
    s = Sketch()
    x = s.node("Transpose", (s.x(0, 3),), perm=(1, 0))
    y = s.node("Pad", (x, s.ints(0, 1, 0, 1), s.constant(np.float32(2.5))))
    z = s.node("Concat", (x, s.x(3, 2, name="z")), axis=1)
    assert_plan_computes(s.graph([("y", s.node("Neg", (y,))), ("z", s.node("Neg", (z,)))]))


def test_rows_without_columns() -> None:
    """A sum of nothing is zero, and what is stored for each element is empty."""
    s = Sketch()
    x = s.node("Relu", (s.x(4, 0),))
    assert_plan_computes(s.graph([("x", x), ("sum", s.node("ReduceSum", (x, s.ints(1))))]))


def test_a_factor_of_zero_reads_nothing() -> None:
    """Gemm with beta = 0 does not read C, not even its NaNs; truth and kernels agree."""
    s = Sketch()
    a, c = s.x(3, 4), s.input("c", TensorType(F32, (2,)))
    graph = s.graph([("y", s.node("Gemm", (a, s.c(4, 2), c), beta=0.0))])
    feeds = {"x": np.ones((3, 4), np.float32), "c": np.full(2, np.nan, np.float32)}
    assert np.isfinite(interpreted(graph, feeds)["y"]).all()


def test_a_view_of_an_output_that_is_an_output() -> None:
    """Every way in which a result can be an output more than once."""
    s = Sketch()
    x = s.x(4, 6)
    y = s.node("Relu", (x,))
    flat = s.node("Reshape", (y, s.ints(24)))
    turned = s.node("Transpose", (y,), perm=(1, 0))
    outputs = [
        ("x", x),
        ("y", y),
        ("again", y),
        ("flat", flat),
        ("turned", turned),
        ("c", s.c(3)),
        ("moved", s.node("Slice", (x, s.ints(1), s.ints(3)))),
    ]
    assert_plan_computes(s.graph(outputs))


@pytest.mark.parametrize("is_whole_sequence_read", [False, True])
def test_views_of_the_last_state_of_a_recurrence_are_stored_at_the_end(is_whole_sequence_read: bool) -> None:
    """They have its elements, not those of the whole sequence; and so has what is fused behind it where nothing reads that."""
    s = Sketch()
    y, last = s.apply("RNN", (s.x(3, 2, 4), s.c(1, 5, 4), s.c(1, 5, 5)), outputs=(None, None), hidden_size=5)
    assert y is not None and last is not None
    view = s.node("Transpose", (last,), perm=(1, 0, 2))
    outputs = [("view", view), ("after", s.node("Relu", (last,)))] + ([("y", y)] if is_whole_sequence_read else [])
    planned = plan(pipeline.run(s.graph(outputs)), target("emulated"), analytic, fp32_mode="ffma")
    (kernel,) = [k for k in planned.kernels if k.request.family == "recurrent"]
    functors = dict(kernel.request.functors)
    found = {name: [store.map.extents for store in functors[name].stores] for name in ("Output", "Final")}
    assert set(found["Final"]) == {(1, 2, 5)}
    assert found["Output"] == [(1, 3, 2, 5)] * is_whole_sequence_read


def test_a_gather_of_views_and_by_computed_indices() -> None:
    """The data is copied where it is a view; indices may be computed while they are read."""
    s = Sketch()
    data = s.node("Transpose", (s.x(5, 3),), perm=(1, 0))
    index = s.input("index", TensorType(I64, (2, 2)))
    computed = s.node("Sub", (index, s.constant(np.array(1))))
    assert_plan_computes(s.graph([("y", s.node("Relu", (s.node("Gather", (data, computed), axis=1),)))]))

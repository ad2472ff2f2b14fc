"""Resampling and grid sampling: which coordinates a kernel has, by how the tensors lie in memory."""

from __future__ import annotations

from nautilus_cli.ir.graph import Value
from nautilus_cli.kernels import grid_sample, resize
from nautilus_cli.lowering.plan import Plan
from tests.unit.lowering.test_planner import expression, planned
from tests.unit.passes.sketches import Sketch


def convolved(s: Sketch, x: Value) -> Value:
    return s.node("Conv", [x, s.c(16, x.type.static[1], 1, 1)])


def resized(s: Sketch, x: Value, *sizes: int) -> Value:
    return s.node("Resize", [x, None, None, s.ints(*sizes)], mode="linear")


def problems(found: Plan) -> list[object]:
    return [found.kernels[launch.kernel].request.problem for launch in found.launches]


def test_planes_where_channels_are_outermost() -> None:
    s = Sketch()
    found = planned(s.graph([("y", resized(s, s.x(2, 3, 4, 5), 2, 3, 8, 9))]))
    (problem,) = problems(found)
    assert isinstance(problem, resize.Problem)
    assert (problem.rows, problem.channels, problem.inputs, problem.outputs, problem.taps) == (6, 1, (4, 5), (8, 9), (2, 2))
    assert len(found.launches[0].words) == 2 + 4, "the element, the result, and two tables for each axis"


def test_channels_last_behind_a_convolution() -> None:
    s = Sketch()
    found = planned(s.graph([("y", convolved(s, resized(s, convolved(s, s.x(2, 3, 4, 5)), 2, 16, 8, 9)))]))
    problem = problems(found)[1]
    assert isinstance(problem, resize.Problem)
    assert (problem.rows, problem.channels) == (2, 16)
    (load, *_) = expression(found, 1, "X").steps
    assert load.map.contiguous_width(8) == 8  # type: ignore[union-attr]


def test_work_around_it_joins() -> None:
    s = Sketch()
    y = s.node("Sigmoid", [resized(s, s.node("Relu", [s.x(1, 2, 4, 4)]), 1, 2, 7, 7)])
    assert len(planned(s.graph([("y", y)])).launches) == 1


def test_axes_apart() -> None:
    """What is not resampled joins rows or channels, wherever it lies."""
    s = Sketch()
    (problem,) = problems(planned(s.graph([("y", resized(s, s.x(5, 3, 4, 6), 9, 3, 7, 6))])))
    assert isinstance(problem, resize.Problem)
    assert (problem.rows, problem.inputs, problem.channels) == (3, (5, 4), 6)


def test_a_grid_takes_the_order_of_the_image() -> None:
    s = Sketch()
    image, grid = convolved(s, s.x(2, 3, 4, 5)), s.x(2, 6, 7, 2, name="grid")
    sampled = s.node("GridSample", [image, grid], padding_mode="border")
    found = problems(planned(s.graph([("y", convolved(s, sampled))])))[1]
    assert isinstance(found, grid_sample.Problem)
    assert (found.images, found.samples, found.channels, found.sizes) == (2, 42, 16, (4, 5))
    assert found.is_channels_last and found.is_clamped and not found.is_reflected
    s = Sketch()
    (found,) = problems(planned(s.graph([("y", s.node("GridSample", [s.x(2, 3, 4, 5), s.x(2, 6, 7, 2, name="grid")]))])))
    assert isinstance(found, grid_sample.Problem) and not found.is_channels_last

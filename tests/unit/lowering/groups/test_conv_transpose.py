"""Transposed convolutions: which tap stands where in the packed weights."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.ir.expression import Load
from nautilus_cli.kernels.conv_transpose import Problem
from nautilus_cli.lowering.building.packing import gather
from nautilus_cli.lowering.groups.conv_transpose import class_walk
from tests.unit.lowering.test_planner import expression, planned
from tests.unit.passes.sketches import Sketch


@pytest.mark.parametrize(("strides", "dilations"), [((2, 3), (1, 1)), ((2, 2), (1, 1)), ((4, 1), (2, 3)), ((3, 2), (3, 1))])
def test_classes_of_taps(strides: tuple[int, ...], dilations: tuple[int, ...]) -> None:
    groups, inside, outside, kernel = 2, 3, 4, (4, 5)
    weights = np.arange(1, 1 + groups * inside * outside * 20, dtype=np.float32).reshape(groups * inside, outside, *kernel)
    packed = gather(weights, class_walk(weights.shape, groups, strides, dilations))
    steps = [s // int(np.gcd(s, d)) for s, d in zip(strides, dilations, strict=True)]
    counts = [-(-k // s) for k, s in zip(kernel, steps, strict=True)]
    assert packed.shape == (groups * outside, steps[0] * steps[1], counts[0] * counts[1] * inside)
    for channel, first, k in np.ndindex(packed.shape):
        number, c = divmod(k, inside)
        y = first // steps[1] + number // counts[1] * steps[0]
        x = first % steps[1] + number % counts[1] * steps[1]
        wanted = weights[channel // outside * inside + c, channel % outside, y, x] if y < kernel[0] and x < kernel[1] else 0
        assert packed[channel, first, k] == wanted


def test_constants_are_packed_and_others_guarded() -> None:
    s = Sketch()
    attrs = {"strides": (2, 2), "pads": (1, 1, 1, 1)}
    found = planned(s.graph([("y", s.node("ConvTranspose", [s.x(1, 8, 5, 5), s.c(8, 4, 3, 3)], **attrs))]))
    (load,) = expression(found, 0, "Weight").steps
    assert isinstance(load, Load) and not load.map.is_guarded
    assert load.map.contiguous_width(4) == 4
    assert [w.recipe for w in found.weights] == ["conv_transpose_classes"]
    s = Sketch()
    found = planned(s.graph([("y", s.node("ConvTranspose", [s.x(1, 8, 5, 5), s.x(8, 4, 3, 3, name="w")], **attrs))]))
    (load,) = expression(found, 0, "Weight").steps
    assert isinstance(load, Load) and load.map.is_guarded, "three taps in two classes of two: one is missing"


def test_work_around_it_is_one_kernel() -> None:
    s = Sketch()
    y = s.node("ConvTranspose", [s.node("Relu", [s.x(1, 8, 5)]), s.c(8, 4, 4), s.c(4)], strides=(2,))
    found = planned(s.graph([("y", s.node("Sigmoid", [y]))]))
    assert len(found.launches) == 1
    problem = found.kernels[0].request.problem
    assert isinstance(problem, Problem)
    assert (problem.in_height, problem.in_width, problem.out_width, problem.stride_width) == (1, 5, 12, 2)

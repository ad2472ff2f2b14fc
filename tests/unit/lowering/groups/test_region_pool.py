"""Regions: their corners are computed while they are read."""

from __future__ import annotations

import pytest

from nautilus_cli.ir.types import F16, F32, I64, TensorType
from nautilus_cli.kernels.region_pool import Problem
from tests.unit.lowering.test_planner import planned
from tests.unit.passes.sketches import Sketch


@pytest.mark.parametrize("dtype", [F32, F16])
def test_roi_align_is_one_kernel(dtype: object) -> None:
    s = Sketch(dtype)  # type: ignore[arg-type]
    x, rois, images = s.x(2, 8, 9, 9), s.x(5, 4, name="rois"), s.input("images", TensorType(I64, (5,)))
    y = s.node("RoiAlign", [x, rois, images], output_height=3, output_width=2, spatial_scale=0.25, sampling_ratio=2)
    found = planned(s.graph([("y", s.node("Relu", [y]))]))
    assert len(found.launches) == 1
    problem = found.kernels[0].request.problem
    assert isinstance(problem, Problem)
    assert (problem.regions, problem.images, problem.out_height, problem.out_width, problem.samples) == (5, 2, 3, 2, 2)
    assert not problem.is_bounded and problem.combine == "sum"
    assert found.launches[0].words[-1].kind == "status"


def test_max_roi_pool_rounds_in_the_kernel_or_before() -> None:
    s = Sketch()
    found = planned(s.graph([("y", s.node("MaxRoiPool", [s.x(2, 8, 9, 9), s.x(5, 5, name="rois")], pooled_shape=(2, 2)))]))
    problem = found.kernels[found.launches[-1].kernel].request.problem
    assert isinstance(problem, Problem) and problem.is_whole and problem.combine == "max"

"""Images of one to three spatial dimensions as planes, rows, columns and channels."""

from __future__ import annotations

from typing import Any

import pytest

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import from_strides
from nautilus_cli.ir.types import F32, TensorType
from nautilus_cli.kernels.conv import Problem
from nautilus_cli.lowering.building.windows import image, window_fields
from nautilus_cli.ops.conv import ConvAttrs
from tests.unit.lowering.test_planner import planned
from tests.unit.passes.sketches import Sketch


def tensor(*shape: int) -> Value:
    return Value(TensorType(F32, shape))


def test_walks() -> None:
    assert image(tensor(2, 3, 5)).walk == from_strides((2, 1, 5, 3), (15, 0, 1, 5))
    assert image(tensor(2, 3, 4, 5)).walk == from_strides((2, 4, 5, 3), (60, 5, 1, 20))
    volume = image(tensor(2, 3, 7, 4, 5)).walk
    assert volume.extents == (14, 4, 5, 3)
    offsets, _ = volume.offsets()
    assert offsets[9, 3, 1, 2] == ((1 * 3 + 2) * 7 + 2) * 20 + 3 * 5 + 1


def test_missing_dimensions_are_one() -> None:
    attrs = ConvAttrs(kernel_shape=(3, 2), strides=(2, 1), dilations=(1, 2), pads=(1, 0, 2, 3))
    fields = window_fields(image(tensor(2, 3, 8, 9)), image(tensor(2, 4, 5, 10)), attrs)
    numbers = {"in": (1, 8, 9), "out": (1, 5, 10), "kernel": (1, 3, 2), "stride": (1, 2, 1), "dilation": (1, 1, 2)}
    wanted = {f"{what}_{along}": n for what, three in numbers.items() for along, n in zip(("depth", "height", "width"), three, strict=True)}
    assert fields == {"batch": 2, **wanted, "pad_front": 0, "pad_top": 1, "pad_left": 0}


def problem(**attributes: Any) -> Any:
    """Return the problem of the only kernel that a convolution of a volume becomes."""
    s = Sketch()
    weights = attributes.pop("weights")
    found = planned(s.graph([("y", s.node("Conv", [s.x(1, 8, 6, 7, 8), s.c(*weights)], **attributes))]))
    assert len(found.kernels) == 1
    return found.kernels[0].request.problem


def test_a_volume() -> None:
    found = problem(weights=(4, 8, 3, 2, 1), pads=(1, 0, 0, 2, 1, 0), strides=(2, 1, 1))
    assert isinstance(found, Problem)
    assert (found.in_depth, found.out_depth, found.kernel_depth, found.stride_depth, found.pad_front) == (6, 4, 3, 2, 1)
    assert found.product.k == 8 * 6


def test_windows_apart_are_the_rows_of_a_product() -> None:
    found = problem(weights=(4, 8, 3, 2, 1), strides=(3, 2, 4))
    assert (found.m, found.n, found.k) == (2 * 3 * 2, 4, 8 * 6)


def test_windows_that_touch_padding_or_each_other_are_none() -> None:
    for attributes in (
        {"strides": (3, 1, 1)},
        {"strides": (3, 2, 1), "pads": (0, 0, 0, 0, 1, 0)},
        {"strides": (3, 3, 1), "dilations": (1, 2, 1)},
    ):
        assert isinstance(problem(weights=(4, 8, 3, 2, 1), **attributes), Problem)


@pytest.mark.parametrize("strides", [(1, 1, 1), (2, 3, 1)])
def test_one_tap_is_a_product(strides: tuple[int, ...]) -> None:
    found = problem(weights=(4, 8, 1, 1, 1), strides=strides)
    assert (found.n, found.k) == (4, 8)
    assert found.m == -(-6 // strides[0]) * -(-7 // strides[1]) * 8

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nautilus_cli.ops.registry import operators
from tests.unit.ops.microsoft.contrib import agrees, floats, refuses
from tests.unit.ops.oracle import onnxruntime_says, same

RNG = np.random.default_rng(6)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_gather_nd(kind: Any) -> None:
    agrees("GatherND", [floats(RNG, 3, 4, 5), RNG.integers(0, 3, (2, 6, 2)).astype(kind)])


@pytest.mark.parametrize(
    ("mode", "pads"), [("constant", [1, 0, 2, 3]), ("constant", [-1, 2, 0, -1]), ("reflect", [1, 2, 1, 2]), ("edge", [2, 0, 0, 3])]
)
def test_pad(mode: str, pads: list[int]) -> None:
    value = np.array([1.5], np.float32) if mode == "constant" else None
    arrays = [floats(RNG, 4, 5), np.array([pads]), value]
    agrees("Pad", arrays if value is not None else arrays[:2], {"mode": mode})


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [None, -1, 2])
def test_trilu(upper: int, k: int | None) -> None:
    agrees("Trilu", [floats(RNG, 2, 4, 5), *(() if k is None else (np.array(k),))], {"upper": upper})


@pytest.mark.parametrize("axis", [0, 2, -1])
def test_expand_dims(axis: int) -> None:
    agrees("ExpandDims", [floats(RNG, 2, 3), np.array(axis, np.int32)])


def test_range() -> None:
    for kind in (np.float32, np.int32, np.int64):
        agrees("Range", [np.array(1, kind), np.array(8, kind)])
        agrees("Range", [np.array(9, kind), np.array(2, kind), np.array(-2, kind)])


def test_unique_keeps_the_order_of_first_occurrence() -> None:
    agrees("Unique", [np.array([2, 1, 1, 3, 4, 3], np.float32)], outputs=3)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample(mode: str, padding: str) -> None:
    grid = RNG.uniform(-1.2, 1.2, (2, 3, 5, 2)).astype(np.float32)
    agrees("GridSample", [floats(RNG, 2, 3, 4, 6), grid], {"mode": mode, "padding_mode": padding}, terms=16)


def test_conv_transpose_with_pads_as_an_operand() -> None:
    x, w, bias, pads = floats(RNG, 1, 4, 5, 6), floats(RNG, 4, 3, 3, 3), floats(RNG, 3), np.array([1, 0, 0, 1])
    (wanted,) = onnxruntime_says("ConvTranspose", [x, w, bias], {"strides": [2, 2], "pads": pads.tolist()}, 1, 22)
    operator = operators()["com.microsoft::ConvTransposeWithDynamicPads"]
    (found,) = operator.evaluate(operator.attributes(strides=(2, 2)), (x, w, pads, bias), 1)
    same(found, wanted, terms=64, depth=2)
    refuses("ConvTransposeWithDynamicPads", [x, w, pads, bias], {}, "'Pads' decides the result's shape", known=False)


def test_refusals() -> None:
    x = floats(RNG, 3, 4)
    refuses("Pad", [x, np.array([1, 1])], {}, "'pads' has shape")
    refuses("ExpandDims", [x, np.array(4, np.int32)], {}, "axis is 4")
    refuses("Unique", [x], {}, "rank")
    refuses("GridSample", [x, x], {"mode": "linear"}, "mode is 'linear'")
    refuses("GatherND", [x, x], {}, "'indices' has type f32")

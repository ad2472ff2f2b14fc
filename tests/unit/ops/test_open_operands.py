"""Operators whose operands decide shapes, with elements that are only known when the model runs: lowered once, right at all values."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.ir.dims import symbol, upper
from nautilus_cli.ir.types import F32, TensorType
from tests.unit.ops.open_lowered import Open, elements

N, M = symbol("n", 1, 9), symbol("m", 1, 20)
RANDOM = np.random.default_rng(5)


def data(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def vector(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_slice_of_any_bounds_forwards_and_backwards() -> None:
    for step in (1, 2, -1, -3):
        one = Open(
            "Slice",
            {
                "x": TensorType(F32, (4, N)),
                "starts": elements("starts", (-30, 30)),
                "ends": elements("ends", (-30, 30)),
                "axes": vector(1),
                "steps": vector(step),
            },
        )
        assert upper(one.inferred[0].static[1]) <= 9
        for n in (1, 2, 9):
            for start in (-30, -n - 1, -n, -1, 0, 1, n - 1, n, 30):
                for end in (-30, -n - 1, -n, -1, 0, n // 2, n, n + 1, 30):
                    one.check({"x": data(4, n), "starts": vector(start), "ends": vector(end)})


def test_slice_with_steps_and_axes_that_are_open() -> None:
    one = Open(
        "Slice",
        {
            "x": TensorType(F32, (5, N, 4)),
            "starts": elements("starts", (-12, 12), (-12, 12)),
            "ends": elements("ends", (-12, 12), (-12, 12)),
            "axes": elements("axes", (-3, 2), (-3, 2)),
            "steps": elements("steps", (-4, 4), (-4, 4)),
        },
    )
    assert [upper(d) for d in one.inferred[0].static] == [5, 9, 4]
    for _ in range(200):
        axes = RANDOM.permutation(3)[:2] - 3 * RANDOM.integers(0, 2, 2)
        steps = RANDOM.integers(1, 5, 2) * RANDOM.choice([-1, 1], 2)
        arrays = {"starts": RANDOM.integers(-12, 13, 2), "ends": RANDOM.integers(-12, 13, 2), "axes": axes, "steps": steps}
        one.check({"x": data(5, int(RANDOM.integers(1, 10)), 4), **arrays})


def test_slice_refuses_a_step_of_zero_where_it_is_known() -> None:
    with pytest.raises(Exception, match="does not allow 0"):
        Open(
            "Slice", {"x": TensorType(F32, (5,)), "starts": elements("s", (0, 3)), "ends": vector(5), "axes": vector(0), "steps": vector(0)}
        )


def test_tile() -> None:
    one = Open("Tile", {"x": TensorType(F32, (3, N)), "repeats": elements("repeats", (0, 4), (0, 5))})
    for n in (1, 4, 9):
        for repeats in ((0, 3), (1, 1), (4, 5), (2, 0)):
            one.check({"x": data(3, n), "repeats": vector(*repeats)})


@pytest.mark.parametrize("largest", [0, 1])
def test_top_k(largest: int) -> None:
    one = Open("TopK", {"x": TensorType(F32, (3, 12, 2)), "k": elements("k", (0, 12))}, outputs=2, axis=1, largest=largest)
    for k in (0, 1, 5, 12):
        one.check({"x": data(3, 12, 2), "k": vector(k)})


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot(axis: int) -> None:
    on = np.array([-1, 2], np.float32)
    one = Open("OneHot", {"indices": TensorType(F32, (2, N)), "depth": elements("depth", (0, 7)), "values": on}, axis=axis)
    for depth in (0, 1, 7):
        one.check({"indices": RANDOM.integers(-9, 10, (2, 5)).astype(np.float32), "depth": vector(depth)})


def test_range_with_steps_of_either_sign() -> None:
    one = Open("Range", {name: elements(name, (-20, 20), is_scalar=True) for name in ("start", "limit", "delta")})
    for start, limit, delta in ((0, 10, 1), (3, 20, 4), (10, -7, -3), (5, 5, 1), (5, 9, -1), (-20, 20, 1), (20, -20, -1), (0, 1, 20)):
        one.check({"start": np.array(start), "limit": np.array(limit), "delta": np.array(delta)})


@pytest.mark.parametrize("upper", [0, 1])
def test_trilu_of_open_matrices(upper: int) -> None:
    one = Open("Trilu", {"x": TensorType(F32, (2, N, M)), "k": elements("k", (-25, 25))}, upper=upper)
    for n, m, k in ((1, 1, 0), (4, 7, 2), (9, 20, -3), (5, 5, 25), (5, 5, -25)):
        one.check({"x": data(2, n, m), "k": vector(k)})

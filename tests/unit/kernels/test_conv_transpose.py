from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.ir.types import F32
from nautilus_cli.kernels.conv_transpose import FAMILY, Problem
from nautilus_cli.targets.registry import target, targets


def problem(size: int, kernel: int, stride: int, dilation: int = 1, pad: int = 0, **fields: Any) -> Problem:
    out = (size - 1) * stride + (kernel - 1) * dilation + 1 - 2 * pad
    numbers: dict[str, Any] = {"batch": 2, "groups": 1, "in_channels": 16, "out_channels": 24, **fields}
    return Problem(
        in_height=size,
        in_width=size,
        out_height=out,
        out_width=out,
        kernel_height=kernel,
        kernel_width=kernel,
        stride_height=stride,
        stride_width=stride,
        dilation_height=dilation,
        dilation_width=dilation,
        pad_top=pad,
        pad_left=pad,
        accumulate=F32,
        **numbers,
    )


def test_phases_share_out_the_taps() -> None:
    halves = problem(14, kernel=4, stride=2, pad=1, groups=3)
    assert (halves.steps, halves.class_taps) == ((1, 2, 2), (1, 2, 2))
    assert (halves.product.batch, halves.product.m, halves.product.n, halves.product.k) == (3 * 4, 2 * 14 * 14, 24, 4 * 16)
    uneven = problem(14, kernel=3, stride=2)
    assert uneven.class_taps == (1, 2, 2), "the larger class decides"
    assert problem(14, kernel=3, stride=4, dilation=2).steps == (1, 2, 2), "every second pixel is reached by no tap"
    assert problem(14, kernel=3, stride=2, dilation=2).class_taps == (1, 3, 3)


def test_every_tap_is_in_one_class() -> None:
    """By the arithmetic of the kernel: the first tap of a phase, and steps from it."""
    for stride, dilation, kernel, pad in product(range(1, 7), range(1, 7), range(1, 6), range(3)):
        one = problem(5, kernel, stride, dilation, pad)
        step = one.steps[1]
        for phase in range(stride):
            wanted = [r for r in range(kernel) if (phase + pad - r * dilation) % stride == 0]
            found = [r for r in range(kernel) if wanted and r % step == wanted[0] % step]
            assert wanted == found
            assert len(wanted) <= one.class_taps[1]


@settings(max_examples=60)
@given(st.integers(1, 60), st.integers(1, 9), st.integers(1, 8), st.integers(1, 300), st.integers(1, 300), st.integers(1, 4))
def test_choice_is_legal(size: int, kernel: int, stride: int, inside: int, outside: int, groups: int) -> None:
    one = problem(size, kernel, stride, groups=groups, in_channels=inside, out_channels=outside)
    for where in targets().values():
        schedule = FAMILY.choose(one, where)
        assert FAMILY.violations(one, schedule, where) == ()
        x, y, z = FAMILY.geometry(one, schedule).grid
        assert x == -(-one.product.m // schedule.tile_m) * -(-one.product.n // schedule.tile_n)
        assert y * z >= groups * stride * stride


def test_the_search_space_has_the_choice() -> None:
    hopper, one = target("sm_90a"), problem(28, 4, 2, pad=1)
    legal = [s for s in FAMILY.schedules(one, hopper) if not FAMILY.violations(one, s, hopper)]
    assert FAMILY.choose(one, hopper) in legal

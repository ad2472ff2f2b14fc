from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.ir.types import F16, F32, F64
from nautilus_cli.kernels import depthwise, pool
from nautilus_cli.kernels.strip import Schedule
from nautilus_cli.targets.registry import target, targets

SCHEDULE = Schedule(threads=128, lanes=16, vector=4, pixels=4)


def pooling(channels: int, width: int, kernel: int, stride: int = 1, dilation: int = 1) -> pool.Problem:
    return pool.Problem(
        batch=1,
        channels=channels,
        in_height=width,
        in_width=width,
        out_height=width,
        out_width=width,
        kernel_height=kernel,
        kernel_width=kernel,
        stride_height=stride,
        stride_width=stride,
        dilation_height=dilation,
        dilation_width=dilation,
        combine="max",
    )


def convolution(groups: int, multiplier: int, kernel: int = 3, in_channels: int = 1) -> depthwise.Problem:
    return depthwise.Problem(
        batch=1,
        groups=groups,
        in_channels=in_channels,
        out_channels=multiplier,
        in_height=14,
        in_width=14,
        out_height=14,
        out_width=14,
        kernel_height=kernel,
        kernel_width=kernel,
        accumulate=F32,
    )


@settings(max_examples=50)
@given(
    st.integers(1, 2000),
    st.integers(1, 300),
    st.integers(1, 40),
    st.integers(1, 8),
    st.integers(1, 5),
    st.sampled_from((F16, F32, F64)),
)
def test_choice_is_legal_for_any_pooling(channels: int, width: int, kernel: int, stride: int, dilation: int, storage: object) -> None:
    for one in targets().values():
        problem = pooling(channels, width, kernel, stride, dilation)
        assert pool.FAMILY.violations(problem, pool.FAMILY.choose(problem, one), one) == ()


@pytest.mark.parametrize("name", targets())
@pytest.mark.parametrize(("groups", "multiplier", "kernel"), [(1, 1, 1), (32, 1, 3), (7, 1, 5), (6, 3, 3), (960, 1, 5), (64, 1, 51)])
def test_choice_is_legal_for_depthwise(name: str, groups: int, multiplier: int, kernel: int) -> None:
    problem = convolution(groups, multiplier, kernel)
    assert depthwise.FAMILY.violations(problem, depthwise.FAMILY.choose(problem, target(name)), target(name)) == ()


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        (Schedule(threads=96, lanes=16, vector=4, pixels=4), "power of two"),
        (Schedule(threads=2048, lanes=16, vector=4, pixels=4), "1 to 1024"),
        (Schedule(threads=32, lanes=64, vector=4, pixels=4), "lanes are more than"),
        (Schedule(threads=32, lanes=8, vector=8, pixels=1), "does not divide"),
        (Schedule(threads=32, lanes=8, vector=4, pixels=64), "registers"),
    ],
)
def test_violations_say_why(schedule: Schedule, reason: str) -> None:
    problem = pooling(20, 112, 3)
    assert pool.FAMILY.violations(problem, SCHEDULE, target("sm_90a")) == ()
    assert any(reason in text for text in pool.FAMILY.violations(problem, schedule, target("sm_90a")))


def test_depthwise_has_one_input_channel_a_group() -> None:
    one, sm = Schedule(threads=32, lanes=8, vector=1, pixels=1), target("sm_90a")
    assert depthwise.FAMILY.violations(convolution(8, 2), one, sm) == ()
    assert "1" in depthwise.FAMILY.violations(convolution(8, 1, in_channels=2), one, sm)[0]
    assert any("fewer input channels" in text for text in depthwise.FAMILY.violations(convolution(8, 2), SCHEDULE, sm))
    assert any("bytes of weights" in text for text in depthwise.FAMILY.violations(convolution(512, 1, kernel=64), SCHEDULE, sm))


def test_grid_covers_pixels_and_channels() -> None:
    # 7 strips of 4 pixels for each of 28 rows, 8 strips and 64 channels a block.
    assert pool.FAMILY.geometry(pooling(100, 28, 3), SCHEDULE).grid == (-(-7 * 28 // 8), 2, 1)
    deep = replace(pooling(100, 28, 3), in_depth=9, out_depth=5, kernel_depth=3)
    assert pool.FAMILY.geometry(deep, SCHEDULE).grid == (-(-7 * 28 * 5 // 8), 2, 1)
    geometry = depthwise.FAMILY.geometry(convolution(64, 1), SCHEDULE)
    assert geometry.smem_bytes == 9 * 64 * 4


def test_strips_that_32_bits_do_not_count_are_made_longer() -> None:
    """3600 million pixels: one a strip are too many, and so is the choice for each pixel alone."""
    problem = pooling(1, 60000, 2)
    single = Schedule(threads=256, lanes=1, vector=1, pixels=1)
    assert any("32 bits" in reason for reason in pool.FAMILY.violations(problem, single, target("sm_90a")))
    chosen = pool.FAMILY.choose(problem, target("sm_90a"))
    assert chosen.pixels > 1 and not pool.FAMILY.violations(problem, chosen, target("sm_90a"))

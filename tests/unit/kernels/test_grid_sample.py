from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.ir.types import F16, F32, DType
from nautilus_cli.kernels.grid_sample import FAMILY, Problem, Schedule
from nautilus_cli.targets.registry import target, targets


def problem(images: int, channels: int, samples: int, *, is_channels_last: bool = True, storage: DType = F32) -> Problem:
    return Problem(
        images=images,
        channels=channels,
        samples=samples,
        sizes=(20, 30),
        taps=2,
        is_aligned=False,
        is_clamped=False,
        is_reflected=False,
        is_channels_last=is_channels_last,
        x_storage=storage,
    )


@settings(max_examples=100)
@given(st.integers(1, 10**6), st.integers(1, 3000), st.integers(1, 10**5), st.booleans())
def test_choice_is_legal_and_covers(images: int, channels: int, samples: int, is_channels_last: bool) -> None:
    one = problem(images, channels, samples, is_channels_last=is_channels_last)
    for where in targets().values():
        schedule = FAMILY.choose(one, where)
        assert FAMILY.violations(one, schedule, where) == ()
        x, y, z = FAMILY.geometry(one, schedule).grid
        places, lanes = schedule.threads // schedule.lanes, schedule.lanes * schedule.vector
        assert x == -(-samples // places) * -(-channels // lanes)
        assert y * z >= images
        assert y <= 65535


def test_images_and_planes() -> None:
    hopper = target("sm_90a")
    assert FAMILY.choose(problem(1, 256, 900, storage=F16), hopper) == Schedule(threads=128, lanes=32, vector=8)
    assert FAMILY.choose(problem(1, 256, 900, is_channels_last=False), hopper) == Schedule(threads=128, lanes=1, vector=4)


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        (Schedule(threads=96, lanes=8, vector=4), "power of two"),
        (Schedule(threads=2048, lanes=8, vector=4), "1 to 1024"),
        (Schedule(threads=32, lanes=64, vector=4), "lanes are more than"),
        (Schedule(threads=32, lanes=8, vector=8), "does not divide"),
    ],
)
def test_violations_say_why(schedule: Schedule, reason: str) -> None:
    assert any(reason in text for text in FAMILY.violations(problem(2, 20, 7), schedule, target("sm_90a")))


def test_the_search_space_has_legal_points() -> None:
    hopper, one = target("sm_90a"), problem(2, 64, 14)
    space = list(FAMILY.schedules(one, hopper))
    assert len(set(space)) == len(space)
    assert FAMILY.choose(one, hopper) in [s for s in space if not FAMILY.violations(one, s, hopper)]

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.ir.types import F16, F32, F64, DType
from nautilus_cli.kernels.resize import FAMILY, Problem, Schedule
from nautilus_cli.targets.registry import target, targets


def problem(rows: int, channels: int, size: int, storage: DType = F32) -> Problem:
    return Problem(
        rows=rows, channels=channels, inputs=(size, size), outputs=(2 * size, 2 * size), taps=(2, 2), is_weighted=True, x_storage=storage
    )


@settings(max_examples=100)
@given(st.integers(1, 10**6), st.integers(1, 3000), st.integers(1, 600), st.sampled_from((F16, F32, F64)))
def test_choice_is_legal_and_covers(rows: int, channels: int, size: int, storage: DType) -> None:
    one = problem(rows, channels, size, storage)
    for where in targets().values():
        schedule = FAMILY.choose(one, where)
        assert FAMILY.violations(one, schedule, where) == ()
        x, y, z = FAMILY.geometry(one, schedule).grid
        places, lanes = schedule.threads // schedule.lanes, schedule.lanes * schedule.vector
        assert x == -(-4 * size * size // places) * -(-channels // lanes)
        assert y * z * schedule.rows >= rows
        assert y <= 65535


def test_images_and_planes() -> None:
    hopper = target("sm_90a")
    channels_last = FAMILY.choose(problem(1, 256, 32, F16), hopper)
    assert (channels_last.vector, channels_last.lanes) == (8, 32)
    planes = FAMILY.choose(problem(64 * 256, 1, 64), hopper)
    assert (planes.vector, planes.lanes, planes.rows) == (1, 1, 4)
    assert FAMILY.choose(problem(2, 1, 4), hopper).rows == 1, "few rows: rather more threads"


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        (Schedule(threads=96, lanes=8, vector=4, rows=1), "power of two"),
        (Schedule(threads=2048, lanes=8, vector=4, rows=1), "1 to 1024"),
        (Schedule(threads=32, lanes=64, vector=4, rows=1), "lanes are more than"),
        (Schedule(threads=32, lanes=8, vector=8, rows=1), "does not divide"),
        (Schedule(threads=32, lanes=8, vector=4, rows=16), "a thread may hold"),
    ],
)
def test_violations_say_why(schedule: Schedule, reason: str) -> None:
    assert any(reason in text for text in FAMILY.violations(problem(2, 20, 7), schedule, target("sm_90a")))


def test_the_search_space_has_legal_points() -> None:
    hopper, one = target("sm_90a"), problem(2, 64, 14)
    space = list(FAMILY.schedules(one, hopper))
    assert len(set(space)) == len(space)
    assert FAMILY.choose(one, hopper) in [s for s in space if not FAMILY.violations(one, s, hopper)]

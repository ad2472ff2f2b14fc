"""Schedules of linear recurrences on shapes of real models and beyond."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nautilus_cli.ir.types import F32
from nautilus_cli.kernels.linear_recurrence import FAMILY, Problem, Schedule
from nautilus_cli.targets.registry import targets

QWEN = Problem(batch=1, steps=512, heads=32, readers=1, keys=128, values=128, is_gated=True, is_delta=True, accumulate=F32)

PROBLEMS = [
    replace(QWEN, batch=batch, heads=heads, keys=keys, values=values)
    for batch, heads in ((1, 1), (1, 32), (64, 16))
    for keys, values in ((1, 1), (64, 64), (128, 128), (96, 33), (256, 512), (4096, 3))
]


@pytest.mark.parametrize("name", targets())
def test_the_chosen_schedule_is_legal_and_covers_the_problem(name: str) -> None:
    target = targets()[name]
    for problem in PROBLEMS:
        schedule = FAMILY.choose(problem, target)
        assert FAMILY.violations(problem, schedule, target) == (), (problem, schedule)
        geometry = FAMILY.geometry(problem, schedule)
        columns = schedule.threads // schedule.key_threads * schedule.vector
        assert geometry.grid[0] * columns >= problem.batch * problem.heads * problem.values
        assert geometry.threads == schedule.threads


def test_a_layer_of_a_real_model_fills_a_large_device() -> None:
    target = targets()["sm_90a"]
    schedule = FAMILY.choose(QWEN, target)
    assert FAMILY.geometry(QWEN, schedule).grid[0] >= 2 * target.multiprocessors
    assert 128 // schedule.key_threads * schedule.vector <= 16  # elements of the state in a thread


def test_the_search_space_has_legal_points() -> None:
    target = targets()["sm_90a"]
    space = list(FAMILY.schedules(QWEN, target))
    assert len(set(space)) == len(space)
    assert sum(not FAMILY.violations(QWEN, s, target) for s in space) >= 20


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        (Schedule(threads=2048, key_threads=8, vector=1), "2048 threads a block"),
        (Schedule(threads=64, key_threads=3, vector=1), "key_threads is 3"),
        (Schedule(threads=36, key_threads=8, vector=1), "36 threads are no multiple of 8 threads a column"),
        (Schedule(threads=40, key_threads=8, vector=1), "40 threads are no whole warps"),
        (Schedule(threads=64, key_threads=8, vector=3), "vector is 3"),
        (Schedule(threads=64, key_threads=8, vector=4), "126 values are no multiple of vectors of 4"),
        (Schedule(threads=64, key_threads=1, vector=2), "a thread holds 256 elements of the state; at most 128 are possible"),
    ],
)
def test_illegal_schedules_say_why(schedule: Schedule, reason: str) -> None:
    assert any(reason in found for found in FAMILY.violations(replace(QWEN, values=126), schedule, targets()["sm_90a"]))


def test_keys_beyond_every_schedule() -> None:
    target = targets()["sm_90a"]
    problem = replace(QWEN, keys=5000)
    assert FAMILY.violations(problem, FAMILY.choose(problem, target), target)

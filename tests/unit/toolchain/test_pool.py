"""Compilers side by side: order kept, the first failure raised, the rest dropped."""

from __future__ import annotations

import threading

import pytest

from nautilus_cli.toolchain.pool import default_jobs, run_all


@pytest.mark.parametrize("jobs", [1, 2, 8])
def test_results_keep_the_order(jobs: int) -> None:
    assert run_all(lambda x: x * x, [3, 1, 2], jobs) == [9, 1, 4]
    assert run_all(lambda x: x, [], jobs) == []


def test_work_runs_side_by_side() -> None:
    meeting = threading.Barrier(2, timeout=60)  # breaks where the two do not meet
    run_all(lambda _: meeting.wait(), [0, 1], 2)


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_has_not_started_is_dropped_at_a_failure(jobs: int) -> None:
    started: list[int] = []

    def work(item: int) -> None:
        started.append(item)
        raise ValueError(item)

    with pytest.raises(ValueError, match="0"):
        run_all(work, list(range(1000)), jobs)
    assert jobs == 2 or started == [0]


def test_there_is_a_core() -> None:
    assert default_jobs() >= 1

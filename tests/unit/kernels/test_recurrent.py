"""Schedules of recurrences on shapes of real models and beyond."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import ceil

import pytest

from nautilus_cli.ir.types import F16, F32, F64
from nautilus_cli.kernels.recurrent import FAMILY, SPILL_BYTES, Problem, Schedule, state_bytes
from nautilus_cli.targets.registry import targets

PROBLEMS = [
    Problem(
        steps=50,
        batch=batch,
        directions=2,
        hidden=hidden,
        gates=gates,
        early_gates=early,
        is_reverse=False,
        has_carry=gates > 1,
        is_spilled=hidden > 2000,
        accumulate=F64 if storage == F64 else F32,
        storage=storage,
    )
    for batch, hidden in ((1, 1), (1, 128), (64, 33), (3000, 64), (2, 300), (4, 1024), (1, 20000))
    for gates, early in ((4, 4), (3, 2), (1, 1))
    for storage in (F16, F32, F64)
]

LSTM = Problem(steps=1, batch=1, directions=1, hidden=130, gates=4, early_gates=4, is_reverse=False, has_carry=True)


@pytest.mark.parametrize("name", targets())
def test_the_chosen_schedule_is_legal_and_covers_the_problem(name: str) -> None:
    target = targets()[name]
    for problem in PROBLEMS:
        schedule = FAMILY.choose(problem, target)
        assert FAMILY.violations(problem, schedule, target) == (), (problem, schedule)
        geometry = FAMILY.geometry(problem, schedule)
        assert geometry.threads == schedule.unit_threads * schedule.slices <= 1024
        assert geometry.grid == (2 * ceil(problem.batch / schedule.rows), 1, 1)
        assert geometry.smem_bytes <= target.smem_bytes_block


def test_states_that_are_not_spilled_fit_into_every_block() -> None:
    assert state_bytes(replace(LSTM, hidden=5000)) < SPILL_BYTES
    assert min(target.smem_bytes_block for target in targets().values()) >= SPILL_BYTES


def test_small_weights_stay_in_shared_memory_and_large_batches_share_them() -> None:
    target = targets()["sm_90a"]
    for hidden, batch in product((16, 64), (1, 4)):
        assert FAMILY.choose(replace(LSTM, steps=100, hidden=hidden, batch=batch), target).is_resident
    assert FAMILY.choose(replace(LSTM, steps=100, hidden=128, batch=4096), target).rows > 1


def test_the_search_space_is_fixed_and_has_legal_points() -> None:
    target = targets()["sm_90a"]
    for problem in PROBLEMS:
        space = list(FAMILY.schedules(problem, target))
        assert space == list(FAMILY.schedules(problem, target))
        assert len(set(space)) == len(space)
        assert any(not FAMILY.violations(problem, s, target) for s in space)


def test_illegal_schedules_say_why() -> None:
    def why(**changes: int) -> str:
        fields = {"unit_threads": 64, "slices": 2, "vector": 2, "rows": 1, "is_resident": False, **changes}
        return "; ".join(FAMILY.violations(LSTM, Schedule(**fields), targets()["sm_90a"]))

    assert why() == ""
    assert "1 to 1024 are possible" in why(slices=17)
    assert "power of two" in why(vector=3)
    assert "no multiple of vectors of 4" in why(vector=4)
    assert "1 to 8 are possible" in why(rows=9)
    assert "sums of a thread; at most 64" in why(rows=8, vector=4)
    assert "bytes of shared memory; a block has at most" in why(is_resident=True)

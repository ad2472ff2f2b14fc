"""Top-k kernels: the first elements of each row in the order of their values, and where they were."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.functions import minimum
from nautilus_cli.ir.types import DType
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.checks import thread_violations
from nautilus_cli.kernels.limits import MOST_BLOCKS_Y, MOST_THREADS, WARP_THREADS
from nautilus_cli.kernels.powers import is_power, power_at_least
from nautilus_cli.targets.base import Target

_HEAD_BYTES = 256 * 4 + 16
"""Histogram and counter of a team (kernels/top_k.cuh)."""

_RANKED_COLUMNS = 256
"""Up to here counting needs fewer steps than a histogram has bins."""

_SELECTED_COUNT = 4096
"""Above this ranking what was selected, by one block, takes longer than ranking everything by all."""

_EMULATED_RANKED_COLUMNS = 64
_EMULATED_SMEM_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The `count` first elements of each row: greatest or least values first, equal ones by their places; NaN is greater than all.

    Functors: `X` at (row, column); `Epilogue` at (row, place in the result), whose parameter 0 is the element in its compute type and
    parameter 1 its column as int64.

    Attributes:
        rows: how many.
        columns: of each row.
        count: how many elements of a row are asked for; not more than there are.
        is_largest: whether the greatest come first.
        value: compute type of an element.
    """

    rows: int
    columns: int
    count: int
    is_largest: bool
    value: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How rows are dealt to threads.

    Attributes:
        threads: of a block.
        row_threads: threads that share a row: up to a warp, or the block.
        items: elements of a thread that are ranked together.
        tile: keys in shared memory against which they are ranked.
        is_selected: whether the result is selected before it is ranked.
    """

    threads: int
    row_threads: int
    items: int
    tile: int
    is_selected: bool


class TopKFamily:
    """The top-k family."""

    name = "top_k"
    template = "top_k.cu.jinja"
    headers = ("nautilus/kernels/top_k.cuh",)
    problem_type = Problem
    schedule_type = Schedule

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        reasons = [*thread_violations(schedule.threads)]
        if not is_power(schedule.row_threads):
            reasons.append(f"row_threads is {schedule.row_threads}; it must be a power of two")
        elif schedule.threads % schedule.row_threads:
            reasons.append(f"{schedule.threads} threads are no multiple of {schedule.row_threads} threads a row")
        if schedule.row_threads > WARP_THREADS and schedule.row_threads != schedule.threads:
            reasons.append(f"{schedule.row_threads} threads a row are neither part of a warp nor the block")
        if schedule.row_threads > 1 and schedule.threads % WARP_THREADS:
            reasons.append(f"{schedule.threads} threads are no whole warps, which threads that share a row must be")
        if schedule.is_selected and 1 < schedule.row_threads < WARP_THREADS:
            reasons.append("selection takes different ways in the rows of one warp")
        if schedule.items < 1 or schedule.tile < 1:
            reasons.append(f"{schedule.items} items against {schedule.tile} keys; at least one is needed")
        if not reasons and self.geometry(problem, schedule).smem_bytes > target.smem_bytes_block:
            reasons.append(f"{self.geometry(problem, schedule).smem_bytes} bytes of shared memory; a block has {target.smem_bytes_block}")
        return tuple(reasons)

    def choose(self, problem: Problem, target: Target) -> Schedule:
        """Return ranking for short rows and long results, selection otherwise."""
        if target.is_emulated:
            return _choose_emulated(problem)
        if problem.columns > _RANKED_COLUMNS and problem.count <= _SELECTED_COUNT:
            threads = min(MOST_THREADS, max(128, power_at_least(problem.columns // 8)))
            schedule = Schedule(threads=threads, row_threads=threads, items=1, tile=1, is_selected=True)
            if not self.violations(problem, schedule, target):
                return schedule
        if problem.columns > _RANKED_COLUMNS:
            return Schedule(threads=256, row_threads=256, items=4, tile=1024, is_selected=False)
        row_threads = min(WARP_THREADS, power_at_least(problem.columns))
        items = min(4, -(-problem.columns // row_threads))
        return Schedule(threads=128, row_threads=row_threads, items=items, tile=power_at_least(problem.columns), is_selected=False)

    def schedules(self, problem: Problem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space."""
        for threads, is_whole in product((64, 128, 256, 512, 1024), (True, False)):
            yield Schedule(threads=threads, row_threads=threads if is_whole else WARP_THREADS, items=1, tile=1, is_selected=True)
        for threads, row_threads, items, tile in product((64, 128, 256, 512), (8, 16, 32, 64, 128, 256, 512), (1, 2, 4), (128, 512, 2048)):
            yield Schedule(threads=threads, row_threads=row_threads, items=items, tile=tile, is_selected=False)

    def geometry(self, problem: Problem, schedule: Schedule) -> Geometry:
        """Return blocks of rows along x; where a block ranks one row, parts of it along y."""
        teams = schedule.threads // schedule.row_threads
        parts = 1
        if not schedule.is_selected and teams == 1:
            parts = minimum(MOST_BLOCKS_Y, -(-problem.columns // (schedule.row_threads * schedule.items)))
        return Geometry(
            grid=(-(-problem.rows // teams), parts, 1), threads=schedule.threads, smem_bytes=teams * _team_bytes(problem, schedule)
        )


def _team_bytes(problem: Problem, schedule: Schedule) -> int:
    """Return the shared memory of the threads of one row; where the count is open, that of the greatest."""
    key_bytes = max(4, problem.value.bytes)
    if not schedule.is_selected:
        return schedule.tile * key_bytes
    return -(-(_HEAD_BYTES + upper(problem.count) * (key_bytes + 4)) // 16) * 16


def _choose_emulated(problem: Problem) -> Schedule:
    """One thread a row: threads that share one would have to meet."""
    ranked = Schedule(threads=8, row_threads=1, items=4, tile=64, is_selected=False)
    if problem.columns <= _EMULATED_RANKED_COLUMNS:
        return ranked
    selected = Schedule(threads=1, row_threads=1, items=1, tile=1, is_selected=True)
    return selected if _team_bytes(problem, selected) <= _EMULATED_SMEM_BYTES else ranked


FAMILY = TopKFamily()

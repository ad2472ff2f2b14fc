"""Row kernels: softmax, normalisation and reductions, with the pointwise work around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.checks import thread_violations
from nautilus_cli.kernels.limits import MOST_THREADS, TRANSACTION_BYTES, WARP_THREADS
from nautilus_cli.kernels.powers import is_power, power_at_least, vector_divisor
from nautilus_cli.targets.base import Target

_MOST_HELD = 32
"""Elements of one load that a thread may hold."""

_MOST_HELD_BLOCK = 16 * MOST_THREADS
"""Elements of one load that a block may hold: of 1024 threads each has 64 registers, and there may be two loads."""

_SLOT_BYTES = 8
"""Shared memory for one partial result (kernels/row.cuh)."""

_EMULATED_COLUMNS = 2048
"""Above this a row's sum is split over a warp in emulation too, so that it stays as exact as on a device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Reductions over the columns of rows.

    Functor: `Program`, a RowProgram at (row, column).

    Attributes:
        rows: how many.
        columns: of each row.
        row_major: whether neighbouring columns are neighbours in memory; otherwise neighbouring rows are.
        element_bytes: size of the narrowest element type that is read or written along the columns; sizes the vectors.
    """

    rows: int
    columns: int
    row_major: bool
    element_bytes: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How rows are dealt to threads.

    Attributes:
        threads: of a block.
        row_lanes: neighbouring rows that neighbouring threads take.
        column_threads: threads that share a row.
        vector: neighbouring columns that a thread takes at once.
        items: vectors of a thread, held in registers; 0: read again in every phase.
    """

    threads: int
    row_lanes: int
    column_threads: int
    vector: int
    items: int


class RowFamily:
    """The row family."""

    name = "row"
    template = "row.cu.jinja"
    headers = ("nautilus/kernels/row.cuh",)
    problem_type = Problem
    schedule_type = Schedule
    reaches_by_functors = True

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        group = schedule.row_lanes * schedule.column_threads
        reasons = []
        for name in ("row_lanes", "column_threads", "vector"):
            if not is_power(getattr(schedule, name)):
                reasons.append(f"{name} is {getattr(schedule, name)}; it must be a power of two")
        reasons += thread_violations(schedule.threads)
        if schedule.row_lanes > WARP_THREADS:
            reasons.append(f"{schedule.row_lanes} row lanes; a warp has {WARP_THREADS}")
        if group and schedule.threads % group:
            reasons.append(f"{schedule.threads} threads are no multiple of {schedule.row_lanes} × {schedule.column_threads}")
        if schedule.column_threads > 1 and schedule.threads % WARP_THREADS:
            reasons.append(f"{schedule.threads} threads are no whole warps, which threads that share a row must be")
        if schedule.vector and problem.columns % schedule.vector:
            reasons.append(f"{problem.columns} columns are no multiple of vectors of {schedule.vector}")
        held = schedule.items * schedule.vector
        if schedule.items and held * schedule.column_threads < problem.columns:
            reasons.append(
                f"{schedule.items} vectors of {schedule.vector} × {schedule.column_threads} threads hold no {problem.columns} columns"
            )
        if held > _most_held(schedule.threads):
            reasons.append(f"{held} elements held by a thread; at most {_most_held(schedule.threads)}")
        return tuple(reasons)

    def choose(self, problem: Problem, target: Target) -> Schedule:
        """Return a warp a row up to about a thousand columns and a block beyond, the row in registers while it fits."""
        if target.is_emulated:
            return _choose_emulated(problem)
        return _choose_contiguous(problem, target) if problem.row_major else _choose_strided(problem, target)

    def schedules(self, problem: Problem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space: rows held as well as read again."""
        powers = tuple(1 << i for i in range(11))
        for threads, row_lanes, column_threads, vector in product(powers[5:], (1, 8, 16, 32), powers, (1, 2, 4, 8)):
            items = max(1, -(-problem.columns // (column_threads * vector)))
            for held in (items, 0):
                yield Schedule(threads=threads, row_lanes=row_lanes, column_threads=column_threads, vector=vector, items=held)

    def geometry(self, problem: Problem, schedule: Schedule) -> Geometry:
        """Return one block for each `threads / column_threads` rows."""
        rows_block = schedule.threads // schedule.column_threads
        is_shared = schedule.row_lanes * schedule.column_threads > WARP_THREADS and schedule.column_threads > 1
        smem_bytes = 2 * (schedule.threads // WARP_THREADS) * schedule.row_lanes * _SLOT_BYTES if is_shared else 0
        return Geometry(grid=(-(-problem.rows // rows_block), 1, 1), threads=schedule.threads, smem_bytes=smem_bytes)


def _choose_contiguous(problem: Problem, target: Target) -> Schedule:
    """Columns are neighbours in memory: vectors along them."""
    vector = vector_divisor(problem.columns, TRANSACTION_BYTES // problem.element_bytes)
    units = max(1, -(-problem.columns // vector))
    if units <= 8 * WARP_THREADS:
        column_threads = min(WARP_THREADS, power_at_least(units))
    else:
        column_threads = min(MOST_THREADS, max(2 * WARP_THREADS, power_at_least(-(-units // 4))))
    threads = max(128, column_threads)
    # Fewer rows a block where the blocks would not reach every multiprocessor.
    while threads > max(WARP_THREADS, column_threads) and problem.rows * column_threads < target.multiprocessors * threads:
        threads //= 2
    return Schedule(
        threads=threads, row_lanes=1, column_threads=column_threads, vector=vector, items=_items(problem, threads, column_threads, vector)
    )


def _choose_strided(problem: Problem, target: Target) -> Schedule:
    """Rows are neighbours in memory: neighbouring threads take them; the columns are split until the device is full."""
    row_lanes = min(WARP_THREADS, power_at_least(problem.rows))
    most = min(MOST_THREADS // row_lanes, power_at_least(problem.columns))
    column_threads = 1
    while column_threads < most and problem.rows * column_threads < target.multiprocessors * 512:
        column_threads *= 2
    threads = max(128, row_lanes * column_threads)
    while threads > max(WARP_THREADS, row_lanes * column_threads) and problem.rows * column_threads < target.multiprocessors * threads:
        threads //= 2
    return Schedule(
        threads=threads, row_lanes=row_lanes, column_threads=column_threads, vector=1, items=_items(problem, threads, column_threads, 1)
    )


def _choose_emulated(problem: Problem) -> Schedule:
    """One thread a row: threads that share one would have to meet, and a meeting costs more than what it saves."""
    column_threads = 1 if problem.columns <= _EMULATED_COLUMNS else WARP_THREADS
    return Schedule(
        threads=16 if column_threads == 1 else WARP_THREADS,
        row_lanes=1,
        column_threads=column_threads,
        vector=vector_divisor(problem.columns, 8),
        items=0,
    )


def _items(problem: Problem, threads: int, column_threads: int, vector: int) -> int:
    """Return how many vectors a thread must hold; 0 where they are too many."""
    items = max(1, -(-problem.columns // (column_threads * vector)))
    return items if items * vector <= _most_held(threads) else 0


def _most_held(threads: int) -> int:
    """Return how many elements of one load a thread of so large a block may hold."""
    return min(_MOST_HELD, _MOST_HELD_BLOCK // max(1, threads))


FAMILY = RowFamily()

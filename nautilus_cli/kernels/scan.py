"""Scan kernels: cumulative sums and products along the columns of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from nautilus_cli.ir.types import DType
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.checks import thread_violations
from nautilus_cli.kernels.limits import MOST_THREADS, TRANSACTION_BYTES, WARP_THREADS
from nautilus_cli.kernels.powers import is_power, vector_divisor
from nautilus_cli.targets.base import Target

_SLOT_BYTES = 8
"""Shared memory for the total of one warp (kernels/scan.cuh)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What the elements of each row up to each column combine to.

    Functors: `Term` at (row, column); `Epilogue` at (row, column), whose parameter 0 is the combined value.

    Attributes:
        rows: how many.
        columns: of each row.
        combine: `sum` or `prod`.
        is_exclusive: whether an element itself takes no part.
        is_row_contiguous: whether neighbouring rows are neighbours in memory, rather than neighbouring columns.
        storage: element type in memory.
    """

    rows: int
    columns: int
    combine: str
    is_exclusive: bool
    is_row_contiguous: bool
    storage: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How rows are dealt to threads.

    Attributes:
        threads: of a block.
        column_threads: neighbouring threads that share a row.
        vector: neighbouring columns that a thread takes at once.
    """

    threads: int
    column_threads: int
    vector: int


class ScanFamily:
    """The scan family."""

    name = "scan"
    template = "scan.cu.jinja"
    headers = ("nautilus/kernels/scan.cuh",)
    problem_type = Problem
    schedule_type = Schedule
    reaches_by_functors = True

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        reasons = [*thread_violations(schedule.threads)]
        for name in ("column_threads", "vector"):
            if not is_power(getattr(schedule, name)):
                reasons.append(f"{name} is {getattr(schedule, name)}; it must be a power of two")
        if schedule.column_threads > 0 and schedule.threads % schedule.column_threads:
            reasons.append(f"{schedule.threads} threads are no multiple of {schedule.column_threads} threads a row")
        if schedule.column_threads > 1 and schedule.threads % WARP_THREADS:
            reasons.append(f"{schedule.threads} threads are no whole warps, which threads that share a row must be")
        if schedule.vector > 0 and problem.columns % schedule.vector:
            reasons.append(f"{problem.columns} columns are no multiple of vectors of {schedule.vector}")
        return tuple(reasons)

    def choose(self, problem: Problem, target: Target) -> Schedule:
        """Return a thread a row where that fills the device and reads neighbours together, else as many as the row keeps busy."""
        if target.is_emulated:
            return Schedule(threads=16, column_threads=1, vector=vector_divisor(problem.columns, 8))
        vector = 1 if problem.is_row_contiguous else vector_divisor(problem.columns, TRANSACTION_BYTES // problem.storage.bytes)
        units = max(1, problem.columns // vector)
        column_threads = 1
        resident = target.multiprocessors * target.threads_multiprocessor
        if problem.is_row_contiguous:
            while column_threads < min(WARP_THREADS, units) and problem.rows * column_threads < resident // 4:
                column_threads *= 2
        else:
            while column_threads < min(WARP_THREADS, units):
                column_threads *= 2
        while WARP_THREADS <= column_threads < min(MOST_THREADS, units // 4) and problem.rows * column_threads < resident // 2:
            column_threads *= 2
        threads = max(128, column_threads)
        while threads > max(WARP_THREADS, column_threads) and problem.rows * column_threads < target.multiprocessors * threads:
            threads //= 2
        return Schedule(threads=threads, column_threads=column_threads, vector=vector)

    def schedules(self, problem: Problem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space."""
        for threads, column_threads, vector in product((32, 64, 128, 256, 512, 1024), tuple(1 << i for i in range(11)), (1, 2, 4, 8)):
            yield Schedule(threads=threads, column_threads=column_threads, vector=vector)

    def geometry(self, problem: Problem, schedule: Schedule) -> Geometry:
        """Return one block for each `threads / column_threads` rows."""
        rows_block = schedule.threads // schedule.column_threads
        smem_bytes = 2 * (schedule.threads // WARP_THREADS) * _SLOT_BYTES if schedule.column_threads > WARP_THREADS else 0
        return Geometry(grid=(-(-problem.rows // rows_block), 1, 1), threads=schedule.threads, smem_bytes=smem_bytes)


FAMILY = ScanFamily()

"""Scatter kernels: a copy of a tensor in which rows that run-time indices name are overwritten, or combined with updates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from nautilus_cli.ir.quotients import divides
from nautilus_cli.ir.types import DType
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.checks import thread_violations
from nautilus_cli.kernels.limits import MOST_BLOCKS_X, TRANSACTION_BYTES, WARP_THREADS
from nautilus_cli.kernels.powers import is_power, power_at_least, vector_divisor
from nautilus_cli.targets.base import Target

_THREADS = 128
_CELL_BYTES_THREAD = 128
"""Shared memory of a thread: as much leaves room for as many blocks as a multiprocessor has threads for."""

_LEAST_CELLS_THREAD = 2
"""Below this a group spends its time on looking at updates."""

_EMULATED_ROWS = 4096
"""There a thread has much memory, and every part looks at all updates again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """`result[row, column] = data[row, column]`, then for each update in order: `combine` it into the row that its indices name.

    Functors, in this order: `Data` at (row, column); `Update` at (update, column); `Index0`, `Index1`, ... at (update, column), each with
    one integer result; `Epilogue` at (row, column), whose parameter 0 is the element in its compute type. An index below zero counts from
    the end, once. An update with one out of range is left out, and code 1 is stored in the word that the last pointer argument names.

    Attributes:
        rows: that an update may go to: the product of the extents.
        columns: elements of a row.
        updates: how many there are for each column.
        extents: how many values each index may take.
        strides: rows that one step of each index moves.
        combine: `assign`, `sum`, `prod`, `max` or `min`.
        is_shared: whether all columns have the same indices.
        is_row_contiguous: whether neighbouring rows are neighbours in memory, rather than neighbouring columns.
        value: compute type of an element.
    """

    rows: int
    columns: int
    updates: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    combine: str
    is_shared: bool
    is_row_contiguous: bool
    value: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How rows and columns are dealt to threads.

    Attributes:
        threads: of a block.
        group_threads: threads that own elements together: 1, or a warp, whose lanes each look at an update.
        group_columns: vectors along the columns that a group owns.
        rows: that a group owns, in shared memory.
        vector: neighbouring columns that a thread takes at once.
    """

    threads: int
    group_threads: int
    group_columns: int
    rows: int
    vector: int


class ScatterFamily:
    """The scatter family."""

    name = "scatter"
    template = "scatter.cu.jinja"
    headers = ("nautilus/kernels/scatter.cuh",)
    problem_type = Problem
    schedule_type = Schedule

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        reasons = [*thread_violations(schedule.threads)]
        if schedule.group_threads not in (1, WARP_THREADS):
            reasons.append(f"{schedule.group_threads} threads a group; 1 or {WARP_THREADS} are possible")
        elif schedule.threads % schedule.group_threads:
            reasons.append(f"{schedule.threads} threads are no multiple of {schedule.group_threads} threads a group")
        for name in ("group_columns", "vector"):
            if not is_power(getattr(schedule, name)):
                reasons.append(f"{name} is {getattr(schedule, name)}; it must be a power of two")
        if schedule.group_columns > schedule.group_threads:
            reasons.append(f"{schedule.group_columns} columns for {schedule.group_threads} threads")
        if not problem.is_shared and schedule.group_columns * schedule.vector != 1:
            reasons.append("a group has several columns, which have different indices")
        if schedule.vector > 0 and not divides(schedule.vector, problem.columns):
            reasons.append(f"{problem.columns} columns are no multiple of vectors of {schedule.vector}")
        if schedule.rows < 1:
            reasons.append(f"{schedule.rows} rows a group; at least one is needed")
        if reasons:
            return tuple(reasons)
        geometry = self.geometry(problem, schedule)
        if geometry.smem_bytes > target.smem_bytes_block:
            reasons.append(f"{geometry.smem_bytes} bytes of shared memory; a block has {target.smem_bytes_block}")
        if geometry.grid[0] > MOST_BLOCKS_X:
            reasons.append(f"{geometry.grid[0]} blocks; {MOST_BLOCKS_X} are possible")
        return tuple(reasons)

    def choose(self, problem: Problem, target: Target) -> Schedule:
        """Return warps wherever lanes can look at updates together; as many rows as shared memory holds, fewer until the device is full."""
        if target.is_emulated:
            return _choose_emulated(problem)
        if problem.is_row_contiguous or problem.columns == 1:
            group_threads, group_columns, vector = WARP_THREADS, 1, 1
        elif problem.is_shared:
            vector = vector_divisor(problem.columns, max(1, TRANSACTION_BYTES // problem.value.bytes))
            group_threads, group_columns = WARP_THREADS, min(WARP_THREADS, power_at_least(problem.columns // vector))
        else:
            group_threads, group_columns, vector = 1, 1, 1
        slots = group_threads // group_columns
        cells = max(_LEAST_CELLS_THREAD, _CELL_BYTES_THREAD // (vector * problem.value.bytes))
        groups = -(-problem.columns // (group_columns * vector))
        resident = target.multiprocessors * target.threads_multiprocessor
        while cells > _LEAST_CELLS_THREAD and groups * -(-problem.rows // (cells * slots)) * group_threads < resident:
            cells //= 2
        return Schedule(
            threads=_THREADS, group_threads=group_threads, group_columns=group_columns, rows=min(cells * slots, problem.rows), vector=vector
        )

    def schedules(self, problem: Problem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space."""
        lanes = tuple(1 << i for i in range(6))
        for threads, group_threads, group_columns, rows, vector in product(
            (64, 128, 256), (1, WARP_THREADS), lanes, (8, 32, 128, 512), (1, 2, 4, 8)
        ):
            yield Schedule(threads=threads, group_threads=group_threads, group_columns=group_columns, rows=rows, vector=vector)

    def geometry(self, problem: Problem, schedule: Schedule) -> Geometry:
        """Return one block for each `threads / group_threads` groups of columns and each `rows` rows."""
        groups = schedule.threads // schedule.group_threads
        columns_block = groups * schedule.group_columns * schedule.vector
        blocks = -(-problem.columns // columns_block) * -(-problem.rows // schedule.rows)
        cells = groups * schedule.group_columns * schedule.rows
        return Geometry(grid=(blocks, 1, 1), threads=schedule.threads, smem_bytes=cells * schedule.vector * problem.value.bytes)


def _choose_emulated(problem: Problem) -> Schedule:
    """One thread a column: lanes of a warp would have to meet for every 32 updates."""
    threads = min(16, power_at_least(problem.columns))
    rows = max(1, min(problem.rows, _EMULATED_ROWS // threads))
    return Schedule(threads=threads, group_threads=1, group_columns=1, rows=rows, vector=1)


FAMILY = ScatterFamily()

"""Gather kernels: rows of a tensor, or single elements, at places that run-time indices give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.ir.types import DType
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.checks import thread_violations
from nautilus_cli.kernels.limits import MOST_BLOCKS_Y, TRANSACTION_BYTES
from nautilus_cli.kernels.powers import is_power
from nautilus_cli.targets.base import Target

_VECTORS_A_THREAD = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Rows of `columns` elements: `data[base(row, column) + sum of index_j(row) × strides[j]]`.

    Functors, in this order: `Base`, a plain load of the data at (row, column); `Index0`, `Index1`, ... at (row,), each with one integer
    result; `Epilogue` at (row, column), whose parameter 0 is the element in its compute type. An index below zero counts from the end,
    once. One out of range gives zeros and stores code 1 in the word that the last pointer argument names.

    Attributes:
        rows: sets of indices.
        columns: elements that one set gives.
        extents: how many values each index may take.
        strides: what one step of each index adds to the offset.
        data: element type of the data in memory.
        data_slot: pointer argument of the data.
    """

    rows: int
    columns: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    data: DType
    data_slot: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How rows are dealt to threads.

    Attributes:
        threads: of a block.
        column_threads: threads that share a row.
        vector: neighbouring columns that a thread takes at once.
    """

    threads: int
    column_threads: int
    vector: int


class GatherFamily:
    """The gather family."""

    name = "gather"
    template = "gather.cu.jinja"
    headers = ("nautilus/kernels/gather.cuh",)
    problem_type = Problem
    schedule_type = Schedule

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        reasons = [*thread_violations(schedule.threads)]
        if schedule.column_threads < 1 or schedule.threads % schedule.column_threads:
            reasons.append(f"{schedule.threads} threads are no multiple of {schedule.column_threads} threads a row")
        if not is_power(schedule.vector):
            reasons.append(f"a vector of {schedule.vector} elements; it must be a power of two")
        elif problem.columns % schedule.vector:
            reasons.append(f"{problem.columns} columns are no multiple of vectors of {schedule.vector}")
        return tuple(reasons)

    def choose(self, problem: Problem, target: Target) -> Schedule:
        """Return 16-byte vectors along the columns, as many threads a row as give each a few of them, and blocks of 128 threads."""
        vector = 8 if target.is_emulated else max(1, min(8, TRANSACTION_BYTES // problem.data.bytes))
        while vector > 1 and problem.columns % vector:
            vector //= 2
        if target.is_emulated:
            return Schedule(threads=16, column_threads=1, vector=vector)
        units = max(1, problem.columns // vector)
        column_threads = 1
        while column_threads < 128 and column_threads < units:
            column_threads *= 2
        # Where rows alone fill the device, a thread takes several vectors of one: it reads the indices anyway.
        if column_threads > _VECTORS_A_THREAD and problem.rows * column_threads > target.multiprocessors * target.threads_multiprocessor:
            column_threads //= _VECTORS_A_THREAD
        return Schedule(threads=128, column_threads=column_threads, vector=vector)

    def schedules(self, problem: Problem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space."""
        for threads, column_threads, vector in product((64, 128, 256), (1, 2, 4, 8, 16, 32, 64, 128, 256), (1, 2, 4, 8)):
            yield Schedule(threads=threads, column_threads=column_threads, vector=vector)

    def geometry(self, problem: Problem, schedule: Schedule) -> Geometry:
        """Return blocks of rows along x and parts of a row along y; a thread takes up to four vectors of a part."""
        rows_block = schedule.threads // schedule.column_threads
        parts = -(-problem.columns // (schedule.column_threads * schedule.vector * _VECTORS_A_THREAD))
        return Geometry(grid=(-(-problem.rows // rows_block), maximum(1, minimum(parts, MOST_BLOCKS_Y)), 1), threads=schedule.threads)


FAMILY = GatherFamily()

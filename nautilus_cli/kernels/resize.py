"""Resampling along some dimensions by tables: each result is a weighted sum of neighbouring elements, or one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product as combinations
from math import prod

from nautilus_cli.ir.functions import minimum
from nautilus_cli.ir.quotients import divides
from nautilus_cli.ir.types import F32, DType
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.checks import grid_violations, thread_violations
from nautilus_cli.kernels.limits import MOST_BLOCKS_Y, TRANSACTION_BYTES
from nautilus_cli.kernels.powers import power_violations
from nautilus_cli.targets.base import Target

_MOST_SUMS = 32
"""Results that a thread may hold at once."""

_SHARED_ROWS = 4
"""Rows for which a thread uses what it read from the tables, where there are enough of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A resampling.

    Functors, in this order: `X` at (row, one place for each axis, channel); `Epilogue` at the same coordinates of the result, whose
    parameter 0 is the sum in X's compute type; then for each axis `First0`, ... at (result,), the first element that a result takes, an
    int, and where there are weights `Weight0`, ... at (result, tap). Elements beyond the ends of an axis are the outermost ones, whatever
    the tables say.

    Attributes:
        rows: extent of what is not resampled and lies outside in memory.
        channels: extent of what is not resampled and lies inside in memory.
        inputs: elements along each axis, the outermost in memory first.
        outputs: results along each axis.
        taps: weights of each axis; 1 where there are none.
        is_weighted: whether there are weights.
        are_tables_known: whether the tables are constants, which no kernel before this one computes.
        x_storage: type of the elements in memory; only sizes vectors.
    """

    rows: int
    channels: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    taps: tuple[int, ...]
    is_weighted: bool
    are_tables_known: bool = True
    x_storage: DType = F32


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How results are dealt to threads.

    Attributes:
        threads: of a block.
        lanes: threads side by side along channels; the others go along places.
        vector: neighbouring channels that a thread takes at once.
        rows: neighbouring rows that a thread takes, with what it read from the tables.
    """

    threads: int
    lanes: int
    vector: int
    rows: int


class ResizeFamily:
    """The resampling family."""

    name = "resize"
    template = "resize.cu.jinja"
    headers = ("nautilus/kernels/resize.cuh",)
    problem_type = Problem
    schedule_type = Schedule

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        s = schedule
        if wrong := power_violations(s):
            return wrong
        reasons = [*thread_violations(s.threads)]
        if s.lanes > s.threads:
            return (*reasons, f"{s.lanes} lanes are more than the {s.threads} threads of a block")
        if not divides(s.vector, problem.channels):
            reasons.append(f"a vector of {s.vector} does not divide {problem.channels} channels")
        if s.rows * s.vector > _MOST_SUMS:
            reasons.append(f"{s.rows} rows of {s.vector} channels are more than the {_MOST_SUMS} results that a thread may hold")
        grid = _grid(problem, s)
        reasons += grid_violations(grid)
        return tuple(reasons)

    def choose(self, problem: Problem, target: Target) -> Schedule:
        """Return 16-byte vectors along channels, warps along what is consecutive, and shared tables where rows are plenty."""
        vector = 8 if target.is_emulated else max(1, min(8, TRANSACTION_BYTES // problem.x_storage.bytes))
        while problem.channels % vector:
            vector //= 2
        lanes = 1
        while lanes < 32 and lanes * vector < problem.channels:
            lanes *= 2
        rows = 1
        wanted = 0 if target.is_emulated else 2 * target.multiprocessors * target.threads_multiprocessor
        work = prod(problem.outputs) * problem.channels // vector * problem.rows
        while rows < _SHARED_ROWS and 2 * rows * vector <= _MOST_SUMS and 2 * rows <= problem.rows and work >= 2 * rows * wanted:
            rows *= 2
        return Schedule(threads=32 if target.is_emulated else 128, lanes=lanes, vector=vector, rows=rows)

    def space(self, problem: Problem, target: Target) -> Mapping[str, tuple[int, ...]]:
        """Return the choices of each field."""
        return {"threads": (64, 128, 256), "lanes": (1, 2, 4, 8, 16, 32), "vector": (1, 2, 4, 8), "rows": (1, 2, 4, 8)}

    def schedules(self, problem: Problem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space, illegal points included."""
        choices = self.space(problem, target)
        for values in combinations(*choices.values()):
            yield Schedule(**dict(zip(choices, values, strict=True)))

    def geometry(self, problem: Problem, schedule: Schedule) -> Geometry:
        """Return blocks of places and channels along x, and of rows along y and z."""
        return Geometry(grid=_grid(problem, schedule), threads=schedule.threads)


def _grid(problem: Problem, schedule: Schedule) -> tuple[int, int, int]:
    places = -(-prod(problem.outputs) // (schedule.threads // schedule.lanes))
    channels = -(-problem.channels // (schedule.lanes * schedule.vector))
    rows = -(-problem.rows // schedule.rows)
    return places * channels, minimum(rows, MOST_BLOCKS_Y), -(-rows // MOST_BLOCKS_Y)


FAMILY = ResizeFamily()

"""Linear recurrence kernels: the memory of linear attention, a matrix for each head, held in registers while time passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from nautilus_cli.ir.types import DType
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.checks import thread_violations
from nautilus_cli.kernels.limits import WARP_THREADS
from nautilus_cli.targets.base import Target

_MOST_ELEMENTS = 128
"""Of the state that one thread holds: with what it reads in a step, all of a thread's 255 registers stay below their number.

Source: CUDA C++ Programming Guide 12.0, Technical Specifications per Compute Capability.
"""
_GOOD_ELEMENTS = 16
"""Few enough that several warps run on each scheduler, and enough to share what a step reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A state of keys × values for each sequence and head, changed and read once a step.

    Functors: `Query` at (sequence, step, reading head, key); `Key` and `Decay` at (sequence, step, head, key); `Value` at (sequence, step,
    head, value); `Beta` at (sequence, step, head); `First` at (sequence, head, key, value), the state at the start; `Output` at (sequence,
    step, reading head, value) with what is read as parameter 0; `Final` at (sequence, head, key, value) with the last state as parameter 0.

    Attributes:
        batch: sequences.
        steps: of each.
        heads: with a state.
        readers: neighbouring reading heads of each.
        keys: rows of a state.
        values: columns of a state.
        is_gated: whether the state is multiplied by Decay first.
        is_delta: whether what the key reads is subtracted from the value, and Beta multiplies the difference.
        accumulate: in which type the state is held.
    """

    batch: int
    steps: int
    heads: int
    readers: int
    keys: int
    values: int
    is_gated: bool
    is_delta: bool
    accumulate: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How a state is dealt to threads.

    Attributes:
        threads: of a block.
        key_threads: neighbouring threads that share a column.
        vector: neighbouring columns of a thread.
    """

    threads: int
    key_threads: int
    vector: int


class LinearRecurrenceFamily:
    """The linear recurrence family."""

    name = "linear_recurrence"
    template = "linear_recurrence.cu.jinja"
    headers = ("nautilus/kernels/linear_recurrence.cuh",)
    problem_type = Problem
    schedule_type = Schedule
    reaches_by_functors = True
    needs_known_sizes = True

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        reasons = [*thread_violations(schedule.threads)]
        if schedule.key_threads not in (1, 2, 4, 8, 16, 32):
            reasons.append(f"key_threads is {schedule.key_threads}; it must be a power of two up to a warp")
            return tuple(reasons)
        if schedule.threads % schedule.key_threads:
            reasons.append(f"{schedule.threads} threads are no multiple of {schedule.key_threads} threads a column")
        if schedule.key_threads > 1 and schedule.threads % WARP_THREADS:
            reasons.append(f"{schedule.threads} threads are no whole warps, which threads that share a column must be")
        if schedule.vector not in (1, 2, 4):
            reasons.append(f"vector is {schedule.vector}; it must be 1, 2 or 4")
        elif problem.values % schedule.vector:
            reasons.append(f"{problem.values} values are no multiple of vectors of {schedule.vector}")
        elements = _held(problem, schedule)
        if elements > _MOST_ELEMENTS:
            reasons.append(f"a thread holds {elements} elements of the state; at most {_MOST_ELEMENTS} are possible")
        return tuple(reasons)

    def choose(self, problem: Problem, target: Target) -> Schedule:
        """Return a thread for a few elements of the state, in blocks that are small enough to fill the device."""
        vector = max(v for v in (1, 2, 4) if problem.values % v == 0)
        if target.is_emulated:
            while vector > 1 and problem.keys * vector > _MOST_ELEMENTS:
                vector //= 2
            key_threads = _key_threads(problem, _MOST_ELEMENTS // vector)
            return Schedule(threads=WARP_THREADS if key_threads > 1 else 8, key_threads=key_threads, vector=vector)
        vector = min(vector, 2)
        key_threads = _key_threads(problem, _GOOD_ELEMENTS // vector)
        threads = 256
        while threads > WARP_THREADS and self._blocks(problem, Schedule(threads=threads, key_threads=key_threads, vector=vector)) < (
            2 * target.multiprocessors
        ):
            threads //= 2
        return Schedule(threads=threads, key_threads=key_threads, vector=vector)

    def schedules(self, problem: Problem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space."""
        for threads, key_threads, vector in product((32, 64, 128, 256, 512), (1, 2, 4, 8, 16, 32), (1, 2, 4)):
            yield Schedule(threads=threads, key_threads=key_threads, vector=vector)

    def geometry(self, problem: Problem, schedule: Schedule) -> Geometry:
        """Return a block for each tile of columns of each sequence and head."""
        return Geometry(grid=(self._blocks(problem, schedule), 1, 1), threads=schedule.threads)

    def _blocks(self, problem: Problem, schedule: Schedule) -> int:
        columns = schedule.threads // schedule.key_threads * schedule.vector
        return problem.batch * problem.heads * -(-problem.values // columns)


def _held(problem: Problem, schedule: Schedule) -> int:
    """Return how many elements of the state a thread holds."""
    return -(-problem.keys // schedule.key_threads) * schedule.vector


def _key_threads(problem: Problem, most_rows: int) -> int:
    """Return the fewest threads for a column that hold at most so many rows each."""
    threads = 1
    while threads < WARP_THREADS and -(-problem.keys // threads) > most_rows:
        threads *= 2
    return threads


FAMILY = LinearRecurrenceFamily()

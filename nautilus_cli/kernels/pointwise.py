"""Pointwise kernels: any chain of elementwise work, with movement absorbed in index maps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.checks import thread_violations
from nautilus_cli.kernels.limits import TRANSACTION_BYTES
from nautilus_cli.kernels.powers import is_power
from nautilus_cli.targets.base import Target

_THREADS = (64, 128, 256, 512)
_VECTORS = (1, 2, 4, 8)
_UNROLLS = (1, 2, 4)

_MOST_HELD = 96
"""Elements that a thread reads before it computes, all in registers: vector × unroll × accesses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An elementwise loop.

    Functor: `Body` at (i,), i below `elements`, in the order in which the result lies in memory; it only stores.

    Attributes:
        elements: number of iterations.
        element_bytes: size of the narrowest element type that is read or written in order; sizes the vectors.
        accesses: loads and stores of one iteration; many leave no registers for vectors.
    """

    elements: int
    element_bytes: int = 4
    accesses: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How elements are dealt to threads.

    Attributes:
        threads: of a block.
        vector: neighbouring elements that a thread takes at once.
        unroll: vectors of a thread, whose loads are all in flight together.
    """

    threads: int
    vector: int
    unroll: int


class PointwiseFamily:
    """The pointwise family."""

    name = "pointwise"
    template = "pointwise.cu.jinja"
    headers = ("nautilus/kernels/pointwise.cuh",)
    problem_type = Problem
    schedule_type = Schedule
    reaches_by_functors = True

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        reasons = [*thread_violations(schedule.threads)]
        if not is_power(schedule.vector):
            reasons.append(f"a vector of {schedule.vector} elements; it must be a power of two")
        if schedule.unroll < 1:
            reasons.append(f"{schedule.unroll} vectors a thread; at least one is needed")
        return tuple(reasons)

    def choose(self, problem: Problem, target: Target) -> Schedule:
        """Return 16-byte vectors, made shorter where the device would otherwise lack threads, and unrolled where it has plenty.

        A body of very many accesses, as that of a wide Concat, gets less of both: registers would not suffice, and compilers take
        minutes.
        """
        if target.is_emulated:
            # A thread costs a fiber there, and nothing is gained by many.
            return _within_registers(problem, Schedule(threads=32, vector=8, unroll=4))
        vector = max(1, min(max(_VECTORS), TRANSACTION_BYTES // problem.element_bytes))
        threads = 256 if problem.elements >= target.multiprocessors * 256 * vector else 128
        while vector > 1 and problem.elements < target.multiprocessors * threads * vector:
            vector //= 2
        resident = target.multiprocessors * target.threads_multiprocessor
        unroll = max(u for u in _UNROLLS if u == 1 or problem.elements >= 2 * resident * vector * u)
        return _within_registers(problem, Schedule(threads=threads, vector=vector, unroll=unroll))

    def schedules(self, problem: Problem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space."""
        for threads, vector, unroll in product(_THREADS, _VECTORS, _UNROLLS):
            yield Schedule(threads=threads, vector=vector, unroll=unroll)

    def geometry(self, problem: Problem, schedule: Schedule) -> Geometry:
        """Return one block for each `threads × vector × unroll` elements."""
        tile = schedule.threads * schedule.vector * schedule.unroll
        return Geometry(grid=(-(-problem.elements // tile), 1, 1), threads=schedule.threads)


def _within_registers(problem: Problem, schedule: Schedule) -> Schedule:
    """Return the schedule with as much less unrolling, then as much shorter vectors, as its accesses ask for."""
    unroll, vector = schedule.unroll, schedule.vector
    while unroll > 1 and problem.accesses * vector * unroll > _MOST_HELD:
        unroll //= 2
    while vector > 1 and problem.accesses * vector > _MOST_HELD:
        vector //= 2
    return Schedule(threads=schedule.threads, vector=vector, unroll=unroll)


FAMILY = PointwiseFamily()

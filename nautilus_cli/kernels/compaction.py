"""Compaction kernels: the places of the elements that are kept, one behind the other, and how many there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nautilus_cli.kernels import threads_schedule
from nautilus_cli.kernels.base import Geometry, StubByName
from nautilus_cli.kernels.limits import MOST_THREADS
from nautilus_cli.kernels.threads_schedule import Schedule
from nautilus_cli.targets.base import Target

_STEP_ELEMENTS = 1024
"""Elements between two barriers: 32 warps' worth, whose counts one warp adds up (kernels/compaction.cuh)."""

_SLOTS_BYTES = (2 * 32 + 32) * 8
"""Shared memory: two sets of counts, and what each warp has added up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The elements of a vector that are kept.

    Functors: `Keep` at (i,), a bool; `Tally` at (tile,), how many elements of a tile are kept, as int64; `Place` at (number of a kept
    element,), whose parameter 0 is its place, as int64; `Total` at (0,), whose parameter 0 is how many are kept, as int64.

    Attributes:
        elements: of the vector.
        tile: elements of a tile.
        is_tallied: whether there are tallies: a block takes a tile then, else one block takes everything.
    """

    elements: int
    tile: int
    is_tallied: bool


class CompactionFamily(StubByName):
    """The compaction family."""

    name = "compaction"
    problem_type = Problem
    schedule_type = Schedule

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        reasons = list(threads_schedule.violations(schedule))
        if not reasons and _STEP_ELEMENTS % schedule.threads:
            reasons.append(f"{schedule.threads} threads a block do not divide {_STEP_ELEMENTS}, the elements between two barriers")
        if problem.tile < 1:
            reasons.append(f"tiles of {problem.tile} elements; at least one is needed")
        return tuple(reasons)

    def choose(self, problem: Problem, target: Target) -> Schedule:
        """Return what keeps several elements a thread in flight."""
        return Schedule(threads=1 if target.is_emulated else 256 if problem.is_tallied else MOST_THREADS)

    def schedules(self, problem: Problem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space."""
        yield from threads_schedule.schedules()

    def geometry(self, problem: Problem, schedule: Schedule) -> Geometry:
        """Return a block for each tile, or one."""
        blocks = -(-problem.elements // problem.tile) if problem.is_tallied else 1
        return Geometry(grid=(blocks, 1, 1), threads=schedule.threads, smem_bytes=0 if schedule.threads == 1 else _SLOTS_BYTES)


FAMILY = CompactionFamily()

"""Suppression kernels: the boxes that a class keeps, one block for each class of each image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nautilus_cli.ir.dims import upper
from nautilus_cli.kernels import threads_schedule
from nautilus_cli.kernels.base import Geometry, StubByName
from nautilus_cli.kernels.limits import MOST_THREADS, WARP_THREADS
from nautilus_cli.kernels.threads_schedule import Schedule
from nautilus_cli.targets.base import Target

_KEY_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The boxes that each class of each image keeps: the greatest score first, of equal ones the first box.

    Functors: `Box` at (image, box, component) and `Score` at (image, class, box), f32; `Most`, how many a class keeps at most, int64, and
    `Overlap`, up to which boxes are kept beside one of a greater score, and `Least`, the score that a box must be above, f32, at (0,);
    `Epilogue` at (image, class, slot), whose parameter 0 is the number of a box as int64, -1 in slots behind the last.

    Attributes:
        images: how many.
        classes: how many.
        boxes: of an image.
        slots: of a class.
        is_centred: whether a box is a centre and sizes, else two corners.
        has_least: whether there is a least score.
    """

    images: int
    classes: int
    boxes: int
    slots: int
    is_centred: bool
    has_least: bool


class SuppressionFamily(StubByName):
    """The suppression family."""

    name = "suppression"
    problem_type = Problem
    schedule_type = Schedule

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        reasons = list(threads_schedule.violations(schedule))
        if not reasons and self.geometry(problem, schedule).smem_bytes > target.smem_bytes_block:
            reasons.append(
                f"a bit for each of {upper(problem.boxes)} boxes does not fit into {target.smem_bytes_block} bytes of shared memory"
            )
        return tuple(reasons)

    def choose(self, problem: Problem, target: Target) -> Schedule:
        """Return several boxes a thread, as far as a block goes."""
        if target.is_emulated:
            return Schedule(threads=1)
        threads = WARP_THREADS
        while threads < MOST_THREADS and threads * 2 < problem.boxes:
            threads *= 2
        return Schedule(threads=threads)

    def schedules(self, problem: Problem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space."""
        yield from threads_schedule.schedules()

    def geometry(self, problem: Problem, schedule: Schedule) -> Geometry:
        """Return a block for each class of each image; shared memory holds two keys a warp and a bit a box."""
        words = -(-upper(problem.boxes) // (32 * schedule.threads)) * schedule.threads
        return Geometry(
            grid=(problem.images * problem.classes, 1, 1), threads=schedule.threads, smem_bytes=2 * WARP_THREADS * _KEY_BYTES + 4 * words
        )


FAMILY = SuppressionFamily()

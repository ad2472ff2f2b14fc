"""Depthwise convolution, channels last: a convolution with one input channel a group, summed directly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nautilus_cli.kernels import strip
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.conv import Problem
from nautilus_cli.kernels.strip import Schedule
from nautilus_cli.targets.base import Target

__all__ = ["FAMILY", "DepthwiseFamily", "Problem", "Schedule"]


def _channels(problem: Problem) -> int:
    return problem.groups * problem.out_channels


def _staged_bytes(problem: Problem) -> int:
    """Return the bytes of a channel's weights."""
    return problem.taps * problem.accumulate.bytes


def _smem_bytes(problem: Problem, schedule: Schedule) -> int:
    """Return the bytes of the block's weights."""
    return _staged_bytes(problem) * schedule.lanes * schedule.vector


class DepthwiseFamily:
    """The depthwise family: the problem and functors of `conv`, with in_channels = 1."""

    name = "depthwise"
    template = "depthwise.cu.jinja"
    headers = ("nautilus/kernels/depthwise.cuh",)
    problem_type = Problem
    schedule_type = Schedule

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        reasons = strip.violations(problem, _channels(problem), schedule)
        if problem.in_channels != 1:
            reasons.append(f"{problem.in_channels} input channels a group; a depthwise convolution has 1")
        if problem.out_channels > 1 and schedule.vector > 1:
            reasons.append(f"a vector of {schedule.vector} output channels would read {problem.out_channels} times fewer input channels")
        if _smem_bytes(problem, schedule) > target.smem_bytes_block:
            reasons.append(f"{_smem_bytes(problem, schedule)} bytes of weights; a block of {target.name} holds {target.smem_bytes_block}")
        return tuple(reasons)

    def choose(self, problem: Problem, target: Target) -> Schedule:
        """Return the schedule of the analytic ranking; always a legal one."""
        most_vector = 1 if problem.out_channels > 1 else 8
        return strip.choose(problem, _channels(problem), problem.x_storage.bytes, most_vector, target, _staged_bytes(problem))

    def estimated_us(self, problem: Problem, schedule: Schedule, target: Target) -> float:
        """Return the time on a GPU by the analytic model, in microseconds."""
        return strip.gpu_us(problem, _channels(problem), problem.x_storage.bytes, schedule, target, _staged_bytes(problem))

    def space(self, problem: Problem, target: Target) -> Mapping[str, tuple[int, ...]]:
        """Return the choices of each field."""
        return strip.space()

    def schedules(self, problem: Problem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space, illegal points included."""
        return strip.schedules()

    def geometry(self, problem: Problem, schedule: Schedule) -> Geometry:
        """Return one block for each `threads / lanes` strips by `lanes × vector` channels."""
        return Geometry(
            grid=strip.grid(problem, _channels(problem), schedule), threads=schedule.threads, smem_bytes=_smem_bytes(problem, schedule)
        )


FAMILY = DepthwiseFamily()

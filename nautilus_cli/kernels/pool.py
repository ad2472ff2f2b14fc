"""Pooling, channels last: the maximum or the mean of a window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nautilus_cli.ir.types import F32, DType
from nautilus_cli.kernels import strip
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.strip import Schedule
from nautilus_cli.kernels.window import Window
from nautilus_cli.targets.base import Target

__all__ = ["FAMILY", "PoolFamily", "Problem", "Schedule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(Window):
    """A pooling.

    Functors: `X` at (plane, y, x, channel), only inside the image; `Epilogue` at (plane, y, x, channel), whose parameter 0 is the pooled
    value in the compute type of X, and whose parameter 1, with `has_indices`, is an i64: where in the flattened operand, in ONNX order, the
    first of the greatest elements lies. A maximum with a NaN in its window is NaN, as in numpy; ONNX leaves it open, and onnxruntime's
    answer depends on where in the window it lies.

    Attributes:
        channels: of an image.
        pad_back, pad_bottom, pad_right: planes, rows and columns of padding after the image; they only count for the divisor.
        combine: `max` or `sum`.
        divisor: `none`; `window` for the taps inside the padded image (count_include_pad); `valid` for those inside the image. Taps beyond
            both, as ceil_mode has them, never count.
        has_indices: whether the place of each maximum is wanted too.
        is_column_major: whether those places count along the first spatial dimension first.
        x_storage: type of the image's elements in memory; only sizes vectors.
    """

    channels: int
    pad_bottom: int = 0
    pad_right: int = 0
    pad_back: int = 0
    combine: str
    divisor: str = "none"
    has_indices: bool = False
    is_column_major: bool = False
    x_storage: DType = F32


class PoolFamily:
    """The pooling family."""

    name = "pool"
    template = "pool.cu.jinja"
    headers = ("nautilus/kernels/pool.cuh",)
    problem_type = Problem
    schedule_type = Schedule

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        reasons = strip.violations(problem, problem.channels, schedule)
        if problem.has_indices and problem.combine != "max":
            reasons.append(f"a {problem.combine} lies nowhere; only a maximum has indices")
        return tuple(reasons)

    def choose(self, problem: Problem, target: Target) -> Schedule:
        """Return the schedule of the analytic ranking; always a legal one."""
        return strip.choose(problem, problem.channels, problem.x_storage.bytes, 8, target)

    def estimated_us(self, problem: Problem, schedule: Schedule, target: Target) -> float:
        """Return the time on a GPU by the analytic model, in microseconds."""
        return strip.gpu_us(problem, problem.channels, problem.x_storage.bytes, schedule, target)

    def space(self, problem: Problem, target: Target) -> Mapping[str, tuple[int, ...]]:
        """Return the choices of each field."""
        return strip.space()

    def schedules(self, problem: Problem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space, illegal points included."""
        return strip.schedules()

    def geometry(self, problem: Problem, schedule: Schedule) -> Geometry:
        """Return one block for each `threads / lanes` strips by `lanes × vector` channels."""
        return Geometry(grid=strip.grid(problem, problem.channels, schedule), threads=schedule.threads)


FAMILY = PoolFamily()

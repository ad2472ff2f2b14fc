"""Sampling of images at run-time places: nearest, linear or cubic along each spatial dimension."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import product as combinations

from nautilus_cli.ir.types import F32, DType
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.targets.base import Target

_TRANSACTION_BYTES = 16
_MOST_THREADS = 1024
_MOST_BLOCKS_X = 2**31 - 1
_MOST_BLOCKS_Y = 65535
TAPS = {"nearest": 1, "linear": 2, "cubic": 4}
"""Elements along each dimension, by mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A sampling.

    Functors, in this order: `X` at (image, one place for each spatial dimension, channel); `Grid` at (image, sample, coordinate), from -1
    to 1 along a dimension, the last dimension's coordinate first; `Epilogue` at (image, sample, channel), whose parameter 0 is the sample
    in X's compute type.

    Attributes:
        images: of the batch.
        channels: of an image.
        samples: of an image.
        sizes: spatial dimensions of an image.
        taps: 1, 2 or 4 elements along each dimension: nearest, linear, cubic.
        is_aligned: whether -1 and 1 are the centres of the first and the last element; else their outer edges.
        is_clamped: whether elements outside are the outermost ones.
        is_reflected: whether elements outside are mirrored at those centres or edges; without both, they are zero.
        grid_compute: type in which places are computed.
        is_channels_last: whether channels are innermost in memory; only sizes vectors.
        x_storage: type of the elements in memory; only sizes vectors.
    """

    images: int
    channels: int
    samples: int
    sizes: tuple[int, ...]
    taps: int
    is_aligned: bool
    is_clamped: bool
    is_reflected: bool
    grid_compute: DType = F32
    is_channels_last: bool = True
    x_storage: DType = F32


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How samples are dealt to threads.

    Attributes:
        threads: of a block.
        lanes: threads side by side along channels; the others go along samples.
        vector: neighbouring channels that a thread takes, with the place that it computed.
    """

    threads: int
    lanes: int
    vector: int


class GridSampleFamily:
    """The grid sampling family."""

    name = "grid_sample"
    template = "grid_sample.cu.jinja"
    headers = ("nautilus/kernels/grid_sample.cuh",)
    problem_type = Problem
    schedule_type = Schedule

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        s = schedule
        for field in fields(s):
            value = getattr(s, field.name)
            if value < 1 or value & (value - 1):
                return (f"{field.name} is {value}; it must be a power of two",)
        reasons = []
        if s.threads > _MOST_THREADS:
            reasons.append(f"{s.threads} threads a block; at most {_MOST_THREADS} are possible")
        if s.lanes > s.threads:
            return (*reasons, f"{s.lanes} lanes are more than the {s.threads} threads of a block")
        if problem.channels % s.vector:
            reasons.append(f"a vector of {s.vector} does not divide {problem.channels} channels")
        grid = _grid(problem, s)
        if grid[0] > _MOST_BLOCKS_X or grid[2] > _MOST_BLOCKS_Y:
            reasons.append(f"a grid of {grid} blocks is larger than a launch can be")
        return tuple(reasons)

    def choose(self, problem: Problem, target: Target) -> Schedule:
        """Return warps along what is consecutive: channels, by 16-byte vectors, or samples, with a few planes for each place."""
        vector = 4
        if problem.is_channels_last:
            vector = 8 if target.is_emulated else max(1, min(8, _TRANSACTION_BYTES // problem.x_storage.bytes))
        while problem.channels % vector:
            vector //= 2
        lanes = 1
        while problem.is_channels_last and lanes < 32 and lanes * vector < problem.channels:
            lanes *= 2
        return Schedule(threads=32 if target.is_emulated else 128, lanes=lanes, vector=vector)

    def space(self, problem: Problem, target: Target) -> Mapping[str, tuple[int, ...]]:
        """Return the choices of each field."""
        return {"threads": (64, 128, 256), "lanes": (1, 2, 4, 8, 16, 32), "vector": (1, 2, 4, 8)}

    def schedules(self, problem: Problem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space, illegal points included."""
        choices = self.space(problem, target)
        for values in combinations(*choices.values()):
            yield Schedule(**dict(zip(choices, values, strict=True)))

    def geometry(self, problem: Problem, schedule: Schedule) -> Geometry:
        """Return blocks of samples and channels along x, and images along y and z."""
        return Geometry(grid=_grid(problem, schedule), threads=schedule.threads)


def _grid(problem: Problem, schedule: Schedule) -> tuple[int, int, int]:
    samples = -(-problem.samples // (schedule.threads // schedule.lanes))
    channels = -(-problem.channels // (schedule.lanes * schedule.vector))
    return samples * channels, min(problem.images, _MOST_BLOCKS_Y), -(-problem.images // _MOST_BLOCKS_Y)


FAMILY = GridSampleFamily()

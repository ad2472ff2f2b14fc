"""Threads over places and channels: the schedules that kernels share which compute each result from a few elements that lie anywhere.

Their device side is `nautilus/kernels/places.cuh`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product as combinations

from nautilus_cli.ir.functions import minimum
from nautilus_cli.ir.quotients import divides
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.checks import grid_violations, thread_violations
from nautilus_cli.kernels.limits import MOST_BLOCKS_Y, TRANSACTION_BYTES
from nautilus_cli.kernels.powers import power_violations
from nautilus_cli.targets.base import Target

_PLANES = 4
"""Channels that a thread takes where they lie far apart, with what it computed for its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What there is to compute.

    Attributes:
        images: groups of places, in blocks of their own.
        places: of an image.
        channels: of a place.
        is_channels_last: whether channels are innermost in memory.
        element_bytes: of an element in memory.
    """

    images: int
    places: int
    channels: int
    is_channels_last: bool
    element_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How places are dealt to threads.

    Attributes:
        threads: of a block.
        lanes: threads side by side along channels; the others go along places.
        vector: neighbouring channels that a thread takes.
    """

    threads: int
    lanes: int
    vector: int


def violations(work: Places, schedule: Schedule) -> tuple[str, ...]:
    """Return why this schedule cannot serve this work on any target; empty where it can."""
    s = schedule
    if wrong := power_violations(s):
        return wrong
    reasons = [*thread_violations(s.threads)]
    if s.lanes > s.threads:
        return (*reasons, f"{s.lanes} lanes are more than the {s.threads} threads of a block")
    if not divides(s.vector, work.channels):
        reasons.append(f"a vector of {s.vector} does not divide {work.channels} channels")
    blocks = geometry(work, s).grid
    reasons += grid_violations(blocks)
    return tuple(reasons)


def choose(work: Places, target: Target) -> Schedule:
    """Return warps along what is consecutive: channels, by 16-byte vectors, or places, with a few planes for each."""
    vector = _PLANES
    if work.is_channels_last:
        vector = 8 if target.is_emulated else max(1, min(8, TRANSACTION_BYTES // work.element_bytes))
    while work.channels % vector:
        vector //= 2
    lanes = 1
    while work.is_channels_last and lanes < 32 and lanes * vector < work.channels:
        lanes *= 2
    return Schedule(threads=32 if target.is_emulated else 128, lanes=lanes, vector=vector)


def space() -> Mapping[str, tuple[int, ...]]:
    """Return the choices of each field; their product is the search space."""
    return {"threads": (64, 128, 256), "lanes": (1, 2, 4, 8, 16, 32), "vector": (1, 2, 4, 8)}


def schedules() -> Iterator[Schedule]:
    """Yield the whole search space, illegal points included."""
    choices = space()
    for values in combinations(*choices.values()):
        yield Schedule(**dict(zip(choices, values, strict=True)))


def geometry(work: Places, schedule: Schedule) -> Geometry:
    """Return blocks of places and channels along x, and images along y and z."""
    places = -(-work.places // (schedule.threads // schedule.lanes))
    channels = -(-work.channels // (schedule.lanes * schedule.vector))
    grid = places * channels, minimum(work.images, MOST_BLOCKS_Y), -(-work.images // MOST_BLOCKS_Y)
    return Geometry(grid=grid, threads=schedule.threads)

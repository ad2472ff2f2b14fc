"""Direct kernels over windows, which depthwise convolution and pooling share: a thread computes a strip of output pixels along x.

The device side is `Strip` in `nautilus/kernels/window.cuh`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product as combinations

from nautilus_cli.kernels.window import Window
from nautilus_cli.targets.base import Target

_TRANSACTION_BYTES = 16
_MOST_THREADS = 1024
_MOST_BLOCKS_X = 2**31 - 1
_MOST_BLOCKS_Y = 65535
_MOST_HELD_REGISTERS = 160
_HELD_TAPS = 7
"""Rows of at most this many taps are held in registers, as `for_each_tap` in window.cuh does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How output pixels and channels are dealt to threads.

    Attributes:
        threads: of a block.
        lanes: threads side by side along channels; the others go along strips.
        vector: neighbouring channels that a thread takes at once.
        pixels: neighbouring output pixels along x that a thread computes; they share what they read.
    """

    threads: int
    lanes: int
    vector: int
    pixels: int


def grid(window: Window, channels: int, schedule: Schedule) -> tuple[int, int, int]:
    """Return the blocks along x (strips) and y (channels)."""
    strips = window.batch * window.out_height * -(-window.out_width // schedule.pixels)
    return -(-strips // (schedule.threads // schedule.lanes)), -(-channels // (schedule.lanes * schedule.vector)), 1


def violations(window: Window, channels: int, schedule: Schedule) -> list[str]:
    """Return why this schedule cannot serve this window on any target; empty where it can."""
    s = schedule
    for name, value in (("threads", s.threads), ("lanes", s.lanes), ("vector", s.vector), ("pixels", s.pixels)):
        if value < 1 or value & (value - 1):
            return [f"{name} is {value}; it must be a power of two"]
    reasons = []
    if s.threads > _MOST_THREADS:
        reasons.append(f"{s.threads} threads a block; at most {_MOST_THREADS} are possible")
    if s.lanes > s.threads:
        return [*reasons, f"{s.lanes} lanes are more than the {s.threads} threads of a block"]
    if channels % s.vector:
        reasons.append(f"a vector of {s.vector} does not divide {channels} channels")
    held = held_registers(window, s)
    if s.pixels > 1 and held > _MOST_HELD_REGISTERS:
        reasons.append(f"about {held} registers a thread for {s.pixels} windows; {_MOST_HELD_REGISTERS} are available")
    blocks = grid(window, channels, s)
    if blocks[0] > _MOST_BLOCKS_X or blocks[1] > _MOST_BLOCKS_Y:
        reasons.append(f"a grid of {blocks} blocks is larger than a launch can be")
    return reasons


def held_registers(window: Window, schedule: Schedule) -> int:
    """Return about how many registers a thread needs for its sums and one row of its windows."""
    taps = window.kernel_width if window.kernel_width <= _HELD_TAPS else 1
    columns = (schedule.pixels - 1) * window.stride_width + (taps - 1) * window.dilation_width + 1
    return (min(columns, schedule.pixels * taps) + schedule.pixels + 1) * schedule.vector


def space() -> Mapping[str, tuple[int, ...]]:
    """Return the choices of each field; their product is the search space."""
    return {"threads": (32, 64, 128, 256), "lanes": (1, 2, 4, 8, 16, 32, 64), "vector": (1, 2, 4, 8), "pixels": (1, 2, 4, 8)}


def schedules() -> Iterator[Schedule]:
    """Yield the whole search space, illegal points included."""
    choices = space()
    for values in combinations(*choices.values()):
        yield Schedule(**dict(zip(choices, values, strict=True)))


def choose(window: Window, channels: int, element_bytes: int, most_vector: int, target: Target) -> Schedule:
    """Return long vectors and strips, made shorter until every multiprocessor has work; vectors last, since they save the most."""
    vector = min(_TRANSACTION_BYTES // element_bytes, most_vector)
    while channels % vector:
        vector //= 2
    if target.is_emulated:
        # A thread costs a fiber there, and nothing is gained by many.
        pixels = 8
        threads = 32
    else:
        pixels = 4
        threads = 128

    def fits(pixels: int) -> bool:
        return held_registers(window, Schedule(threads=threads, lanes=1, vector=vector, pixels=pixels)) <= _MOST_HELD_REGISTERS // 2

    def work(pixels: int, vector: int) -> int:
        return window.batch * window.out_height * -(-window.out_width // pixels) * (channels // vector)

    while pixels > 1 and (not fits(pixels) or pixels >= 2 * window.out_width):
        pixels //= 2
    if not target.is_emulated:
        enough = target.multiprocessors * 256
        while pixels > 1 and work(pixels, vector) < enough:
            pixels //= 2
        while vector > 1 and work(pixels, vector) < enough // 4:
            vector //= 2
    lanes = 1
    while lanes < 32 and lanes * vector < channels:
        lanes *= 2
    return Schedule(threads=threads, lanes=min(lanes, threads), vector=vector, pixels=pixels)

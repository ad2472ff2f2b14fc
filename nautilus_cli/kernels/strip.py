"""Direct kernels over windows, which depthwise convolution and pooling share: a thread computes a strip of output pixels along x.

The device side is `Strip` in `nautilus/kernels/window.cuh`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product as combinations
from math import ceil

from nautilus_cli.kernels.checks import thread_violations
from nautilus_cli.kernels.estimates import CYCLES_PER_US
from nautilus_cli.kernels.limits import (
    LINE_BYTES,
    MOST_BLOCKS_X,
    MOST_BLOCKS_Y,
    MOST_RESIDENT_BLOCKS,
    SCHEDULERS,
    TRANSACTION_BYTES,
    WARP_THREADS,
)
from nautilus_cli.kernels.powers import is_power
from nautilus_cli.kernels.window import Window
from nautilus_cli.targets.base import Target

_MOST_STRIPS = 2**31 - 1
"""`Strip` numbers them in an int."""
_MOST_HELD_REGISTERS = 160
_HELD_TAPS = 7
"""Rows of at most this many taps are held in registers, as `for_each_tap` in window.cuh does."""
_UNROLLED_REGISTERS = 96
"""Rows are unrolled where their reads fit in this many registers, as there."""

# Cost model, in cycles of a multiprocessor: round numbers that put measured schedules of an H200 in order.
_READ_LATENCY = 350
_READ_INSTRUCTIONS = 6
_STAGE_INSTRUCTIONS = 8
_LINE_CYCLES = 3.5
_BLOCK_CYCLES = 150
_STAGED_AT_ONCE = 8


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
    strips = window.batch * window.out_depth * window.out_height * -(-window.out_width // schedule.pixels)
    return -(-strips // (schedule.threads // schedule.lanes)), -(-channels // (schedule.lanes * schedule.vector)), 1


def violations(window: Window, channels: int, schedule: Schedule) -> list[str]:
    """Return why this schedule cannot serve this window on any target; empty where it can."""
    s = schedule
    for name, value in (("threads", s.threads), ("lanes", s.lanes), ("vector", s.vector), ("pixels", s.pixels)):
        if not is_power(value):
            return [f"{name} is {value}; it must be a power of two"]
    reasons = [*thread_violations(s.threads)]
    if s.lanes > s.threads:
        return [*reasons, f"{s.lanes} lanes are more than the {s.threads} threads of a block"]
    if channels % s.vector:
        reasons.append(f"a vector of {s.vector} does not divide {channels} channels")
    held = held_registers(window, s)
    if s.pixels > 1 and held > _MOST_HELD_REGISTERS:
        reasons.append(f"about {held} registers a thread for {s.pixels} windows; {_MOST_HELD_REGISTERS} are available")
    blocks = grid(window, channels, s)
    if blocks[0] > MOST_BLOCKS_X or blocks[1] > MOST_BLOCKS_Y:
        reasons.append(f"a grid of {blocks} blocks is larger than a launch can be")
    if blocks[0] * (s.threads // s.lanes) > _MOST_STRIPS:
        reasons.append(f"strips of {s.pixels} pixels are more than 32 bits count")
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


def choose(window: Window, channels: int, element_bytes: int, most_vector: int, target: Target, staged_bytes: int = 0) -> Schedule:
    """Return the schedule of least estimated time among those that suit the target.

    Args:
        window: what slides over the images.
        channels: of the result.
        element_bytes: of an element of the image.
        most_vector: neighbouring channels that a thread may take.
        target: that is ranked for.
        staged_bytes: of the weights of a channel that a block first brings into shared memory; 0 where there are none.
    """
    vectors = [v for v in (1, 2, 4, 8) if channels % v == 0 and v <= most_vector and v * element_bytes <= TRANSACTION_BYTES]
    if target.is_emulated:
        # A thread costs a fiber there, and nothing is gained by many.
        candidates = combinations((32,), _lanes(channels, vectors[-1]), vectors[-1:], (1, 2, 4, 8))
    else:
        candidates = combinations((64, 128, 256), _lanes(channels, 1), vectors, (1, 2, 4))
    ranked = sorted(
        (Schedule(threads=t, lanes=n, vector=v, pixels=p) for t, n, v, p in candidates if p < 2 * window.out_width and n <= t),
        key=lambda s: (estimate_cycles(window, channels, element_bytes, s, target, staged_bytes), s.threads),
    )
    small = Schedule(threads=32, lanes=1, vector=1, pixels=1)  # legal wherever there is a legal one
    legal = (s for s in ranked if not violations(window, channels, s) and staged_bytes * s.lanes * s.vector <= target.smem_bytes_block)
    return next(legal, small)


def gpu_us(window: Window, channels: int, element_bytes: int, schedule: Schedule, target: Target, staged_bytes: int = 0) -> float:
    """Return the estimated time in microseconds; arguments as for `choose`."""
    return estimate_cycles(window, channels, element_bytes, schedule, target, staged_bytes) / CYCLES_PER_US


def _lanes(channels: int, vector: int) -> tuple[int, ...]:
    """Return numbers of lanes, of which all but the last have work."""
    return tuple(lanes for lanes in (1, 2, 4, 8, 16, 32) if lanes == 1 or lanes * vector < 2 * channels)


def estimate_cycles(window: Window, channels: int, element_bytes: int, schedule: Schedule, target: Target, staged_bytes: int) -> float:
    """Return the estimated time in cycles of a multiprocessor.

    A thread waits for its weights, then for each row of its window, unless rows are unrolled; warps on a multiprocessor share its
    schedulers; what a warp reads comes in sectors.
    """
    s = schedule
    w = window
    blocks = grid(w, channels, s)
    warps = s.threads / WARP_THREADS
    taps_row = w.kernel_width if w.kernel_width <= _HELD_TAPS else 1
    columns = min((s.pixels - 1) * w.stride_width + (taps_row - 1) * w.dilation_width + 1, s.pixels * taps_row)
    rows = w.kernel_depth * w.kernel_height
    reads = rows * columns * (w.kernel_width // taps_row)
    is_unrolled = taps_row == w.kernel_width and w.kernel_height * columns * s.vector <= _UNROLLED_REGISTERS
    waits = w.kernel_depth if is_unrolled else rows * (w.kernel_width // taps_row)
    staged = 0
    if staged_bytes:
        staged = ceil(w.taps * s.lanes * s.vector / s.threads)
        waits += ceil(staged / _STAGED_AT_ONCE)
    taps = w.taps * s.pixels
    issue = staged * _STAGE_INSTRUCTIONS + reads * _READ_INSTRUCTIONS + taps * (s.vector + (1 if staged_bytes else 0)) + s.pixels * 10
    alone = issue * max(1.0, warps / SCHEDULERS) + waits * _READ_LATENCY
    # A request costs a cycle for each line of the first-level cache that it touches; shorter runs touch more.
    run = min(s.lanes * s.vector, channels) * element_bytes
    lines = WARP_THREADS * s.vector * element_bytes / min(run, LINE_BYTES)
    busy = max(warps * issue / SCHEDULERS, warps * reads * lines * _LINE_CYCLES) + _BLOCK_CYCLES
    resident = max(1, min(target.threads_multiprocessor // s.threads, MOST_RESIDENT_BLOCKS))
    each = ceil(blocks[0] * blocks[1] / target.multiprocessors)
    rounds = ceil(each / resident)
    return max(each * busy, rounds * alone) + alone

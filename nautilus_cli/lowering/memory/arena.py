"""The arena: one block of memory in which every intermediate tensor has its place, planned at compile time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A tensor's need of memory.

    Attributes:
        bytes: size.
        first: launch that writes it.
        last: last launch that reads it; its memory is free for later launches only.
    """

    bytes: int
    first: int
    last: int


def place(intervals: Sequence[Interval], alignment: int) -> tuple[tuple[int, ...], int]:
    """Give each interval an offset such that intervals alive at the same launch do not overlap.

    Largest first, each into the smallest gap that fits it (best fit).

    Source: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020), greedy by size for offset calculation.

    Returns:
        The offsets, in the order of INTERVALS, and the bytes of the arena.
    """
    offsets = [0] * len(intervals)
    placed: list[int] = []
    total = 0
    for number in sorted(range(len(intervals)), key=lambda i: (-intervals[i].bytes, intervals[i].first, i)):
        need = intervals[number]
        size = -(-need.bytes // alignment) * alignment
        alive = sorted(
            (offsets[i], offsets[i] + -(-intervals[i].bytes // alignment) * alignment)
            for i in placed
            if intervals[i].first <= need.last and need.first <= intervals[i].last
        )
        best: tuple[int, int] | None = None  # (gap, offset)
        end = 0
        for begin, stop in alive:
            gap = begin - end
            if gap >= size and (best is None or gap < best[0]):
                best = (gap, end)
            end = max(end, stop)
        offsets[number] = end if best is None else best[1]
        placed.append(number)
        total = max(total, offsets[number] + size)
    return tuple(offsets), total

"""The arena where sizes are not known: offsets as expressions, worked out for the actual sizes before a run."""

from __future__ import annotations

from collections.abc import Sequence

from nautilus_cli.ir.counts import reads_in
from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.functions import maximum, named
from nautilus_cli.lowering.memory.arena import Interval


def stack(intervals: Sequence[Interval], alignment: int, order: Sequence[str] = ()) -> tuple[tuple[int, ...], int]:
    """Give each interval an offset such that intervals alive at the same launch do not overlap, whatever the sizes are.

    Largest first, as `place` does it, by what each needs at most; each lies above all before it that are alive when it is. The bound of
    the arena's size over all sizes is that of the expression.

    What needs a number that the host reads while the model runs lies above all that needs none, or one that is read before: so nothing
    moves when it is read.

    Args:
        intervals: what is to be placed.
        alignment: of all offsets.
        order: names of the numbers that the host reads, in the order in which it does.

    Returns:
        The offsets, in the order of INTERVALS, and the bytes of the arena, all multiples of ALIGNMENT.
    """
    offsets: list[int] = [0] * len(intervals)
    ends: list[int] = [0] * len(intervals)
    lies_on: list[set[int]] = [set() for _ in intervals]  # what is below each, through what lies between too
    placed: list[int] = []
    stages = [max((order.index(symbol.name) + 1 for symbol in reads_in(interval.bytes)), default=0) for interval in intervals]
    for number in sorted(range(len(intervals)), key=lambda i: (stages[i], -upper(intervals[i].bytes), intervals[i].first, i)):
        need = intervals[number]
        below = [i for i in placed if intervals[i].first <= need.last and need.first <= intervals[i].last]
        covered = set().union(*(lies_on[i] for i in below))
        lies_on[number] = covered.union(below)
        offsets[number] = named(f"offset{number}", maximum(0, *(ends[i] for i in below if i not in covered)))
        ends[number] = offsets[number] + -(-need.bytes // alignment) * alignment
        placed.append(number)
    covered = set().union(*lies_on)
    return tuple(offsets), maximum(0, *(ends[i] for i in placed if i not in covered))

"""Where everything that kernels read and write lies: inputs, outputs, weights, the arena, and the host's memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.counts import counts_in, room
from nautilus_cli.ir.dims import is_symbolic
from nautilus_cli.ir.graph import FusedGraph, Value
from nautilus_cli.lowering.building.lowered_group import LoweredGroup
from nautilus_cli.lowering.building.slots import PackedWeight, Referent, Status
from nautilus_cli.lowering.control.counts import CountTable
from nautilus_cli.lowering.control.unplaced import MovingAddress
from nautilus_cli.lowering.control.walk import Walk
from nautilus_cli.lowering.memory.arena import Interval, place
from nautilus_cli.lowering.memory.stacking import stack
from nautilus_cli.lowering.memory.weight_pool import WeightPool
from nautilus_cli.lowering.plan import ALIGNMENT_BYTES, Buffer, Word

HOST_WORD_BYTES = 16
"""Of a value in the host's memory: what kernels rely on in every pointer."""

MOST_HOST_BYTES = 1 << 20
"""Of all of them; what has no room lies in the arena, and is copied. Source: PAYLOAD_HOST_BYTES of templates/host/payload.h."""


def host_places(fused: FusedGraph, lowered: Sequence[LoweredGroup], walk: Walk, table: CountTable) -> dict[Value, int]:
    """Return what kernels write for the host to decide a step by, with its place in the host's memory: so nothing is copied for it."""
    outside = {v for _, v in fused.graph.inputs} | fused.graph.output_values()
    stored = {value for one in lowered for value in one.group.outputs}
    found = [value for value in dict.fromkeys(walk.waits) if value in stored and value not in outside and not table.holds(value)]
    own = [value for value in found if walk.place(value) is value][: MOST_HOST_BYTES // HOST_WORD_BYTES]
    return {value: number * HOST_WORD_BYTES for number, value in enumerate(own)}


def buffers_of(
    fused: FusedGraph, lowered: Sequence[LoweredGroup], walk: Walk, table: CountTable, for_host: Mapping[Value, int]
) -> tuple[dict[Value, Buffer], int]:
    """Place every stored value that is neither an input nor an output, nor for the host, in the arena, behind the numbers of TABLE."""
    outside = {v for _, v in fused.graph.inputs} | fused.graph.output_values() | for_host.keys()
    first: dict[Value, int] = {}
    last: dict[Value, int] = {}
    for number, one in enumerate(lowered):
        for referent in one.referents:
            found = walk.place(referent) if isinstance(referent, Value) else None
            if isinstance(found, Value) and found not in outside and found.constant is None and not table.holds(found):
                first.setdefault(found, number)
                last[found] = number
    for value, (begin, end) in walk.spans.items():
        if value not in outside and value.constant is None and not table.holds(value):
            first[value] = min(begin, first.get(value, begin))
            last[value] = max(end, last.get(value, end))
    intervals = [Interval(bytes=room(v.type.static, v.type.dtype), first=first[v], last=last[v]) for v in first]
    is_static = not any(is_symbolic(interval.bytes) for interval in intervals)
    offsets, total = place(intervals, ALIGNMENT_BYTES) if is_static else stack(intervals, ALIGNMENT_BYTES, walk.read)
    begin = -(-table.bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    buffers = {
        v: Buffer(offset=begin + offset, bytes=i.bytes, first=i.first, last=i.last, tensor=v.tensor)
        for v, i, offset in zip(first, intervals, offsets, strict=True)
    }
    return buffers, begin + total


@dataclass(frozen=True, slots=True)
class Places:
    """Where everything that a kernel points to lies.

    Attributes:
        fused: the graph, whose inputs and outputs the caller gives.
        buffers: places in the arena.
        weights: places of constants.
        walk: what bodies call by names of their own.
        table: places of numbers that kernels give.
        for_host: places in the host's memory.
    """

    fused: FusedGraph
    buffers: Mapping[Value, Buffer]
    weights: WeightPool
    walk: Walk
    table: CountTable
    for_host: Mapping[Value, int]

    def size_word(self, size: int) -> Word:
        """Return the argument word of a size, or where the kernel finds it."""
        return Word(kind="arena", value=self.table.size_offset(size)) if counts_in(size) else Word(kind="integer", value=size)

    def word(self, referent: Referent | MovingAddress, begin: int) -> Word:
        """Return the argument word that points so many bytes into a referent."""
        if isinstance(referent, Value):
            referent = self.walk.place(referent)
        if isinstance(referent, MovingAddress):
            return Word(kind="slot", index=referent.number, value=begin)
        if isinstance(referent, Value):
            referent = self.weights.add(referent)  # a constant that a body reads as it does any operand is one of these
        if isinstance(referent, Status):
            return Word(kind="status")
        if isinstance(referent, PackedWeight):
            return Word(kind="weights", value=self.weights.offset(referent) + begin)
        if self.table.holds(referent):
            return Word(kind="arena", value=self.table.offset(referent) + begin)
        if referent in self.for_host:
            return Word(kind="host", value=self.for_host[referent] + begin)
        for kind, found in (("output", self.fused.graph.outputs), ("input", self.fused.graph.inputs)):
            for index, (_, value) in enumerate(found):
                if value is referent:
                    return Word(kind=kind, index=index, value=begin)
        if referent not in self.buffers:
            raise InternalError("a value that a kernel reads is stored nowhere", where=referent.tensor)
        return Word(kind="arena", value=self.buffers[referent].offset + begin)

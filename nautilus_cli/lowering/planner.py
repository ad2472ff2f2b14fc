"""From a fused graph to a plan: a kernel for every group, a schedule for every kernel, a place for every tensor."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from nautilus_cli.errors import InternalError, ModelError, NautilusError
from nautilus_cli.ir.counts import ceiling, counts_in
from nautilus_cli.ir.dims import is_symbolic, lower, same
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.graph import FusedGraph, Graph, Group, Value
from nautilus_cli.ir.types import UCS4
from nautilus_cli.kernels.base import Choose, Geometry, KernelRequest, TensorMap, scalar_values
from nautilus_cli.kernels.registry import tensor_maps
from nautilus_cli.lowering import (
    cache_write,
    compaction,
    conv,
    conv_transpose,
    elimination,
    gather,
    gemm,
    gemm_normalized,
    gemm_pair,
    grid_sample,
    linear_recurrence,
    packing,
    pointwise,
    pool,
    recurrent,
    region_pool,
    resize,
    row,
    row_moments,
    scan,
    scatter,
    suppression,
    top_k,
)
from nautilus_cli.lowering.choice import chosen
from nautilus_cli.lowering.control import Slot, Walk
from nautilus_cli.lowering.counts import CountTable
from nautilus_cli.lowering.intervals import Intervals, Serving
from nautilus_cli.lowering.lowered import Lowered, Lowering, index_bits
from nautilus_cli.lowering.memory import Interval, place
from nautilus_cli.lowering.plan import ALIGNMENT_BYTES, SIZES_NOTE, Alternative, Buffer, Kernel, Launch, Plan, Port, Shared, Weight, Word
from nautilus_cli.lowering.ranges import NO_POINTS, RangedChoice
from nautilus_cli.lowering.rebase import rebased
from nautilus_cli.lowering.slots import PackedWeight, Referent, Status
from nautilus_cli.lowering.stacking import stack
from nautilus_cli.ops.copy import OPERATOR as COPY
from nautilus_cli.ops.movement import is_movement
from nautilus_cli.passes.alias_caches import cache_pairs
from nautilus_cli.targets.base import Target

T = TypeVar("T")

LOWERINGS: Mapping[str, Callable[[Lowering], Lowered]] = {
    "cache_write": cache_write.lower,
    "compaction": compaction.lower,
    "conv": conv.lower,
    "conv_transpose": conv_transpose.lower,
    "elimination": elimination.lower,
    "gather": gather.lower,
    "gemm": gemm.lower,
    "gemm_normalized": gemm_normalized.lower,
    "gemm_pair": gemm_pair.lower,
    "grid_sample": grid_sample.lower,
    "linear_recurrence": linear_recurrence.lower,
    "pointwise": pointwise.lower,
    "pool": pool.lower,
    "recurrent": recurrent.lower,
    "region_pool": region_pool.lower,
    "resize": resize.lower,
    "row": row.lower,
    "row_moments": row_moments.lower,
    "scan": scan.lower,
    "scatter": scatter.lower,
    "suppression": suppression.lower,
    "top_k": top_k.lower,
}


def plan(fused: FusedGraph, target: Target, choose: Choose, *, fp32_mode: str = "ffma") -> Plan:
    """Lower every group in order.

    Args:
        fused: the fused graph, with static shapes.
        target: what the kernels will run on.
        choose: picks the schedule of a problem.
        fp32_mode: how products of f32 are multiplied, as `Lowering` has it.
    """
    return plan_each(fused, ((target, choose),), fp32_mode=fp32_mode)[0]


def plan_each(
    fused: FusedGraph,
    targets: Iterable[tuple[Target, Choose]],
    *,
    fp32_mode: str = "ffma",
    points: Mapping[str, tuple[int, ...]] = NO_POINTS,
) -> tuple[Plan, ...]:
    """Lower every group in order for several targets, which differ in schedules only: weights are packed once and lie at the same offsets.

    Args:
        fused: the fused graph, with static shapes.
        targets: what the kernels will run on, and what picks the schedule of a problem there.
        fp32_mode: how products of f32 are multiplied, as `Lowering` has it.
        points: sizes of open dimensions, by name, that schedules are chosen for.
    """
    weights = WeightPool()
    lowered: list[_LoweredGroup] = []
    walk = Walk()
    for group in walk.groups(fused):
        found, begins = rebased(lower_group(group, fp32_mode))
        lowered.append(_LoweredGroup(group, found, tuple(weights.add(r) for r in found.slots.referents), begins))
    for value in walk.spans:
        weights.add(value)
    entries, weight_bytes = weights.layout()
    table = CountTable(
        [count for graph in walk.graphs for count in graph.counts],
        [one.group.outputs for one in lowered],
        [one.lowered.scalars for one in lowered],
        [dim for _, value in fused.graph.outputs for dim in value.type.static],
    )
    lowered = _with_sizes(lowered, table)
    walk.insert([(step.behind, step.is_late) for step in table.steps])
    waits = _waits(fused, lowered, walk, table)
    buffers, arena_bytes = _buffers(fused, lowered, walk, table, waits)
    places = _Places(fused, buffers, weights, walk, table, waits)
    steps = walk.steps(places.word)
    words = tuple((*map(places.word, one.referents, one.begins), *map(places.size_word, one.lowered.scalars)) for one in lowered)
    inputs, outputs = ports(fused.graph)
    outputs = tuple(replace(port, counted=table.dims(port.shape)) for port in outputs)
    limits = table.limits(fused.graph.limits)
    plans = []
    for target, choose in targets:
        kernels, launches = _launches(lowered, words, target, choose, points)
        plans.append(
            Plan(
                target=target.name,
                inputs=inputs,
                outputs=outputs,
                kernels=kernels,
                launches=launches,
                buffers=tuple(buffers.values()),
                arena_bytes=arena_bytes,
                weights=entries,
                weight_bytes=weight_bytes,
                checks=fused.graph.requirements,
                steps=steps,
                slots=walk.slots,
                limits=limits,
            )
        )
    return tuple(plans)


def ports(graph: Graph) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """Return the inputs and the outputs of the library; a cache that is one buffer is an input and an output in the same memory."""
    inputs, outputs = ([_port(name, v, graph.texts) for name, v in found] for found in (graph.inputs, graph.outputs))
    for pair in cache_pairs(graph):
        for side, number, other, extent in (
            (inputs, pair.input, pair.output, pair.length),
            (outputs, pair.output, pair.input, pair.length + pair.rows),
        ):
            port = side[number]
            shape = (*port.shape[: pair.axis], extent, *port.shape[pair.axis + 1 :])
            side[number] = replace(port, shape=shape, shared=Shared(port=other, axis=pair.axis, capacity=pair.capacity))
    return tuple(inputs), tuple(outputs)


def _port(name: str, value: Value, texts: frozenset[str]) -> Port:
    return Port(name=name, dtype=UCS4 if name in texts else value.type.dtype, shape=value.type.static)


def refused(fused: FusedGraph, target: Target, choose: Choose, *, fp32_mode: str = "ffma") -> Iterator[tuple[Group, NautilusError]]:
    """Yield each group for which there is no kernel on a target, and why; weights are not packed, so that this is quick.

    Args:
        fused: the fused graph, with static shapes.
        target: what the kernels would run on.
        choose: picks the schedule of a problem.
        fp32_mode: how products of f32 are multiplied, as `Lowering` has it.
    """
    for group in Walk().groups(fused):
        try:
            found, _ = rebased(lower_group(group, fp32_mode))
            _placed(group, partial(chosen, found, target, RangedChoice(choose)))
        except ModelError as error:
            yield group, error


@dataclass(frozen=True, slots=True)
class _LoweredGroup:
    """A group, its kernel without a schedule, what the kernel's pointers refer to, weights pooled, and how many bytes into that."""

    group: Group
    lowered: Lowered
    referents: tuple[Referent, ...]
    begins: tuple[int, ...]


def _with_sizes(lowered: Sequence[_LoweredGroup], table: CountTable) -> list[_LoweredGroup]:
    """Return the kernels with those between them that work out sizes."""
    behind: dict[int, list[_LoweredGroup]] = {}
    for step in table.steps:
        referents = tuple(step.lowered.slots.referents)
        behind.setdefault(step.behind, []).append(_LoweredGroup(step.group, step.lowered, referents, (0,) * len(referents)))
    return [one for number, kernel in enumerate(lowered) for one in (kernel, *behind.get(number, ()))]


class _Kernels:
    """The distinct kernels of a plan."""

    def __init__(self) -> None:
        self._numbers: dict[KernelRequest, int] = {}
        self._geometries: list[Geometry] = []
        self._maps: list[tuple[TensorMap, ...]] = []
        self._recipes: list[set[str]] = []

    def add(self, one: _LoweredGroup, serving: Serving) -> int:
        """Return the number of the kernel that serves a group."""
        kind = serving.chosen
        request = KernelRequest(
            family=kind.family.name,
            problem=kind.problem,
            schedule=kind.schedule,
            functors=serving.functors,
            pointers=len(one.referents),
            scalars=len(scalar_values(kind.problem, serving.functors)),
            index_bits=index_bits(one.lowered.slots, (v.type.elements for v in one.group.outputs)),
        )
        if request not in self._numbers:
            self._numbers[request] = len(self._numbers)
            self._geometries.append(_launchable(serving.plain(kind.family.geometry(kind.problem, kind.schedule))))
            self._maps.append(serving.plain(tensor_maps(request)))
            self._recipes.append(set())
        number = self._numbers[request]
        self._recipes[number].update(r.recipe for r in one.referents if isinstance(r, PackedWeight))
        return number

    def request(self, number: int) -> KernelRequest:
        """Return what a kernel is."""
        return list(self._numbers)[number]

    def finished(self) -> tuple[Kernel, ...]:
        """Return the kernels."""
        return tuple(
            Kernel(request=request, geometry=geometry, recipes=tuple(sorted(used)), maps=maps)
            for request, geometry, used, maps in zip(self._numbers, self._geometries, self._recipes, self._maps, strict=True)
        )


def _launches(
    lowered: Sequence[_LoweredGroup],
    words: Sequence[tuple[Word, ...]],
    target: Target,
    choose: Choose,
    points: Mapping[str, tuple[int, ...]],
) -> tuple[tuple[Kernel, ...], tuple[Launch, ...]]:
    """Give every group its kernels; return the distinct ones, and the launches.

    Args:
        lowered: the groups.
        words: argument block of each.
        target: what they run on.
        choose: picks the schedule of a problem.
        points: sizes that schedules are chosen for.
    """
    kernels, intervals = _Kernels(), Intervals(target, choose, points)
    launches = []
    for one, block in zip(lowered, words, strict=True):
        *special, rest = _placed(one.group, partial(intervals.servings, one.lowered))
        number = kernels.add(one, rest)
        known = dict(zip(one.lowered.scalars, block[len(one.referents) :], strict=True))
        alternatives = []
        for serving in special:
            other = kernels.add(one, serving)
            sizes = serving.scalars(kernels.request(other), tuple(known))
            moved = (*block[: len(one.referents)], *(known.get(size) or Word(kind="integer", value=size) for size in sizes))
            alternatives.append(Alternative(condition=serving.condition, kernel=other, words=moved))
        if not same(kernels.request(number).scalar_values, one.lowered.scalars):
            raise InternalError("kernels of one group take different sizes", where=", ".join(_origin(one.group)) or None)
        launches.append(
            Launch(kernel=number, words=block, origin=_origin(one.group), note=_note(one.group), alternatives=tuple(alternatives))
        )
    return kernels.finished(), tuple(launches)


def _launchable(geometry: Geometry) -> Geometry:
    """Return a geometry of a block at least: one without work does nothing, while a launch of none is an error.

    Where only the device will know how many blocks have work, there are as many as can have.
    """
    x, y, z = (blocks if lower(blocks) > 0 else maximum(1, blocks) for blocks in map(ceiling, geometry.grid))
    return geometry if same((x, y, z), geometry.grid) else replace(geometry, grid=(x, y, z))


def _placed(group: Group, find: Callable[[], T]) -> T:
    """Return what FIND does; an error is given the group's nodes."""
    try:
        return find()
    except ModelError as error:
        error.where = ", ".join(_origin(group)) or None
        raise


def lower_group(group: Group, fp32_mode: str = "ffma") -> Lowered:
    """Lower one group; an error that names no place is given the group's nodes."""
    try:
        return LOWERINGS[group.kind](Lowering(group, fp32_mode))
    except NautilusError as error:
        if error.where is None:
            error.where = ", ".join(_origin(group)) or None
        raise


def _origin(group: Group) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for node in group.nodes for name in node.origin))


def _note(group: Group) -> str:
    """Say why a kernel that computes no node is there."""
    if not group.nodes:
        return SIZES_NOTE
    moves_only = all(is_movement(node) or node.op == COPY.name for node in group.nodes)
    return "copy" if group.kind == "pointwise" and moves_only else ""


class WeightPool:
    """Constants of the plan, each distinct contents once."""

    def __init__(self) -> None:
        self._by_source: dict[int, PackedWeight] = {}
        self._by_digest: dict[bytes, PackedWeight] = {}
        self._tensors: dict[int, list[str]] = {}
        self._offsets: dict[int, int] = {}
        self._kept: list[object] = []

    def add(self, referent: Referent) -> Referent:
        """Return the pooled weight of a constant; other referents are returned as they are."""
        if isinstance(referent, Value) and referent.constant is not None:
            constant = referent.constant
            key = id(constant)
            if key not in self._by_source:
                self._kept.append(constant)  # keeps the id from being taken again
                self._by_source[key] = self._pooled(
                    PackedWeight(lambda: np.ascontiguousarray(constant), "dense", packing.names((referent,)))
                )
            return self._by_source[key]
        if isinstance(referent, PackedWeight):
            return self._pooled(referent)
        return referent

    def _pooled(self, weight: PackedWeight) -> PackedWeight:
        digest = hashlib.sha256(weight.array.reshape(-1).view(np.uint8).data).digest()
        pooled = self._by_digest.setdefault(digest, weight)
        names = self._tensors.setdefault(id(pooled), [])
        names += [name for name in weight.tensors if name not in names]
        return pooled

    def layout(self) -> tuple[tuple[Weight, ...], int]:
        """Give each weight its offset, in order of first use; return them and the bytes of the section."""
        entries = []
        offset = 0
        for weight in self._by_digest.values():
            self._offsets[id(weight)] = offset
            entries.append(Weight(array=weight.array, recipe=weight.recipe, offset=offset, tensors=tuple(self._tensors[id(weight)])))
            offset += -(-weight.array.nbytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        return tuple(entries), offset

    def offset(self, weight: PackedWeight) -> int:
        """Return the byte offset of a pooled weight; after layout()."""
        return self._offsets[id(weight)]


HOST_WORD_BYTES = 16
"""Of a value in the host's memory: what kernels rely on in every pointer."""

MOST_HOST_BYTES = 1 << 20
"""Of all of them; what has no room lies in the arena, and is copied. Source: PAYLOAD_HOST_BYTES of templates/host/payload.h."""


def _waits(fused: FusedGraph, lowered: Sequence[_LoweredGroup], walk: Walk, table: CountTable) -> dict[Value, int]:
    """Return what kernels write for the host to decide a step by, with its place in the host's memory: so nothing is copied for it."""
    outside = {v for _, v in fused.graph.inputs} | fused.graph.output_values()
    stored = {value for one in lowered for value in one.group.outputs}
    found = [value for value in dict.fromkeys(walk.waits) if value in stored and value not in outside and not table.holds(value)]
    own = [value for value in found if walk.place(value) is value][: MOST_HOST_BYTES // HOST_WORD_BYTES]
    return {value: number * HOST_WORD_BYTES for number, value in enumerate(own)}


def _buffers(
    fused: FusedGraph, lowered: Sequence[_LoweredGroup], walk: Walk, table: CountTable, waits: Mapping[Value, int]
) -> tuple[dict[Value, Buffer], int]:
    """Place every stored value that is neither an input nor an output, nor for the host, in the arena, behind the numbers of TABLE."""
    outside = {v for _, v in fused.graph.inputs} | fused.graph.output_values() | waits.keys()
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
    intervals = [Interval(bytes=ceiling(v.type.bytes), first=first[v], last=last[v]) for v in first]
    is_static = not any(is_symbolic(interval.bytes) for interval in intervals)
    offsets, total = place(intervals, ALIGNMENT_BYTES) if is_static else stack(intervals, ALIGNMENT_BYTES, walk.read)
    begin = -(-table.bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    buffers = {
        v: Buffer(offset=begin + offset, bytes=i.bytes, first=i.first, last=i.last, tensor=v.tensor)
        for v, i, offset in zip(first, intervals, offsets, strict=True)
    }
    return buffers, begin + total


@dataclass(frozen=True, slots=True)
class _Places:
    """Where everything that a kernel points to lies."""

    fused: FusedGraph
    buffers: Mapping[Value, Buffer]
    weights: WeightPool
    walk: Walk
    table: CountTable
    waits: Mapping[Value, int]

    def size_word(self, size: int) -> Word:
        """Return the argument word of a size, or where the kernel finds it."""
        return Word(kind="arena", value=self.table.size_offset(size)) if counts_in(size) else Word(kind="integer", value=size)

    def word(self, referent: Referent | Slot, begin: int) -> Word:
        """Return the argument word that points so many bytes into a referent."""
        if isinstance(referent, Value):
            referent = self.walk.place(referent)
        if isinstance(referent, Slot):
            return Word(kind="slot", index=referent.number, value=begin)
        if isinstance(referent, Value):
            referent = self.weights.add(referent)  # a constant that a body reads as it does any operand is one of these
        if isinstance(referent, Status):
            return Word(kind="status")
        if isinstance(referent, PackedWeight):
            return Word(kind="weights", value=self.weights.offset(referent) + begin)
        if self.table.holds(referent):
            return Word(kind="arena", value=self.table.offset(referent) + begin)
        if referent in self.waits:
            return Word(kind="host", value=self.waits[referent] + begin)
        for kind, found in (("output", self.fused.graph.outputs), ("input", self.fused.graph.inputs)):
            for index, (_, value) in enumerate(found):
                if value is referent:
                    return Word(kind=kind, index=index, value=begin)
        if referent not in self.buffers:
            raise InternalError("a value that a kernel reads is stored nowhere", where=referent.tensor)
        return Word(kind="arena", value=self.buffers[referent].offset + begin)

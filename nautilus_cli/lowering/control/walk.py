"""Flattens a fused graph and those that its nodes hold: one list of launches, one arena, and the steps that say which launches run.

What a body calls its own lies where the graph around it has it, or at an address that moves from iteration to iteration: a slot. A tensor
that a loop or branch reads stays in memory until its end, and what it gives is there from its beginning.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from nautilus_cli.errors import ModelError
from nautilus_cli.ir import dims
from nautilus_cli.ir.control import BranchAttrs, LoopAttrs
from nautilus_cli.ir.counts import counts_of
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import FusedGraph, Graph, Group, Value
from nautilus_cli.ir.polynomial import Polynomial
from nautilus_cli.ir.quotients import divides
from nautilus_cli.ir.types import TensorType
from nautilus_cli.lowering.control.unplaced import (
    MovingAddress,
    Place,
    Unplaced,
    WordOf,
    carry_of,
    copy_step,
    element_of,
    read_step,
    refuse_step,
)
from nautilus_cli.lowering.program import MOST_DEPTH, Choice, Element, Launches, Repeat, Step, Word
from nautilus_cli.passes.caches.alias_caches import cache_pairs, written_before

ALIGNMENT_BYTES = 16
"""What kernels rely on in every pointer. A piece of a tensor that is not aligned so is copied to where it is, or from there."""


def launches_of(group: Group) -> int:
    """Return how many launches a group becomes."""
    if group.kind == "control":
        return sum(launches_of(inner) for body in group.bodies for inner in body.groups)
    return 0 if stores_nothing(group) else 1


def stores_nothing(group: Group) -> bool:
    """Whether all that a group computes is empty tensors."""
    return all(same(prod(v.type.static), 0) for v in group.outputs)


class Walk:
    """A way through a fused graph.

    Attributes:
        count: launches so far.
        slots: addresses that move, so far.
        graphs: those met so far.
        read: names of the numbers that the host reads, in the order in which it does.
        waits: values that the host reads to decide a step.
        spans: first and last launch during which a value must lie in memory, beside those that read and write it.
    """

    def __init__(self) -> None:
        self.count = 0
        self.slots = 0
        self.graphs: list[Graph] = []
        self.spans: dict[Value, tuple[int, int]] = {}
        self._places: dict[Value, Place] = {}
        self._steps: list[Unplaced] = []
        self._has_control = False
        self.read: list[str] = []
        self.waits: list[Value] = []
        self._inserted: list[tuple[int, bool]] = []

    def groups(self, fused: FusedGraph) -> Iterator[Group]:
        """Yield the groups that become a launch, in the order of the launches."""
        producers = fused.graph.producers()
        for pair in cache_pairs(fused.graph):
            _, whole = fused.graph.outputs[pair.output]
            for write in written_before(producers, whole):
                self._places.update(dict.fromkeys(write.results(), whole))  # a part of it was written
        self._steps = yield from self._through(fused, 0)

    def place(self, value: Value) -> Place:
        """Return where what a body calls VALUE lies; VALUE itself where that is for the plan to say."""
        found: Place = value
        while isinstance(found, Value) and found in self._places:
            found = self._places[found]
        return found

    def insert(self, behind: Sequence[tuple[int, bool]]) -> None:
        """Count launches that were put behind those of these numbers since, or behind what the host reads there; they run with those."""
        self._inserted = sorted(behind)
        self.spans = {value: (self._now(first), self._now(last)) for value, (first, last) in self.spans.items()}

    def _now(self, number: int) -> int:
        """Return what number a launch has by now."""
        return number + bisect_left(self._inserted, (number, False))

    def _at_read(self, number: int) -> int:
        """Return the same of the first launch behind a number that the host reads."""
        return number + bisect_left(self._inserted, (number - 1, True))

    def steps(self, word: WordOf) -> tuple[Step, ...]:
        """Return the steps; none where all launches run, one after another."""
        return tuple(step(word) for step in self._steps) if self._has_control else ()

    def _slot(self) -> MovingAddress:
        self.slots += 1
        return MovingAddress(self.slots - 1)

    def _through(self, fused: FusedGraph, depth: int) -> Generator[Group, None, list[Unplaced]]:
        self.graphs.append(fused.graph)
        steps: list[Unplaced] = []
        held = _reads(fused.graph)
        first, is_behind_read = self.count, False
        for group in fused.groups:
            if group.kind != "control":
                if not stores_nothing(group):
                    yield group
                    self.count += 1
                for value, size in held.items():
                    if value in group.outputs:
                        steps += [*self._launches(first, self.count, is_behind_read, is_before_read=True), read_step(value, size)]
                        self.read.append(str(size))
                        self._has_control = True
                        first, is_behind_read = self.count, True
                continue
            if depth == MOST_DEPTH:
                where = ", ".join(name for node in group.nodes for name in node.origin) or None
                raise ModelError(f"loops and branches whose course only the run knows are nested more than {depth} deep", where=where)
            steps += self._launches(first, self.count, is_behind_read)
            self._has_control = True
            steps += yield from (self._loop if _is_loop(group) else self._branch)(group, depth + 1)
            first, is_behind_read = self.count, False
        return [*steps, *self._launches(first, self.count, is_behind_read)]

    def _launches(self, first: int, end: int, is_behind_read: bool, *, is_before_read: bool = False) -> list[Unplaced]:
        """Return a step of launches, with those that were put between them; none where there are none."""

        def launches(_: WordOf) -> Launches:
            begin, stop = (self._at_read if is_behind_read else self._now)(first), (self._at_read if is_before_read else self._now)(end)
            return Launches(first=begin, count=stop - begin)

        return [launches] if end > first or is_behind_read else []

    def _hold(self, values: Sequence[Value], begin: int) -> None:
        """Keep values in memory from launch BEGIN to the last one so far."""
        for value in values:
            found = self.place(value)
            if isinstance(found, Value):
                first, last = self.spans.get(found, (begin, begin))
                self.spans[found] = (min(first, begin), max(last, self.count - 1))

    def _branch(self, group: Group, depth: int) -> Generator[Group, None, list[Unplaced]]:
        node, begin = group.anchor, self.count
        assert node is not None
        assert isinstance(node.attrs, BranchAttrs)
        condition, *rest = node.inputs
        operands = [value for value in rest if value is not None]
        known = node.attrs.condition
        results = _results(node.outputs, node.attrs.types)
        branches: list[list[Unplaced]] = []
        for body, refusal in zip(group.bodies, node.attrs.refusals, strict=True):
            if refusal:
                branches.append([refuse_step(refusal)])
                continue
            given, operands = operands[: len(body.graph.inputs)], operands[len(body.graph.inputs) :]
            self._places.update(zip((value for _, value in body.graph.inputs), given, strict=True))
            self._places.update(zip((value for _, value in body.graph.outputs), results, strict=True))
            branches.append((yield from self._through(body, depth)))
        self._hold([*node.operands(), *results], begin)
        self.waits += [] if condition is None else [condition]
        name = ", ".join(node.origin)

        def choice(word: WordOf) -> Step:
            yes, no = (tuple(step(word) for step in branch) for branch in branches)
            place = Word(kind="integer", value=0 if known is None else known) if condition is None else word(condition, 0)
            return Choice(condition=place, branches=(yes, no), name=name)

        return [choice]

    def _loop(self, group: Group, depth: int) -> Generator[Group, None, list[Unplaced]]:
        node, begin = group.anchor, self.count
        assert node is not None
        attrs, (body,) = node.attrs, group.bodies
        assert isinstance(attrs, LoopAttrs)
        trips, start, *rest = node.inputs
        operands = [value for value in rest if value is not None]
        inner = [value for _, value in body.graph.inputs]
        given = [value for _, value in body.graph.outputs]
        condition = given.pop(0) if attrs.is_conditional else None
        pieces = given[attrs.states :]
        types = [value.type for value in inner[: attrs.states]]
        types += [TensorType(value.type.dtype, (attrs.length, *value.type.static)) for value in pieces]
        results = _results(node.outputs, types)
        spare = [Value(type_) for type_ in types[: attrs.states]]
        read, write = ([self._slot() for _ in spare] for _ in range(2))
        self._places.update(zip(inner[: attrs.states], read, strict=True))
        self._places.update(zip(given[: attrs.states], write, strict=True))
        outside = attrs.states + len(attrs.scanned)
        self._places.update(zip(inner[outside:], operands[outside:], strict=True))
        scanned = self._moving(operands[attrs.states : outside], inner[attrs.states : outside], attrs.scanned)
        collected = self._moving(results[attrs.states :], pieces, attrs.collected)
        steps = yield from self._through(body, depth)
        apart = [*scanned.apart, *collected.apart]
        kept = [piece for _, piece in apart]
        self._hold([*node.operands(), *results, *spare, *kept, *(() if condition is None else (condition,))], begin)
        self.waits += [value for value in (trips, start, condition) if value is not None]
        before = [copy_step(piece, slot, piece) for slot, piece in scanned.apart]
        behind = [copy_step(slot, piece, piece) for slot, piece in collected.apart]
        carries = [carry_of(*each) for each in zip(read, write, operands, results, spare, strict=False)]
        name = ", ".join(node.origin)

        def repeat(word: WordOf) -> Step:
            count = None if trips is None else word(trips, 0)
            return Repeat(
                trips=count if attrs.trips is None else Word(kind="integer", value=attrs.trips),
                start=None if start is None else word(start, 0),
                condition=None if condition is None else word(condition, 0),
                carries=tuple(carry(word) for carry in carries),
                elements=tuple(element(word) for element in (*scanned.elements, *collected.elements)),
                body=tuple(step(word) for step in (*before, *steps, *behind)),
                most=attrs.most,
                name=name,
            )

        return [repeat]

    def _moving(self, wholes: Sequence[Value], pieces: Sequence[Value], reverse: Sequence[bool]) -> _Moving:
        """Give tensors, of which each iteration reads or writes a piece, addresses that move along them."""
        elements: list[Callable[[WordOf], Element]] = []
        apart: list[tuple[MovingAddress, Value]] = []
        for whole, piece, is_reverse in zip(wholes, pieces, reverse, strict=True):
            slot = self._slot()
            elements.append(element_of(slot, whole, piece, is_reverse))
            if divides(ALIGNMENT_BYTES, piece.type.bytes):
                self._places[piece] = slot
            else:
                apart.append((slot, piece))
        return _Moving(elements=elements, apart=apart)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moving:
    """Tensors of which each iteration reads or writes a piece.

    Attributes:
        elements: where their pieces begin, and how far apart they lie.
        apart: the pieces that kernels cannot reach where they lie, and where that is: they are copied.
    """

    elements: Sequence[Callable[[WordOf], Element]]
    apart: Sequence[tuple[MovingAddress, Value]]


def _reads(graph: Graph) -> dict[Value, int]:
    """Return the numbers that the host reads, by the values that hold them."""
    found = {symbol.name: symbol for node in graph.nodes for symbol in counts_of(node) if isinstance(symbol.source, dims.HostCount)}
    return {value: Polynomial.of({((found[name], 1),): 1}) for name, value in graph.counts if name in found}


def _is_loop(group: Group) -> bool:
    return group.anchor is not None and isinstance(group.anchor.attrs, LoopAttrs)


def _results(outputs: Sequence[Value | None], types: Sequence[TensorType]) -> list[Value]:
    """Return the results of a node, with a value in place of one that nobody reads: it is written all the same."""
    return [Value(type_) if value is None else value for value, type_ in zip(outputs, types, strict=True)]

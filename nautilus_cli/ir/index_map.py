"""Index maps: how an iteration coordinate finds its element, through any chain of movement operators.

A map is a chain of stages. The first takes the iteration coordinates; each later one takes the linear index that the one before
it gave, as its only coordinate; the last gives the element's offset in its buffer. A stage cuts each coordinate into digits, as a
number in mixed radix, and sums digit times stride. Transpose, slice, expand, reshape, split and reversal are strides; pad and
concatenation are guards: a digit outside its bounds means that no element is there.

Every number may be symbolic (`dims.py`): maps are equal where they are for all sizes, and a rule that holds for some sizes only is
not applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from math import prod

import numpy as np

from nautilus_cli.ir.binding import bind, settled
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import is_symbolic, lower, same, upper
from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.ir.indicators import equal
from nautilus_cli.ir.occurrences import factors, symbols
from nautilus_cli.ir.quotients import divides, exact_divmod
from nautilus_cli.ir.substitution import at_least_one, substitute


@dataclass(frozen=True, slots=True)
class Axis:
    """One digit of a coordinate.

    Attributes:
        extent: how many values the digit takes.
        stride: what one step of the digit adds to the index; 0 repeats, a negative one reverses.
        begin: first value that holds an element.
        end: one past the last value that holds an element; None for `extent`.
    """

    extent: int
    stride: int
    begin: int = 0
    end: int | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axis) and same(_numbers(self), _numbers(other))

    @property
    def stop(self) -> int:
        """One past the last value that holds an element."""
        return self.extent if self.end is None else self.end

    @property
    def is_guarded(self) -> bool:
        """Whether some value of the digit may hold no element."""
        return upper(self.begin) > 0 or (self.end is not None and lower(self.end - self.extent) < 0)


def _numbers(axis: Axis) -> tuple[int | None, ...]:
    return axis.extent, axis.stride, axis.begin, axis.end


Digits = tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """Coordinates to one linear index: offset + sum of digit × stride.

    Attributes:
        coordinates: for each coordinate its digits, most significant first.
        offset: index where every digit is zero; with guards it may lie outside the buffer.
    """

    coordinates: tuple[Digits, ...]
    offset: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stage) and self.coordinates == other.coordinates and same(self.offset, other.offset)

    @property
    def is_guarded(self) -> bool:
        """Whether some digit is guarded."""
        return any(axis.is_guarded for digits in self.coordinates for axis in digits)


@dataclass(frozen=True, slots=True)
class IndexMap:
    """A chain of stages from iteration coordinates to an offset."""

    stages: tuple[Stage, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """Extent of each iteration coordinate."""
        return tuple(prod(a.extent for a in digits) for digits in self.stages[0].coordinates)

    @property
    def is_guarded(self) -> bool:
        """Whether some coordinate has no element."""
        return any(stage.is_guarded for stage in self.stages)

    @property
    def is_identity(self) -> bool:
        """Whether the offset is the row-major linear index of the coordinates; the tensor behind may still have more elements."""
        return self == identity(self.extents)

    @property
    def is_void(self) -> bool:
        """Whether no coordinate has an element, though there are coordinates."""
        return any(axis.end is not None and _is_void(axis) for digits in self.stages[0].coordinates for axis in digits)

    def contiguous_width(self, limit: int) -> int:
        """Return the greatest power of two up to LIMIT by which neighbours along the last coordinate can be loaded at once.

        Such a group starts at a multiple of the width in the last coordinate, and its offsets are consecutive and start at a
        multiple of the width. 1 where the map repeats, reverses or guards along the last coordinate.
        """
        if len(self.stages) != 1:
            return 1
        (stage,) = self.stages
        if not stage.coordinates:
            return 1
        *others, last = (axis for digits in stage.coordinates for axis in digits)
        if not same(last.stride, 1) or last.is_guarded:
            return 1
        aligned = [last.extent, stage.offset, *(a.stride for a in others if upper(a.extent) > 1)]
        width = limit
        while width > 1 and not all(divides(width, number) for number in aligned):
            width //= 2
        return width

    def is_uniform_last(self) -> bool:
        """Whether the offset does not depend on the last coordinate."""
        return len(self.stages) == 1 and all(same(a.stride, 0) and not a.is_guarded for a in self.stages[0].coordinates[-1])

    def offsets(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (offsets, valid) for every coordinate, shaped as `extents`: the reference that the CUDA twin is tested against."""
        coordinates = list(np.indices(self.extents, dtype=np.int64))
        valid = np.ones(self.extents, dtype=bool)
        for stage in self.stages:
            total = np.full(self.extents, stage.offset, dtype=np.int64)
            for coordinate, digits in zip(coordinates, stage.coordinates, strict=True):
                rest = coordinate
                for axis in reversed(digits):
                    digit, rest = rest % axis.extent, rest // axis.extent
                    total = total + digit * axis.stride
                    valid &= (digit >= axis.begin) & (digit < (axis.extent if axis.end is None else axis.end))
            coordinates = [np.where(valid, total, 0)]
        return coordinates[0], valid


def divisors(value: object) -> Iterator[int]:
    """Yield the symbolic numbers by which the index maps in a tree of dataclasses and tuples cut coordinates into digits."""
    if isinstance(value, Stage):
        for digits in value.coordinates:
            yield from (axis.extent for axis in digits[1:] if is_symbolic(axis.extent))
    elif isinstance(value, tuple):
        for item in value:
            yield from divisors(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from divisors(getattr(value, field.name))


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a dense tensor, in elements."""
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


def from_strides(shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> IndexMap:
    """Return the map whose coordinates are the dimensions of SHAPE, each with its stride."""
    return simplify(IndexMap((Stage(tuple((Axis(e, s),) for e, s in zip(shape, strides, strict=True)), offset),)))


def identity(extents: Sequence[int]) -> IndexMap:
    """Return the map to the row-major linear index of the coordinates."""
    return from_strides(extents, row_major(extents))


def physical(shape: Sequence[int], order: Sequence[int] | None) -> IndexMap:
    """Return the map from a tensor's dimensions, in ONNX order, to its elements stored in ORDER (outermost first)."""
    order = tuple(range(len(shape))) if order is None else order
    strides = [0] * len(shape)
    step = 1
    for dim in reversed(order):
        strides[dim] = step
        step *= shape[dim]
    return from_strides(shape, strides)


def permuted(shape: Sequence[int], perm: Sequence[int]) -> IndexMap:
    """Return the map of Transpose: from the coordinates of the result to the linear index of the operand of SHAPE."""
    strides = row_major(shape)
    return from_strides([shape[p] for p in perm], [strides[p] for p in perm])


def broadcast(shape: Sequence[int], target: Sequence[int]) -> IndexMap:
    """Return the map of numpy broadcasting: from the coordinates of TARGET to the linear index of the operand of SHAPE."""
    padded = (1,) * (len(target) - len(shape)) + tuple(shape)
    strides = row_major(padded)
    return from_strides(target, [s if same(p, t) else s * (1 - equal(p, 1)) for p, t, s in zip(padded, target, strides, strict=True)])


def sliced(shape: Sequence[int], starts: Sequence[int], steps: Sequence[int], extents: Sequence[int]) -> IndexMap:
    """Return the map of Slice with a start, a step (which may be negative) and a resulting extent for every dimension."""
    strides = row_major(shape)
    offset = sum(b * s for b, s in zip(starts, strides, strict=True))
    return from_strides(extents, [k * s for k, s in zip(steps, strides, strict=True)], offset)


def padded(shape: Sequence[int], before: Sequence[int], extents: Sequence[int]) -> IndexMap:
    """Return the guarded map of Pad: EXTENTS of the result, BEFORE each dimension of SHAPE; negative amounts crop."""
    strides = row_major(shape)
    axes = []
    for size, b, extent, stride in zip(shape, before, extents, strides, strict=True):
        begin, end = maximum(0, b), minimum(extent, b + size)
        axes.append((Axis(extent, stride, begin, maximum(begin, end)),))
    return simplify(IndexMap((Stage(tuple(axes), -sum(b * s for b, s in zip(before, strides, strict=True))),)))


def reshaped(extents: Sequence[int]) -> IndexMap:
    """Return the map of Reshape: from the coordinates of the result to the same linear index."""
    return identity(extents)


def compose(outer: IndexMap, inner: IndexMap) -> IndexMap:
    """Return the map that applies OUTER (coordinates to a linear index) and then INNER (whose coordinates that index runs over).

    INNER's coordinates are the dimensions of a tensor; OUTER's result is the row-major linear index of that tensor.
    """
    first, *rest = inner.stages
    joined: Digits = tuple(axis for digits in first.coordinates for axis in digits)
    return simplify(IndexMap((*outer.stages, Stage((joined,), first.offset), *rest)))


def regroup(index_map: IndexMap, groups: Sequence[Sequence[int]]) -> IndexMap:
    """Return the map whose coordinates are groups of the old ones, joined most significant first; every old one is in one group."""
    first, *rest = index_map.stages
    joined = tuple(tuple(axis for number in group for axis in first.coordinates[number]) for group in groups)
    return simplify(IndexMap((Stage(joined, first.offset), *rest)))


def agree(first: IndexMap, second: IndexMap) -> bool:
    """Whether two maps give every coordinate the same offset, as far as simplification shows it.

    Where a size of 0 leaves no coordinate, whatever the others are, it need not be shown for that size.
    """
    if first == second:
        return True
    count = prod(first.extents)
    empty = [s for s in symbols(count) if s.source is None and s.low == 0 and same(substitute(count, {s.name: 0}), 0)]
    sizes = {s.name: symbol(s.name, s.divisor, s.high, s.divisor) for s in empty}
    first, second = bind(first, sizes), bind(second, sizes)
    positive = factors(prod(first.extents))
    return simplify(settled(first, lambda size: at_least_one(size, positive))) == simplify(
        settled(second, lambda size: at_least_one(size, positive))
    )


def simplify(index_map: IndexMap) -> IndexMap:
    """Return an equal map with the fewest stages and digits that the rules below find; a fixed point of itself.

    Rules: digits of extent 1 go; neighbouring digits whose strides nest join; a stage folds into the one before it where its digits can be
    told apart without carries. All maps without coordinates or without elements are one map.
    """
    extents = index_map.extents
    if any(same(extent, 0) for extent in extents):
        return IndexMap((Stage(tuple((Axis(extent, 0),) for extent in extents)),))
    stages = [_tidy(stage) for stage in index_map.stages]
    position = 0
    while True:
        if extents and any(_is_void(axis) for stage in stages for digits in stage.coordinates for axis in digits):
            return IndexMap((Stage(((Axis(extents[0], 0, 0, 0),), *((Axis(extent, 0),) for extent in extents[1:]))),))
        if position + 1 == len(stages):
            return IndexMap(tuple(stages))
        merged = _merge(stages[position], stages[position + 1])
        if merged is None:
            position += 1
        else:
            stages[position : position + 2] = [_tidy(merged)]
            position = max(0, position - 1)


def _is_void(axis: Axis) -> bool:
    return upper(axis.stop - axis.begin) <= 0


def _tidy(stage: Stage) -> Stage:
    """Drop digits of extent 1 and join digits that nest."""
    offset = stage.offset
    coordinates = []
    for digits in stage.coordinates:
        kept: list[Axis] = []
        for axis in digits:
            if axis.end is not None and same(axis.end, axis.extent):
                axis = replace(axis, end=None)
            if same(axis.extent, 1) and not axis.is_guarded:
                continue
            last = kept[-1] if kept else None
            if last is not None and not last.is_guarded and not axis.is_guarded and same(last.stride, axis.extent * axis.stride):
                kept[-1] = Axis(last.extent * axis.extent, axis.stride)
            else:
                kept.append(axis)
        coordinates.append(tuple(kept) or (Axis(1, 0),))
    return Stage(tuple(coordinates), offset)


def _merge(outer: Stage, inner: Stage) -> Stage | None:
    """Fold INNER, a stage of one coordinate, into OUTER; None where a carry or a guard forbids it."""
    (digits,) = inner.coordinates
    if len(digits) == 1 and not digits[0].is_guarded and (lower(outer.offset) >= 0 or not outer.is_guarded):
        (axis,) = digits
        scaled = tuple(tuple(replace(a, stride=a.stride * axis.stride) for a in c) for c in outer.coordinates)
        return Stage(scaled, inner.offset + outer.offset * axis.stride)
    refined = _refine(outer, digits)
    if refined is None:
        return None
    outer = refined
    places = row_major([a.extent for a in digits])
    shares: dict[tuple[int, int], list[int]] = {}
    for i, coordinate in enumerate(outer.coordinates):
        for j, axis in enumerate(coordinate):
            share = _shares(axis.stride, places)
            if share is None:
                return None
            shares[i, j] = share
    # Count from the first values that hold an element: guards may move the offset itself outside the buffer.
    first = _digits_of(outer.offset + sum(a.begin * a.stride for c in outer.coordinates for a in c), places)
    if first is None:
        return None
    base, low, high = list(first), list(first), list(first)
    for i, coordinate in enumerate(outer.coordinates):
        for j, axis in enumerate(coordinate):
            last = (axis.stop if axis.is_guarded else maximum(1, axis.stop)) - 1 - axis.begin  # of none, no coordinate has an element
            if lower(last) < 0:
                return None
            for d, s in enumerate(shares[i, j]):
                base[d] -= s * axis.begin
                low[d] += minimum(0, s * last)
                high[d] += maximum(0, s * last)
    guarded = any(a.is_guarded for a in digits)
    if any(lower(lo) < 0 or upper(hi - maximum(1, a.extent)) >= 0 for lo, hi, a in zip(low, high, digits, strict=True)):
        return None
    if guarded:
        return _merge_guarded(outer, inner, digits, base, shares)
    coordinates = tuple(
        tuple(
            replace(axis, stride=sum(s * a.stride for s, a in zip(shares[i, j], digits, strict=True))) for j, axis in enumerate(coordinate)
        )
        for i, coordinate in enumerate(outer.coordinates)
    )
    return Stage(coordinates, inner.offset + sum(b * a.stride for b, a in zip(base, digits, strict=True)))


def _merge_guarded(outer: Stage, inner: Stage, digits: Digits, base: list[int], shares: dict[tuple[int, int], list[int]]) -> Stage | None:
    """Fold a guarded inner stage: each guarded inner digit must be moved by exactly one outer digit, by steps of one."""
    bounds: dict[tuple[int, int], tuple[int, int]] = {}
    for d, axis in enumerate(digits):
        if not axis.is_guarded:
            continue
        movers = [key for key, share in shares.items() if not same(share[d], 0)]
        if len(movers) != 1 or movers[0] in bounds:
            return None
        i, j = movers[0]
        step = shares[movers[0]][d]
        if not same(step, 1) and not same(step, -1):
            return None
        lo, hi = (axis.begin - base[d], axis.stop - base[d]) if same(step, 1) else (base[d] - axis.stop + 1, base[d] - axis.begin + 1)
        old = outer.coordinates[i][j]
        begin = maximum(old.begin, lo)
        bounds[movers[0]] = (begin, maximum(begin, minimum(old.stop, hi)))
    coordinates = tuple(
        tuple(
            Axis(
                axis.extent,
                sum(s * a.stride for s, a in zip(shares[i, j], digits, strict=True)),
                *bounds.get((i, j), (axis.begin, axis.end)),
            )
            for j, axis in enumerate(coordinate)
        )
        for i, coordinate in enumerate(outer.coordinates)
    )
    return Stage(coordinates, inner.offset + sum(b * a.stride for b, a in zip(base, digits, strict=True)))


def _refine(outer: Stage, digits: Digits) -> Stage | None:
    """Split OUTER's digits so that each moves within one inner digit, where their extents divide."""
    places = row_major([a.extent for a in digits])
    coordinates = []
    for coordinate in outer.coordinates:
        fine: list[Axis] = []
        for axis in coordinate:
            pieces = _split(axis, digits, places)
            if pieces is None:
                return None
            fine.extend(pieces)
        coordinates.append(tuple(fine))
    return Stage(tuple(coordinates), outer.offset)


def _split(axis: Axis, digits: Digits, places: tuple[int, ...]) -> list[Axis] | None:
    """Split one outer digit at the borders of the inner digits that it runs across."""
    if same(axis.stride, 0) or same(axis.extent, 1):
        return [axis]
    magnitude = -axis.stride if upper(axis.stride) < 0 else axis.stride
    inside = [d for d, place in enumerate(places) if divides(place, magnitude) and lower(magnitude - place * digits[d].extent) < 0]
    if not inside:
        return [axis]  # a stride that moves several inner digits at once: the shares decide
    d = inside[0]
    if lower(places[d]) < 1:
        return None
    share = magnitude // places[d]
    span = digits[d].extent
    if upper(share * (axis.stop - axis.begin - 1) - span) < 0:
        return [axis]
    if axis.is_guarded or d == 0 or lower(share) < 1 or not divides(share, span):
        return None
    fine = span // share
    if lower(fine) < 1 or not divides(fine, axis.extent):
        return None
    coarse = Axis(axis.extent // fine, axis.stride * fine)
    rest = _split(coarse, digits, places)
    return None if rest is None else [*rest, Axis(fine, axis.stride)]


def _shares(stride: int, places: tuple[int, ...]) -> list[int] | None:
    """Write STRIDE as steps of the inner digits; None where it does not fit them."""
    if upper(stride) < 0:
        steps = _digits_of(-stride, places)
        return None if steps is None else [-step for step in steps]
    return _digits_of(stride, places) if lower(stride) >= 0 else None


def _digits_of(index: int, places: tuple[int, ...]) -> list[int] | None:
    """Write INDEX in the mixed radix of PLACES; a negative one, or one too large, lies in the first digit.

    A place by which a symbolic index has no proven quotient gets none: a smaller place may.
    """
    result = []
    rest = index
    for place in places:
        step, rest = exact_divmod(rest, place) or (0, rest)
        result.append(step)
    return result if same(rest, 0) else None

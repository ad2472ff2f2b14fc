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
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from nautilus_cli.ir.binding import bind, field_names, map_expressions
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import is_symbolic, same, upper
from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.ir.indicators import equal
from nautilus_cli.ir.occurrences import factors, symbols
from nautilus_cli.ir.quotients import divides
from nautilus_cli.ir.stage_folding import merged_stage, tidy
from nautilus_cli.ir.stages import Axis, Digits, Stage, row_major
from nautilus_cli.ir.substitution import at_least_one, substitute
from nautilus_cli.ir.terms import plain


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
        return any(axis.end is not None and axis.is_void for digits in self.stages[0].coordinates for axis in digits)

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
    else:
        for name in field_names(value):
            yield from divisors(getattr(value, name))


def from_strides(shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> IndexMap:
    """Return the map whose coordinates are the dimensions of SHAPE, each with its stride."""
    return _from_strides(tuple(map(plain, shape)), tuple(map(plain, strides)), plain(offset))


@lru_cache(maxsize=1 << 13)  # layers that are alike ask for the same, in each pass that looks through movement
def _from_strides(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> IndexMap:
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


@lru_cache(maxsize=1 << 13)
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
    return simplify(map_expressions(first, lambda size: at_least_one(size, positive))) == simplify(
        map_expressions(second, lambda size: at_least_one(size, positive))
    )


def simplify(index_map: IndexMap) -> IndexMap:
    """Return an equal map with the fewest stages and digits that the rules below find; a fixed point of itself.

    Rules: digits of extent 1 go; neighbouring digits whose strides nest join; a stage folds into the one before it where its digits can be
    told apart without carries. All maps without coordinates or without elements are one map.
    """
    extents = index_map.extents
    if any(same(extent, 0) for extent in extents):
        return IndexMap((Stage(tuple((Axis(extent, 0),) for extent in extents)),))
    stages = [tidy(stage) for stage in index_map.stages]
    position = 0
    while True:
        if extents and any(axis.is_void for stage in stages for digits in stage.coordinates for axis in digits):
            return IndexMap((Stage(((Axis(extents[0], 0, 0, 0),), *((Axis(extent, 0),) for extent in extents[1:]))),))
        if position + 1 == len(stages):
            return IndexMap(tuple(stages))
        merged = merged_stage(stages[position], stages[position + 1])
        if merged is None:
            position += 1
        else:
            stages[position : position + 2] = [tidy(merged)]
            position = max(0, position - 1)

"""Axes that only a run knows, as arithmetic: which dimensions they name, and the shapes without and with them.

With the indicator m of an axis, a dimension d is split into two, of which one is 1: (1, d) where the axis names it, (d, 1) where it does
not. So the second of each pair are axes that are known, though not their sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from nautilus_cli.ir.dims import lower, upper
from nautilus_cli.ir.functions import maximum, minimum, named
from nautilus_cli.ir.indicators import any_of, at_most, chosen, equal, selected
from nautilus_cli.ops.checks import normal_axes
from nautilus_cli.ops.spec import Inference


def named_dimensions(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return for each of RANK dimensions 1 where one of AXES, from -RANK to RANK - 1, names it, else 0."""
    found = normal_axes(axes, rank)
    return tuple(any_of([equal(axis, number) for axis in found]) for number in range(rank))


def require_distinct(inference: Inference, axes: Sequence[int], rank: int) -> None:
    """Let a run make sure that no two AXES name one dimension."""
    found = normal_axes(axes, rank)
    pairs = [equal(a, b) for number, a in enumerate(found) for b in found[:number]]
    inference.require(sum(pairs), 0, 0, "the number of axes that name a dimension which another one names")


def split_shape(shape: Sequence[int], flags: Sequence[int]) -> tuple[int, ...]:
    """Return the shape in which each dimension is two: what it is where its flag is 0, and what it is where that is 1."""
    return tuple(size for d, flag in zip(shape, flags, strict=True) for size in (chosen(flag, 1, d), chosen(flag, d, 1)))


def without(shape: Sequence[int], flags: Sequence[int], count: int) -> tuple[int, ...]:
    """Return a shape without the dimensions whose flag is 1, of which there are COUNT."""
    rank = len(shape)
    kept = [sum(1 - flag for flag in flags[: number + 1]) for number in range(rank)]  # of the dimensions up to each
    result = []
    for place in range(rank - count):
        # The dimension that comes to this place has so many before it: those up to which fewer, or as many, are kept as there are places.
        before = sum(at_most(number, place) for number in kept)
        choices = shape[place : place + count + 1]
        result.append(_one_of(selected(maximum(0, minimum(before - place, count)), choices), choices))
    return tuple(result)


def with_ones(shape: Sequence[int], flags: Sequence[int], count: int) -> tuple[int, ...]:
    """Return a shape with a dimension of 1 wherever a flag is 1, of which there are COUNT; FLAGS has one a dimension of the result."""
    rank = len(shape)
    result = []
    for place, flag in enumerate(flags):
        low, high = max(0, place - count), min(place, rank - 1)
        choices = shape[low : high + 1] if low <= high else (1,)
        here = chosen(flag, 1, selected(place - sum(flags[:place]) - low, choices))
        result.append(_one_of(here, (*choices, 1)))
    return tuple(result)


def _one_of(size: int, choices: Sequence[int]) -> int:
    """Return a size, which is one of several whatever its expression shows, with their bounds and under a name."""
    low, high = min(map(lower, choices)), max(map(upper, choices))
    if lower(size) < low:
        size = maximum(low, size)
    if upper(size) > high:
        size = minimum(high, size)
    return named(f"({size})", size)


def line_shape(shape: Sequence[int], axis: int) -> tuple[int, int, int]:
    """Return a shape as three dimensions, of which the second is that of AXIS, counted from the front."""
    places = range(len(shape))
    outer = selected(axis, [prod(shape[:place]) for place in places])
    inner = selected(axis, [prod(shape[place + 1 :]) for place in places])
    return outer, selected(axis, list(shape)), inner

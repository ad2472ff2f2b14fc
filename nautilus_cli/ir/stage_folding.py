"""What makes fewer stages and digits of an index map: digits that nest join, and a stage folds into the one before it."""

from __future__ import annotations

from dataclasses import replace

from nautilus_cli.ir.dims import lower, same, upper
from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.ir.quotients import divides, exact_divmod
from nautilus_cli.ir.stages import Axis, Digits, Stage, row_major


def tidy(stage: Stage) -> Stage:
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


def merged_stage(outer: Stage, inner: Stage) -> Stage | None:
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

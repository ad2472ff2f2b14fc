"""Tables of a resampling that are worked out when the model runs: `resampling.taps`, in nodes.

The same numbers in the same order and types as there, so that what is known when the model is compiled and what is not agree: places in
float32, or in float64 of elements that are, and weights in float64.
"""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.indicators import less
from nautilus_cli.ir.types import F32, F64, I32
from nautilus_cli.ops.numbers import Arithmetic, number, progression
from nautilus_cli.ops.reduce import reduction
from nautilus_cli.ops.resampling import Sampling, filter_reach, nearest_shift
from nautilus_cli.ops.spec import Emitter
from nautilus_cli.ops.wide import cast, reshape


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLine:
    """A dimension and what it becomes, as `resampling.Line`; numbers that a kernel computes with are values.

    Attributes:
        size: elements.
        result: elements of the result.
        taps: elements that a result takes where the filter is stretched: an even number.
        scale: result elements for each element, a scalar in the type of the places.
        target: elements that the result stands for, likewise.
        start: of the region that is resized, likewise; None for the first element.
        end: of that region; None for the last element.
    """

    size: int
    result: int
    taps: int
    scale: Value
    target: Value
    start: Value | None = None
    end: Value | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTaps:
    """What each result takes.

    Shapes:
        first: [result], int32.
        weights: [result, taps], float64; None where each result is one element.
        outside: [result], bool; None where no place is.
    """

    first: Value
    weights: Value | None
    outside: Value | None


def open_taps(emitter: Emitter, line: OpenLine, sampling: Sampling) -> OpenTaps:
    """Return what the results of a dimension take."""
    real = F64 if sampling.is_double else F32
    places = _places(Arithmetic(emitter, real), line, sampling.coordinates)
    outside = None
    if sampling.coordinates == "tf_crop_and_resize":
        on = Arithmetic(emitter, real)
        outside = emitter.node("Or", [on.apply("Less", places, 0), on.apply("Greater", places, line.size - 1)])
    wide = cast(emitter, places, F64)
    on = Arithmetic(emitter, F64)
    if sampling.mode == "nearest":
        shift, rounding = nearest_shift(sampling.rounding)
        shifted = on.add(wide, shift) if shift else wide
        return OpenTaps(first=cast(emitter, emitter.node(rounding, [shifted]), I32), weights=None, outside=outside)
    begin = emitter.node("Floor", [wide])
    taps = line.taps if sampling.is_antialiased else 2 * filter_reach(sampling.mode)
    weights = _weights(on, on.subtract(wide, begin), line, sampling, taps)
    first = on.add(begin, 1 - taps // 2)
    if sampling.excludes_outside:
        weights = _inside(on, first, weights, line.size, taps)
    return OpenTaps(first=cast(emitter, first, I32), weights=weights, outside=outside)


def _places(on: Arithmetic, line: OpenLine, coordinates: str) -> Value:
    """Return where each result lies among the elements, [result]: see `resampling`."""
    x = progression(on.emitter, line.result, on.dtype)
    match coordinates:
        case "asymmetric":
            return on.divide(x, line.scale)
        case "tf_half_pixel_for_nn":
            return on.divide(on.add(x, 0.5), line.scale)
        case "align_corners":
            gaps = on.subtract(line.target, 1)
            is_point = on.apply("Equal", gaps, 0)
            spread = on.divide(on.multiply(x, line.size - 1), on.where(is_point, 1, gaps))
            found = on.where(is_point, on.multiply(x, 0), spread)
            return on.where(_is_unchanged(on, line), x, found)
        case "half_pixel_symmetric":
            return _symmetric(on, x, line)
        case "tf_crop_and_resize":
            return _cropped(on, x, line)
    found = on.subtract(on.divide(on.add(x, 0.5), line.scale), 0.5)
    if coordinates == "pytorch_half_pixel" and not same(less(1, line.result), 1):
        return on.multiply(found, less(1, line.result))
    return found


def _is_unchanged(on: Arithmetic, line: OpenLine) -> Value:
    """Return whether the dimension stays as it is: quotients of large numbers would round."""
    is_whole = on.apply("Equal", line.scale, 1)
    return on.emitter.node("And", [is_whole, on.apply("Equal", number(on.emitter, line.size, on.dtype), line.result)])


def _symmetric(on: Arithmetic, x: Value, line: OpenLine) -> Value:
    """Return places around the middle, which only the offset's terms have in the type of the places."""
    offset = on.subtract(1, on.divide(line.result, on.multiply(line.scale, line.size)))
    offset = on.multiply(on.divide(line.size, 2), offset)
    wide = Arithmetic(on.emitter, F64)
    scale, offset, x = (cast(on.emitter, value, F64) for value in (line.scale, offset, x))
    found = wide.subtract(wide.add(offset, wide.divide(wide.add(x, 0.5), scale)), 0.5)
    return cast(on.emitter, found, on.dtype)


def _cropped(on: Arithmetic, x: Value, line: OpenLine) -> Value:
    """Return places in a region."""
    last = line.size - 1
    start, end = on.value(0 if line.start is None else line.start), on.value(1 if line.end is None else line.end)
    gaps = on.value(line.result - 1)
    is_line = on.apply("Greater", gaps, 0)
    spread = on.divide(on.multiply(on.multiply(x, on.subtract(end, start)), last), on.where(is_line, gaps, 1))
    middle = on.add(x, on.multiply(on.multiply(0.5, on.add(start, end)), last))
    return on.where(is_line, on.add(on.multiply(start, last), spread), middle)


def _weights(on: Arithmetic, ratio: Value, line: OpenLine, sampling: Sampling, taps: int) -> Value:
    """Return weights [result, taps] of elements from 1 - taps / 2 on."""
    offsets = on.add(progression(on.emitter, taps, F64), 1 - taps // 2)
    distance = on.apply("Abs", on.subtract(offsets, reshape(on.emitter, ratio, (line.result, 1))))
    if sampling.is_antialiased:
        scale = cast(on.emitter, line.scale, F64)
        distance = on.multiply(distance, on.apply("Min", scale, 1))
    if sampling.mode == "linear":
        weights = on.apply("Min", on.apply("Max", on.subtract(1, distance), 0), 1)
    else:
        weights = _cubic(on, distance, sampling.cubic)
    return on.divide(weights, reduction(on.emitter, "ReduceSum", weights, (1,))) if sampling.is_antialiased else weights


def _cubic(on: Arithmetic, distance: Value, a: float) -> Value:
    square = on.multiply(distance, distance)
    near = on.add(on.multiply(on.subtract(on.multiply(distance, a + 2), a + 3), square), 1)
    far = on.subtract(on.multiply(on.add(on.multiply(on.subtract(on.multiply(distance, a), 5 * a), distance), 8 * a), distance), 4 * a)
    return on.where(on.apply("LessOrEqual", distance, 1), near, on.where(on.apply("Less", distance, 2), far, 0))


def _inside(on: Arithmetic, first: Value, weights: Value, size: int, taps: int) -> Value:
    """Return weights of which those beyond the ends went to the others."""
    emitter = on.emitter
    results = weights.type.static[0]
    elements = on.add(reshape(emitter, first, (results, 1)), progression(emitter, taps, F64))
    is_inside = emitter.node("And", [on.apply("GreaterOrEqual", elements, 0), on.apply("Less", elements, size)])
    kept = on.where(is_inside, weights, 0)
    total = reduction(emitter, "ReduceSum", kept, (1,))
    return on.divide(kept, on.where(on.apply("Equal", total, 0), 1, total))

"""Pad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import is_symbolic, lower, same, upper
from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import IndexMap, from_strides, padded, simplify
from nautilus_cli.ir.indicators import equal, from_front
from nautilus_cli.ir.stages import Axis, Stage, row_major
from nautilus_cli.ir.types import I64, TensorType, dtype_of
from nautilus_cli.ops.checks import (
    first_of,
    integers,
    known,
    normal_axes,
    one_of,
    operand,
    operand_count,
    optional_contents,
    optional_operand,
    required,
    same_dtype,
    vector,
)
from nautilus_cli.ops.element_types import ALL, INDICES
from nautilus_cli.ops.numbers import Arithmetic, progression
from nautilus_cli.ops.open_axes import require_distinct
from nautilus_cli.ops.spec import Emitter, Inference, Movement, MovementContext, Operator, Piece

MAX_PIECES = 27
"""Above this a mirrored Pad is written as one Pad an axis: a load of so many pieces costs more than another kernel."""


MOST_OPEN = 64
"""Elements of one amount along an axis that only a run knows: memory is planned for all of them along each."""


@dataclass(frozen=True, slots=True)
class PadAttrs:
    """Attributes of Pad; before opset 11 amounts and fill value were attributes too."""

    mode: str = "constant"
    pads: tuple[int, ...] | None = None
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring places of the result that take neighbouring elements of the operand.

    Attributes:
        begin: first place.
        end: one past the last place.
        start: element that the first place takes.
        step: distance of the elements of neighbouring places: 1, 0 or -1.
    """

    begin: int
    end: int
    start: int
    step: int


def amounts(
    attrs: PadAttrs, constants: Sequence[np.ndarray | None], types: Sequence[TensorType | None], rank: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return how much is added before and after each dimension; negative amounts crop.

    Raises:
        ModelError: there are not two amounts an axis, or an axis is out of range.
    """
    given = optional_contents(constants, types, 1, "pads")
    pads = attrs.pads if given is None else vector(given, "pads")
    chosen = optional_contents(constants, types, 3, "axes")
    axes = tuple(range(rank)) if chosen is None else vector(chosen, "axes")
    if pads is None or len(pads) != 2 * len(axes):
        raise ModelError(
            f"pads is {None if pads is None else list(pads)} for {len(axes)} axes; the specification requires two numbers each"
        )
    if any(map(is_symbolic, axes)):
        if any(not -rank <= axis < rank for axis in axes):
            raise ModelError(f"axes are {list(axes)}; for a tensor of rank {rank} the specification allows {-rank} to {rank - 1}")
        if any(amount > MOST_OPEN or amount < -MOST_OPEN for amount in pads):
            raise ModelError(f"pads are {list(pads)} along axes that only a run knows; up to {MOST_OPEN} are possible there")
        named = [[equal(from_front(axis, rank), dim) for axis in axes] for dim in range(rank)]
        sides = [[sum(is_here * p for is_here, p in zip(row, side, strict=True)) for row in named] for side in _sides(pads)]
        return tuple(sides[0]), tuple(sides[1])
    before, after = [0] * rank, [0] * rank
    for axis, b, a in zip(normal_axes(axes, rank), *_sides(pads), strict=True):
        before[axis], after[axis] = b, a
    return tuple(before), tuple(after)


def _sides(pads: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """Return the amounts before and those after."""
    return pads[: len(pads) // 2], pads[len(pads) // 2 :]


def source_places(size: int, before: int, after: int, mode: str) -> np.ndarray:
    """Return which element of a dimension each place of the result takes."""
    places = np.arange(-before, size + after)
    if mode == "edge":
        return np.clip(places, 0, size - 1)
    if mode == "wrap":
        return np.asarray(places % size)
    if size == 1:
        return np.zeros_like(places)
    period = 2 * (size - 1)
    return np.asarray((size - 1) - np.abs(places % period - (size - 1)))


def runs(places: np.ndarray) -> tuple[Run, ...]:
    """Cut places into the fewest runs, longest first."""
    found = []
    begin = 0
    while begin < len(places):
        end = begin + 1
        step = int(places[end] - places[begin]) if end < len(places) and abs(places[end] - places[begin]) <= 1 else 1
        while end < len(places) and places[end] - places[end - 1] == step:
            end += 1
        found.append(Run(begin, end, int(places[begin]), step))
        begin = end
    return tuple(sorted(found, key=lambda r: r.begin - r.end))


def _runs_of(size: int, before: int, after: int, mode: str) -> tuple[Run, ...] | None:
    """Return the runs of one dimension of any size, longest first as far as that is known; None where their number depends on sizes."""
    if not any(map(is_symbolic, (size, before, after))):
        return runs(source_places(size, before, after, mode))
    whole = Run(before, before + size, 0, 1)
    if same(before, 0) and same(after, 0):
        return (whole,)
    reach = 1 if mode == "edge" else maximum(before, after) + (0 if mode == "wrap" else 1)
    if lower(minimum(before, after)) < 0 or lower(size - reach) < 0:
        return None
    end = before + size
    match mode:
        case "edge":
            sides = Run(0, before, 0, 0), Run(end, end + after, size - 1, 0)
        case "wrap":
            sides = Run(0, before, size - before, 1), Run(end, end + after, 0, 1)
        case _:
            sides = Run(0, before, before, -1), Run(end, end + after, size - 2, -1)
    return (whole, *(side for side in sides if not same(side.begin, side.end)))


def _extents(shape: tuple[int, ...], before: tuple[int, ...], after: tuple[int, ...], mode: str) -> tuple[int, ...]:
    extents = tuple(d + b + a for d, b, a in zip(shape, before, after, strict=True))
    if any(upper(extent) < 0 for extent in extents):
        raise ModelError(f"pads {[*before, *after]} crop more than the shape {list(shape)} has")
    if mode != "constant" and any(same(d, 0) and e > 0 for d, e in zip(shape, extents, strict=True)):
        raise ModelError(f"mode '{mode}' pads an empty dimension of shape {list(shape)}; there is nothing to repeat")
    return extents


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 4)
    data = operand(inference, 0, "data", ALL)
    optional_operand(inference, 1, "pads", (I64,))
    fill = optional_operand(inference, 2, "constant_value", ALL)
    same_dtype(data, fill, "constant_value")
    if fill is not None and fill.elements != 1:
        raise ModelError(f"operand 'constant_value' has shape {list(fill.static)}; the specification requires a scalar")
    optional_operand(inference, 3, "axes", INDICES)
    mode = one_of(inference.attrs.mode, ("constant", "reflect", "edge", "wrap"), "mode")
    before, after = amounts(inference.attrs, inference.constants, inference.types, len(data.shape))
    extents = _extents(data.static, before, after, mode)
    for dim, extent in enumerate(extents):
        inference.require(extent, 0, max(0, upper(extent)), f"the size of dimension {dim}")
    chosen = inference.constants[3] if len(inference.constants) > 3 else None
    require_distinct(inference, () if chosen is None else integers(chosen), len(data.shape))
    return (TensorType(data.dtype, tuple(maximum(0, extent) for extent in extents)),)


def _evaluate(attrs: PadAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    data = first_of(arrays)
    types = [None if a is None else TensorType(dtype_of(a), a.shape) for a in arrays]
    before, after = amounts(attrs, arrays, types, data.ndim)
    if attrs.mode != "constant":
        for axis, (b, a) in enumerate(zip(before, after, strict=True)):
            if a or b:
                data = np.take(data, source_places(data.shape[axis], b, a, attrs.mode), axis)
        return (data,)
    fill = arrays[2] if len(arrays) > 2 and arrays[2] is not None else np.array(attrs.value)
    result = np.full(_extents(data.shape, before, after, attrs.mode), fill.reshape(()).astype(data.dtype))
    inner = tuple(slice(max(b, 0), max(max(b, 0), d + b + min(a, 0))) for d, b, a in zip(data.shape, before, after, strict=True))
    kept = tuple(slice(max(-b, 0), max(max(-b, 0), d - max(-a, 0))) for d, b, a in zip(data.shape, before, after, strict=True))
    result[inner] = data[kept]
    return (result,)


def _pieces(context: MovementContext) -> tuple[Piece, ...]:
    shape, extents = first_of(context.types).static, context.results[0].static
    before, after = amounts(context.attrs, context.constants, context.types, len(shape))
    if context.attrs.mode == "constant":
        inner = Piece(0, padded(shape, before, extents))
        if not inner.map.is_guarded:
            return (inner,)
        fill = 2 if len(context.types) > 2 and context.types[2] is not None else None
        return (inner, Piece(fill, from_strides(extents, [0] * len(extents))))
    places = required([_runs_of(d, b, a, context.attrs.mode) for d, b, a in zip(shape, before, after, strict=True)])
    return tuple(Piece(0, _region(shape, extents, region)) for region in product(*places))


def _region(shape: tuple[int, ...], extents: tuple[int, ...], region: Sequence[Run]) -> IndexMap:
    strides = row_major(shape)
    axes = tuple((Axis(e, r.step * s, r.begin, r.end),) for e, r, s in zip(extents, region, strides, strict=True))
    return simplify(IndexMap((Stage(axes, sum((r.start - r.begin * r.step) * s for r, s in zip(region, strides, strict=True))),)))


def _normalise(emitter: Emitter, attrs: PadAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...] | None:
    """Make a fill attribute an operand; pad one axis after the other where the pieces would be too many."""
    data = first_of(operands)
    shape = data.type.static
    types = [None if v is None else v.type for v in operands]
    before, after = amounts(attrs, known(operands), types, len(shape))
    if attrs.mode == "constant":
        if attrs.value == 0 or (len(operands) > 2 and operands[2] is not None):
            return None
        fill = emitter.constant(np.array(attrs.value, data.type.dtype.numpy))
        return (emitter.node("Pad", [data, emitter.sizes([*before, *after]), fill]),)
    padded_axes = [axis for axis in range(len(shape)) if not same(before[axis], 0) or not same(after[axis], 0)]
    found = [_runs_of(shape[a], before[a], after[a], attrs.mode) for a in padded_axes]
    if None not in found and (len(found) < 2 or prod(len(required(found)[n]) for n in range(len(found))) <= MAX_PIECES):
        return None
    for axis, pieces in zip(padded_axes, found, strict=True):
        if pieces is None:
            data = _gathered(emitter, data, axis, before[axis], after[axis], attrs.mode)
        else:
            here = [b if a == axis else 0 for side in (before, after) for a, b in enumerate(side)]
            data = emitter.node("Pad", [data, emitter.sizes(here)], mode=attrs.mode)
    return (data,)


def _gathered(emitter: Emitter, data: Value, axis: int, before: int, after: int, mode: str) -> Value:
    """Pad one dimension by amounts of which nothing is known: `source_places`, worked out when the model runs."""
    size = data.type.static[axis]
    extent = maximum(0, size + before + after)
    on = Arithmetic(emitter, I64)
    places = on.subtract(progression(emitter, extent), before)
    if mode == "edge":
        places = on.apply("Min", on.apply("Max", places, 0), size - 1)
    elif mode == "wrap":
        places = on.apply("Mod", places, maximum(1, size))
    else:
        away = on.apply("Abs", on.subtract(on.apply("Mod", places, maximum(1, 2 * (size - 1))), size - 1))
        places = on.subtract(size - 1, away)
    return emitter.node("Gather", [data, places], axis=axis)


OPERATOR = Operator(
    name="Pad",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Movement(_pieces),
    source="ONNX 28, Pad-25",
    attributes=PadAttrs,
    since=2,
    normalise=_normalise,
)

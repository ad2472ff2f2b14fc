"""Slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import is_symbolic, same, upper
from nautilus_cli.ir.functions import maximum, minimum, named
from nautilus_cli.ir.index_map import sliced
from nautilus_cli.ir.indicators import equal, from_front, less
from nautilus_cli.ir.types import TensorType, dtype_of
from nautilus_cli.ops.checks import (
    first_of,
    integers,
    normal_axes,
    operand,
    operand_count,
    optional_contents,
    optional_operand,
)
from nautilus_cli.ops.element_types import ALL, INDICES
from nautilus_cli.ops.open_axes import require_distinct
from nautilus_cli.ops.spec import Inference, Movement, MovementContext, Operator, Piece

_NUMBERS = ("starts", "ends", "axes", "steps")


@dataclass(frozen=True, slots=True)
class SliceAttrs:
    """Attributes of Slice: before opset 10 the bounds were attributes."""

    starts: tuple[int, ...] | None = None
    ends: tuple[int, ...] | None = None
    axes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """A slice of every dimension, with all defaults and limits resolved.

    Attributes:
        starts: first element.
        steps: distance of neighbours; negative runs backwards.
        extents: number of elements.
    """

    starts: tuple[int, ...]
    steps: tuple[int, ...]
    extents: tuple[int, ...]


def bounds(
    shape: tuple[int, ...],
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int] | None,
    steps: Sequence[int] | None,
) -> Bounds:
    """Return what a slice of a tensor of SHAPE takes.

    Raises:
        ModelError: lengths differ, a step is 0, or an axis is out of range.
    """
    axes = tuple(range(len(starts))) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        lengths = f"{len(starts)}, {len(ends)}, {len(axes)} and {len(steps)}"
        raise ModelError(f"starts, ends, axes and steps have {lengths} elements; the specification requires equally many")
    if any(same(s, 0) for s in steps):
        raise ModelError(f"steps are {list(steps)}; the specification does not allow 0")
    if any(map(is_symbolic, axes)):
        return _along_open_axes(shape, starts, ends, axes, steps)
    first, step, extent = [0] * len(shape), [1] * len(shape), list(shape)
    for axis, b, e, s in zip(normal_axes(axes, len(shape)), starts, ends, steps, strict=True):
        if any(map(is_symbolic, (b, e, s, shape[axis]))):
            step[axis] = _no_longer_than(shape[axis], s)
            first[axis], extent[axis] = _symbolic_range(b, e, step[axis], shape[axis])
            continue
        taken = range(*slice(b, e, s).indices(shape[axis]))  # Python clamps as the specification does
        first[axis], step[axis], extent[axis] = (taken.start if len(taken) else 0), (s if len(taken) > 1 else 1), len(taken)
    return Bounds(tuple(first), tuple(step), tuple(extent))


def _along_open_axes(
    shape: tuple[int, ...], starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int]
) -> Bounds:
    """Return what a slice takes whose axes are only known when the model runs: each dimension has the numbers of the axis that names it."""
    rank = len(shape)
    if any(not -rank <= axis < rank for axis in axes):
        raise ModelError(f"axes are {list(axes)}; for a tensor of rank {rank} the specification allows {-rank} to {rank - 1}")
    first, step, extent = [], [], []
    for dim, size in enumerate(shape):
        hits = [equal(from_front(axis, rank), dim) for axis in axes]
        begin = sum(is_here * b for is_here, b in zip(hits, starts, strict=True))
        end = size + sum(is_here * (e - size) for is_here, e in zip(hits, ends, strict=True))
        step.append(_no_longer_than(size, 1 + sum(is_here * (s - 1) for is_here, s in zip(hits, steps, strict=True))))
        start, count = _symbolic_range(_under_a_name(begin), _under_a_name(end), _under_a_name(step[-1]), size)
        first.append(start)
        extent.append(count)
    return Bounds(tuple(first), tuple(step), tuple(extent))


def _no_longer_than(size: int, step: int) -> int:
    """Return a step that takes the same of a dimension and is no longer than it: models write the longest there is for one element."""
    most = max(1, upper(size))
    return minimum(maximum(step, -most), most)


def _under_a_name(number: int) -> int:
    """Return a number that is written out long under a name: those made of several would grow with the product of their terms."""
    return named(f"({number})", number)


def _symbolic_range(begin: int, end: int, step: int, size: int) -> tuple[int, int]:
    """Return the first element and the number of those that a slice takes, all of which may be symbolic.

    Source: ONNX 28, Slice-13: bounds are clamped to [0, size], or to [-1, size - 1] where the step is negative.
    """
    backwards = less(step, 0)
    begin, end = (maximum(-backwards, minimum(at + size * less(at, 0), size - backwards)) for at in (begin, end))
    distance = (1 - 2 * backwards) * (end - begin)
    count = maximum(0, -(-distance // maximum(1, step, -step)))
    return begin, count if upper(count - size) <= 0 else minimum(size, count)  # it never is more, which bounds may not show


def _given(attrs: SliceAttrs, constants: Sequence[np.ndarray | None], types: Sequence[TensorType | None], shape: tuple[int, ...]) -> Bounds:
    """Read the bounds from the operands, or from the attributes of old opsets."""
    if attrs.starts is not None and attrs.ends is not None:
        return bounds(shape, attrs.starts, attrs.ends, attrs.axes, None)
    arrays = [optional_contents(constants, types, i, n) for i, n in ((1, "starts"), (2, "ends"), (3, "axes"), (4, "steps"))]
    starts, ends, axes, steps = (None if a is None else integers(a) for a in arrays)
    if starts is None or ends is None:
        raise ModelError("operands 'starts' and 'ends' are missing; the specification requires them")
    return bounds(shape, starts, ends, axes, steps)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 5)
    data = operand(inference, 0, "data", ALL)
    given = [optional_operand(inference, index, name, INDICES) for index, name in enumerate(_NUMBERS, 1)]
    kinds = {found.dtype for found in given if found is not None}
    if len(kinds) > 1:
        named = ", ".join(f"{name} {found.dtype}" for name, found in zip(_NUMBERS, given, strict=True) if found is not None)
        raise ModelError(f"operands have the types {named}; the specification requires one type of all")
    extents = _given(inference.attrs, inference.constants, inference.types, data.static).extents
    _require(inference, len(data.shape))
    return (TensorType(data.dtype, extents),)


def _require(inference: Inference, rank: int) -> None:
    """Let a run make sure of what no range of one number says."""
    axes, steps = ((*inference.constants, *(None,) * 5)[number] for number in (3, 4))
    for step in () if steps is None else integers(steps):
        inference.require(equal(step, 0), 0, 0, "how many of the steps are 0")
    require_distinct(inference, () if axes is None else integers(axes), rank)


def _evaluate(attrs: SliceAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    data = first_of(arrays)
    types = [None if a is None else TensorType(dtype_of(a), a.shape) for a in arrays]
    found = _given(attrs, arrays, types, data.shape)
    for axis, (first, step, extent) in enumerate(zip(found.starts, found.steps, found.extents, strict=True)):
        end: int | None = first + step * extent
        data = (
            data[(slice(None),) * axis + (slice(first, None if end is not None and end < 0 else end, step),)]
            if extent
            else data.take([], axis)
        )
    return (data,)


def _pieces(context: MovementContext) -> tuple[Piece, ...]:
    data = first_of(context.types)
    found = _given(context.attrs, context.constants, context.types, data.static)
    return (Piece(0, sliced(data.static, found.starts, found.steps, found.extents)),)


OPERATOR = Operator(
    name="Slice",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Movement(_pieces),
    source="ONNX 28, Slice-13",
    attributes=SliceAttrs,
)

"""ScatterElements, and Scatter, its name before opset 11: single elements replaced, or combined with updates, at indices along an axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.stages import row_major
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import normal_axis, one_of, operand, operand_count, required, same_dtype
from nautilus_cli.ops.element_types import ALL, INDICES
from nautilus_cli.ops.gather import checked_indices
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.scattering import REDUCTIONS, apply_updates, chosen, known_rows
from nautilus_cli.ops.spec import Anchor, Decompose, Emitter, Inference, Operator

MOST_KNOWN_ELEMENTS = 1 << 18
"""Up to so many elements of data, indices that are known become a table of where each element comes from, of its size."""


@dataclass(frozen=True, slots=True)
class ScatterElementsAttrs:
    """Attributes of ScatterElements."""

    axis: int = 0
    reduction: str = "none"


@dataclass(frozen=True, slots=True)
class ScatterAttrs:
    """Attributes of Scatter."""

    axis: int = 0


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    one_of(inference.attrs.reduction, REDUCTIONS, "reduction")
    return _infer_with_axis(inference)


def _infer_with_axis(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 3)
    data, indices = operand(inference, 0, "data", ALL), operand(inference, 1, "indices", INDICES)
    updates = operand(inference, 2, "updates", ALL)
    same_dtype(data, updates, "updates")
    axis = normal_axis(inference.attrs.axis, len(data.shape))
    pairs = zip(indices.static, data.static, strict=False)
    if len(indices.shape) != len(data.shape) or any(i > d for a, (i, d) in enumerate(pairs) if a != axis):
        raise ModelError(
            f"operand 'indices' has shape {list(indices.static)} for data of shape {list(data.static)}; "
            f"the specification requires equal rank and no larger size except along axis {axis}"
        )
    if updates.static != indices.static:
        raise ModelError(
            f"operand 'updates' has shape {list(updates.static)}; the specification requires that of 'indices', {list(indices.static)}"
        )
    known = inference.constants[1]
    if known is not None:
        checked_indices(known, data.static[axis])
    return (data,)


def _places(indices: np.ndarray, shape: tuple[int, ...], axis: int) -> np.ndarray:
    """Return the linear index in a tensor of SHAPE of the element that each index names."""
    strides = row_major(shape)
    places = checked_indices(indices, shape[axis]) * strides[axis]
    for dimension, extent in enumerate(indices.shape):
        if dimension != axis:
            places = places + (np.arange(extent) * strides[dimension]).reshape(extent, *(1 for _ in shape[dimension + 1 :]))
    return places


def _scatter(data: np.ndarray, indices: np.ndarray, updates: np.ndarray, axis: int, reduction: str) -> np.ndarray:
    """Return DATA with UPDATES combined into it in order of the axis."""
    result = widened(data).reshape(-1).copy()
    places = _places(indices, data.shape, normal_axis(axis, data.ndim))
    with np.errstate(all="ignore"):
        apply_updates(result, places.reshape(-1), widened(updates).reshape(-1), reduction)
    return stored(result, data).reshape(data.shape)


def _evaluate(attrs: ScatterElementsAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    data, indices, updates = required(arrays)
    return (_scatter(data, indices, updates, attrs.axis, attrs.reduction),)


def _evaluate_older(attrs: ScatterAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    data, indices, updates = required(arrays)
    return (_scatter(data, indices, updates, attrs.axis, "none"),)


def _build_older(emitter: Emitter, attrs: ScatterAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    return (emitter.node("ScatterElements", operands, axis=attrs.axis),)


def _normalise(emitter: Emitter, attrs: ScatterElementsAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...] | None:
    """No updates need no scatter; indices that do not reach over a whole dimension are for a part of the data; known ones are a gather."""
    data, indices, updates = required(operands)
    shape, reached = data.type.static, indices.type.static
    axis = normal_axis(attrs.axis, len(shape))
    if same(indices.type.elements, 0):
        return (data,)
    smaller = [a for a in range(len(shape)) if a != axis and reached[a] < shape[a]]
    if smaller:
        ends = [reached[a] if a in smaller else d for a, d in enumerate(shape)]
        part = emitter.node("ScatterElements", [_block(emitter, data, [0] * len(shape), ends), indices, updates], attrs)
        for a in reversed(smaller):
            starts = [end if b == a else 0 for b, end in enumerate(ends)]
            ends[a] = shape[a]
            part = emitter.node("Concat", [part, _block(emitter, data, starts, ends)], axis=a)
        return (part,)
    if indices.constant is None:
        return None
    known = checked_indices(indices.constant, shape[axis])
    lines = np.moveaxis(known, axis, 0).reshape(reached[axis], -1)
    result = None
    if (lines == lines[:, :1]).all():
        result = known_rows(emitter, attrs.reduction, data, updates, lines[:, 0], axis)
    elif max(data.type.elements, known.size) <= MOST_KNOWN_ELEMENTS:
        result = _known_elements(emitter, attrs.reduction, data, updates, known, axis)
    return None if result is None else (result,)


def _known_elements(emitter: Emitter, reduction: str, data: Value, updates: Value, indices: np.ndarray, axis: int) -> Value | None:
    """Emit a scatter to known places as a gather; None where several updates of one element are to be combined."""
    sources = np.full(data.type.static, -1, np.int32)
    numbers = np.arange(indices.shape[axis], dtype=np.int32).reshape(-1, *(1 for _ in indices.shape[axis + 1 :]))
    np.maximum.at(sources.reshape(-1), _places(indices, data.type.static, axis), np.broadcast_to(numbers, indices.shape))
    if reduction != "none" and np.count_nonzero(sources >= 0) < indices.size:
        return None
    gathered = emitter.node("GatherElements", [updates, emitter.constant(np.maximum(sources, 0))], axis=axis)
    return chosen(emitter, reduction, data, gathered, sources >= 0)


def _block(emitter: Emitter, data: Value, starts: list[int], ends: list[int]) -> Value:
    """Emit a box of DATA."""
    return emitter.node("Slice", [data, *(emitter.constant(np.array(bounds, np.int64)) for bounds in (starts, ends))])


OPERATORS = (
    Operator(
        name="ScatterElements",
        infer=_infer,
        evaluate=_evaluate,
        lowering=Anchor("scatter", prologue=(0, 1, 2)),
        source="ONNX 28, ScatterElements-18",
        attributes=ScatterElementsAttrs,
        since=11,
        normalise=_normalise,
    ),
    Operator(
        name="Scatter",
        infer=_infer_with_axis,
        evaluate=_evaluate_older,
        lowering=Decompose(_build_older),
        source="ONNX 28, Scatter-11",
        attributes=ScatterAttrs,
        since=9,
    ),
)

"""TensorScatter: new entries written into a cache, at a place of its own for each sample."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import is_symbolic, same
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import normal_axis, one_of, operand, operand_count, optional_operand, same_dtype
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.gather import checked_indices
from nautilus_cli.ops.numbers import number, progression
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import reshape

MODES = ("linear", "circular")


@dataclass(frozen=True, slots=True)
class TensorScatterAttrs:
    """Attributes of TensorScatter."""

    mode: str = "linear"
    axis: int = -2


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 3)
    past, update = operand(inference, 0, "past_cache", ALL), operand(inference, 1, "update", ALL)
    same_dtype(past, update, "update")
    attrs, shape, new = inference.attrs, past.static, update.static
    one_of(attrs.mode, MODES, "mode")
    axis = normal_axis(attrs.axis, len(shape))
    if axis == 0:
        raise ModelError(f"axis is {attrs.axis}, the batch; the specification requires another dimension")
    if len(new) != len(shape) or new[axis] > shape[axis] or any(a != axis and d != new[a] for a, d in enumerate(shape)):
        raise ModelError(
            f"operand 'update' has shape {list(new)}; for a cache of shape {list(shape)} the specification requires the same, "
            f"but for at most {shape[axis]} in dimension {axis}"
        )
    places = optional_operand(inference, 2, "write_indices", (I64,))
    if places is not None and places.static != shape[:1]:
        raise ModelError(f"operand 'write_indices' has shape {list(places.static)}; the specification requires {[shape[0]]}")
    known = inference.constants[2] if places is not None else None
    if known is not None and new[axis]:
        _positions(attrs, known, new[axis], shape[axis])
    return (past,)


def _positions(attrs: TensorScatterAttrs, starts: np.ndarray, count: int, extent: int) -> np.ndarray:
    """Return where along the axis each entry of each sample goes.

    Raises:
        ModelError: one lies outside the cache.
    """
    positions = starts[:, None] + np.arange(count)
    return positions % extent if attrs.mode == "circular" else checked_indices(positions, extent)


def _evaluate(attrs: TensorScatterAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    past, update, starts = (*arrays, None)[:3]
    assert past is not None
    assert update is not None
    axis = normal_axis(attrs.axis, past.ndim)
    count, extent = update.shape[axis], past.shape[axis]
    result = past.copy()
    if not count:
        return (result,)
    positions = _positions(attrs, np.zeros(past.shape[0], np.int64) if starts is None else starts, count, extent)
    for sample, places in enumerate(positions):
        np.moveaxis(result[sample], axis - 1, 0)[places] = np.moveaxis(update[sample], axis - 1, 0)
    return (result,)


def _build(emitter: Emitter, attrs: TensorScatterAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """One place for all samples that is known joins slices; else rows are scattered, each sample's and prefix's into a table of its own."""
    past, update, starts = (*operands, None)[:3]
    assert past is not None
    assert update is not None
    shape = past.type.static
    axis = normal_axis(attrs.axis, len(shape))
    count, extent = update.type.static[axis], shape[axis]
    if same(update.type.elements, 0):
        return (past,)
    if starts is None and count <= extent:
        return (_joined(emitter, past, update, axis, 0),)
    known = np.zeros(shape[0], np.int64) if starts is None else starts.constant
    if known is not None and not is_symbolic(extent):
        first = int(known[0] % extent)
        if (known % extent == first).all() and first + count <= extent:
            return (_joined(emitter, past, update, axis, first),)
    assert starts is not None
    batch, prefix, suffix = shape[0], prod(shape[1:axis]), prod(shape[axis + 1 :])
    steps = reshape(emitter, progression(emitter, count), (1, 1, count))
    places = emitter.node("Add", [reshape(emitter, starts, (batch, 1, 1)), steps])
    if attrs.mode == "circular":
        places = emitter.node("Mod", [places, number(emitter, extent, I64)])
    full = emitter.sizes((batch, prefix, count, 1))
    places = emitter.node("Expand", [reshape(emitter, places, (batch, 1, count, 1)), full])
    tables = emitter.node("Expand", [reshape(emitter, progression(emitter, batch * prefix), (batch, prefix, 1, 1)), full])
    indices = emitter.node("Concat", [tables, places], axis=3)
    flat = [
        reshape(emitter, past, (batch * prefix, extent, suffix)),
        reshape(emitter, indices, (batch * prefix * count, 2)),
        reshape(emitter, update, (batch * prefix * count, suffix)),
    ]
    return (reshape(emitter, emitter.node("ScatterND", flat), shape),)


def _joined(emitter: Emitter, past: Value, update: Value, axis: int, first: int) -> Value:
    """Emit the cache with an update that lies at one place in all samples."""
    extent = past.type.static[axis]
    parts = [(0, first), (first + update.type.static[axis], extent)]
    before, behind = (
        [emitter.node("Slice", [past, *(emitter.sizes([n]) for n in (start, end, axis))])] if not same(start, end) else []
        for start, end in parts
    )
    kept = [*before, update, *behind]
    return update if len(kept) == 1 else emitter.node("Concat", kept, axis=axis)


OPERATOR = Operator(
    name="TensorScatter",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, TensorScatter-24",
    attributes=TensorScatterAttrs,
    since=24,
)

"""What ScatterElements and ScatterND share: how updates combine, their truth, and their form where the destinations are known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BOOL, I64
from nautilus_cli.ops.spec import Emitter

REDUCTIONS = ("none", "add", "mul", "max", "min")

_UFUNCS: Mapping[str, np.ufunc] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}

_OPERATORS = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}

_BOOLEAN_OPERATORS = {"add": "Or", "mul": "And", "max": "Or", "min": "And"}
"""Source: numpy, by which ONNX's reference computes, adds and multiplies booleans so."""


def apply_updates(target: np.ndarray, places: np.ndarray, updates: np.ndarray, reduction: str) -> None:
    """Combine UPDATES into the flat TARGET at PLACES, in order; with `none` the last of several takes the place."""
    if reduction != "none":
        _UFUNCS[reduction].at(target, places, updates)
        return
    # numpy leaves open which of several assignments to one place wins.
    last, positions = np.unique(places[::-1], return_index=True)
    target[last] = updates[::-1][positions]


def combined(emitter: Emitter, reduction: str, data: Value, updates: Value) -> Value:
    """Emit what a place holds after one update."""
    if reduction == "none":
        return updates
    return emitter.node((_BOOLEAN_OPERATORS if data.type.dtype == BOOL else _OPERATORS)[reduction], [data, updates])


def known_rows(emitter: Emitter, reduction: str, data: Value, updates: Value, rows: np.ndarray, axis: int) -> Value | None:
    """Emit a scatter of whole slices to known ROWS along AXIS; None where several updates of one row are to be combined.

    A run of neighbouring rows is joined with what lies around it, which moves nothing in memory. Otherwise each row takes the last update
    that goes there, which is a gather.
    """
    count, extent = rows.size, data.type.static[axis]
    if reduction != "none" and np.unique(rows).size < count:
        return None
    if (np.diff(rows) == 1).all():
        first = int(rows[0])
        middle = _rows(emitter, data, axis, first, first + count)
        before, behind = _rows(emitter, data, axis, 0, first), _rows(emitter, data, axis, first + count, extent)
        parts = (before, combined(emitter, reduction, middle, updates), behind)
        kept = [part for part in parts if part.type.static[axis]]
        return kept[0] if len(kept) == 1 else emitter.node("Concat", kept, axis=axis)
    sources = np.full(extent, -1, np.int64)
    np.maximum.at(sources, rows, np.arange(count))
    gathered = emitter.node("Gather", [updates, emitter.constant(np.maximum(sources, 0))], axis=axis)
    return chosen(emitter, reduction, data, gathered, (sources >= 0).reshape(extent, *(1 for _ in data.type.static[axis + 1 :])))


def chosen(emitter: Emitter, reduction: str, data: Value, gathered: Value, is_updated: np.ndarray) -> Value:
    """Emit the elements of GATHERED combined into DATA where IS_UPDATED, which broadcasts, says so."""
    result = combined(emitter, reduction, data, gathered)
    return result if is_updated.all() else emitter.node("Where", [emitter.constant(is_updated), result, data])


def _rows(emitter: Emitter, data: Value, axis: int, first: int, end: int) -> Value:
    """Emit a part of DATA along an axis."""
    if (first, end) == (0, data.type.static[axis]):
        return data
    bounds = [emitter.constant(np.array([bound], I64.numpy)) for bound in (first, end, axis)]
    return emitter.node("Slice", [data, *bounds])

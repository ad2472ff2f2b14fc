"""ScatterND: slices of a tensor replaced, or combined with updates, at indices along its leading axes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import one_of, operand, operand_count, required, same_dtype
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.gather import checked_indices
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.scattering import REDUCTIONS, apply_updates, known_rows
from nautilus_cli.ops.spec import Anchor, Emitter, Inference, Operator
from nautilus_cli.ops.wide import reshape


@dataclass(frozen=True, slots=True)
class ScatterNDAttrs:
    """Attributes of ScatterND."""

    reduction: str = "none"


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 3)
    data, indices = operand(inference, 0, "data", ALL), operand(inference, 1, "indices", (I64,))
    updates = operand(inference, 2, "updates", ALL)
    same_dtype(data, updates, "updates")
    one_of(inference.attrs.reduction, REDUCTIONS, "reduction")
    shape, places = data.static, indices.static
    if not shape or not places or not 1 <= places[-1] <= len(shape):
        raise ModelError(
            f"indices of shape {list(places)} do not fit data of shape {list(shape)}; "
            f"the specification requires ranks of 1 at least, and 1 to {len(shape)} indices in the last dimension"
        )
    expected = (*places[:-1], *shape[places[-1] :])
    if updates.static != expected:
        raise ModelError(f"operand 'updates' has shape {list(updates.static)}; the specification requires {list(expected)}")
    known = inference.constants[1]
    if known is not None:
        _rows(known, shape)
    return (data,)


def _rows(indices: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the row that each set of indices names, counted over the leading axes of SHAPE.

    Raises:
        ModelError: an index is out of range.
    """
    rows = np.zeros(indices.shape[:-1], np.int64)
    for number, extent in enumerate(shape[: indices.shape[-1]]):
        rows = rows * extent + checked_indices(indices[..., number], extent)
    return rows.reshape(-1)


def _evaluate(attrs: ScatterNDAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    data, indices, updates = required(arrays)
    rows = _rows(indices, data.shape)
    columns = prod(data.shape[indices.shape[-1] :])
    result = widened(data).reshape(-1).copy()
    places = rows[:, None] * columns + np.arange(columns)
    with np.errstate(all="ignore"):
        apply_updates(result, places.reshape(-1), widened(updates).reshape(-1), attrs.reduction)
    return (stored(result, data).reshape(data.shape),)


def _normalise(emitter: Emitter, attrs: ScatterNDAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...] | None:
    """Known indices need no scatter, and neither do no updates."""
    data, indices, updates = required(operands)
    if same(updates.type.elements, 0):
        return (data,)
    if indices.constant is None:
        return None
    shape, chosen = data.type.static, indices.type.static[-1]
    rows = _rows(indices.constant, shape)
    columns = prod(shape[chosen:])
    table = reshape(emitter, data, (prod(shape[:chosen]), columns))
    result = known_rows(emitter, attrs.reduction, table, reshape(emitter, updates, (rows.size, columns)), rows, 0)
    return None if result is None else (reshape(emitter, result, shape),)


OPERATOR = Operator(
    name="ScatterND",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor("scatter", prologue=(0, 1, 2)),
    source="ONNX 28, ScatterND-18",
    attributes=ScatterNDAttrs,
    since=11,
    normalise=_normalise,
)

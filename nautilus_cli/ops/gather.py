"""Gather: whole slices of a tensor by index."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import is_symbolic, lower
from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import normal_axis, operand, operand_count, required
from nautilus_cli.ops.element_types import ALL, INDICES
from nautilus_cli.ops.spec import Anchor, Inference, Operator


@dataclass(frozen=True, slots=True)
class GatherAttrs:
    """Attributes of Gather and GatherElements."""

    axis: int = 0


@dataclass(frozen=True, slots=True)
class Progression:
    """Indices start, start + step, ... of which there are `count`; from behind where `start` is negative."""

    start: int
    step: int
    count: int


@dataclass(frozen=True, slots=True)
class Gathered:
    """Rows of a tensor that indices name: whoever reads them can read the tensor and the indices in their place.

    Attributes:
        data: the tensor.
        indices: of the dimension AXIS; those that a run gives may be out of range.
        axis: from 0 on.
    """

    data: Value
    indices: Value
    axis: int


def gathered(node: Node) -> Gathered | None:
    """Return what a node gathers; None of any other node, and of those that gather single elements."""
    if node.op != OPERATOR.name:
        return None
    assert isinstance(node.attrs, GatherAttrs)
    data, indices = node.operands()
    return Gathered(data, indices, node.attrs.axis % len(data.type.static))


def as_slice(indices: np.ndarray, size: int) -> Progression | None:
    """Return the arithmetic progression that constant INDICES form along a dimension of SIZE, or None where they form none.

    A gather along one is a Slice (and a Reshape where the indices are a scalar or have several dimensions). Where the size is open, it is
    one if every size has these indices.

    Raises:
        ModelError: an index is out of range.
    """
    flat = _open_indices(indices.reshape(-1), lower(size)) if is_symbolic(size) else checked_indices(indices, size).reshape(-1)
    if flat is None or flat.size == 0:
        return None
    step = int(flat[1] - flat[0]) if flat.size > 1 else 1
    if step == 0 or (np.diff(flat) != step).any():
        return None
    return Progression(int(flat[0]), step, flat.size)


def _open_indices(flat: np.ndarray, least: int) -> np.ndarray | None:
    """Return indices of a dimension of at least LEAST as they are, where they all count from one side and, from behind, forward."""
    if flat.size == 0 or flat.min() < -least or flat.max() >= least or flat.min() < 0 <= flat.max():
        return None
    return None if flat.min() < 0 and flat[-1] < flat[0] else flat


def checked_indices(indices: np.ndarray, size: int) -> np.ndarray:
    """Return INDICES counted from the front.

    Raises:
        ModelError: one lies outside [-size, size).
    """
    wide = indices.astype(np.int64, copy=False)
    outside = (wide < -size) | (wide >= size)
    if outside.any():
        raise ModelError(
            f"index {int(wide[outside].flat[0])} is outside a dimension of {size}; the specification allows {-size} to {size - 1}"
        )
    return np.where(wide < 0, wide + size, wide)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    data, indices = operand(inference, 0, "data", ALL), operand(inference, 1, "indices", INDICES)
    shape = data.static
    axis = normal_axis(inference.attrs.axis, len(shape))
    known = inference.constants[1]
    if known is not None:
        checked_indices(known, shape[axis])
    return (TensorType(data.dtype, (*shape[:axis], *indices.static, *shape[axis + 1 :])),)


def _evaluate(attrs: GatherAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    data, indices = required(arrays)
    return (np.asarray(np.take(data, checked_indices(indices, data.shape[attrs.axis]), attrs.axis)),)


OPERATOR = Operator(
    name="Gather",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor("gather", prologue=(1,)),
    source="ONNX 28, Gather-13",
    attributes=GatherAttrs,
)

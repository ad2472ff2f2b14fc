"""Compress: the slices of a tensor that a condition selects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BOOL, TensorType
from nautilus_cli.ops.checks import contents, normal_axis, operand, operand_count, required
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import reshape


@dataclass(frozen=True, slots=True)
class CompressAttrs:
    """Attributes of Compress; without an axis the tensor is taken as a vector."""

    axis: int | None = None


def _selected(constants: Sequence[np.ndarray | None], extent: int) -> np.ndarray:
    """Return the places where the condition holds.

    Raises:
        ModelError: it is not known at compile time, is no vector, or is longer than the dimension.
    """
    condition = contents(constants, 1, "condition")
    if condition.ndim != 1 or condition.size > extent:
        raise ModelError(
            f"operand 'condition' has shape {list(condition.shape)}; the specification requires a vector of up to {extent} elements"
        )
    return np.flatnonzero(condition)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    x = operand(inference, 0, "input", ALL)
    operand(inference, 1, "condition", (BOOL,))
    if inference.attrs.axis is None:
        return (TensorType(x.dtype, (_selected(inference.constants, x.elements).size,)),)
    shape = list(x.static)
    axis = normal_axis(inference.attrs.axis, len(shape))
    shape[axis] = _selected(inference.constants, shape[axis]).size
    return (TensorType(x.dtype, tuple(shape)),)


def _evaluate(attrs: CompressAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x, _ = required(arrays)
    extent = x.size if attrs.axis is None else x.shape[attrs.axis]
    return (x.take(_selected(arrays, extent), attrs.axis),)


def _build(emitter: Emitter, attrs: CompressAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, condition = required(operands)
    axis = 0 if attrs.axis is None else normal_axis(attrs.axis, len(x.type.shape))
    data = reshape(emitter, x, (x.type.elements,)) if attrs.axis is None else x
    places = _selected((None, condition.constant), data.type.static[axis])
    return (emitter.node("Gather", [data, emitter.constant(places.astype(np.int64))], axis=axis),)


OPERATOR = Operator(
    name="Compress",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, Compress-28",
    attributes=CompressAttrs,
    since=9,
)

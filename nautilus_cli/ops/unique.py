"""Unique: the different elements, or slices, of a tensor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import contents, first_of, normal_axis, operand, operand_count
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import HostOnly, Inference, Operator


@dataclass(frozen=True, slots=True)
class UniqueAttrs:
    """Attributes of Unique; without an axis the tensor is taken as a vector, and sorted=0 asks for the order of first occurrence."""

    axis: int | None = None
    sorted: int = 1


def _unique(attrs: UniqueAttrs, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the different ones, where each occurs first, which one each element is, and how often each occurs."""
    found, first, inverse, counts = np.unique(widened(x), return_index=True, return_inverse=True, return_counts=True, axis=attrs.axis)
    order = np.arange(first.size) if attrs.sorted else np.argsort(first, kind="stable")
    numbers = np.empty_like(order)
    numbers[order] = np.arange(order.size)
    values = stored(found.take(order, 0 if attrs.axis is None else attrs.axis), x)
    return values, first[order].astype(np.int64), numbers[inverse.reshape(-1)].astype(np.int64), counts[order].astype(np.int64)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    x = operand(inference, 0, "X", ALL)
    if inference.attrs.axis is not None:
        normal_axis(inference.attrs.axis, len(x.shape))
    values, first, inverse, counts = _unique(inference.attrs, contents(inference.constants, 0, "X"))
    return (TensorType(x.dtype, values.shape), *(TensorType(I64, a.shape) for a in (first, inverse, counts)))


def _evaluate(attrs: UniqueAttrs, arrays: tuple[np.ndarray | None, ...], outputs: int) -> tuple[np.ndarray, ...]:
    return _unique(attrs, first_of(arrays))[:outputs]


OPERATOR = Operator(
    name="Unique",
    infer=_infer,
    evaluate=_evaluate,
    lowering=HostOnly("the size of its results depends on its operand's contents, which must be known at compile time"),
    source="ONNX 28, Unique-28",
    attributes=UniqueAttrs,
    since=11,
)

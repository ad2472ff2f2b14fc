"""Interpolate: weighted sums of neighbouring elements along some dimensions, by tables. Resize is written in it; no ONNX model has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import first_of, operand, operand_count, optional_operand
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Anchor, Inference, Operator


@dataclass(frozen=True, slots=True)
class InterpolateAttrs:
    """Attributes of Interpolate.

    Operands are X, then for each axis a table of first elements, [results] int32, and one of weights, [results, taps] in X's compute type.
    Either all weights are left out (each result is one element) or none is. A result takes as many consecutive elements as it has weights;
    beyond the ends of the axis the outermost elements repeat.

    Attributes:
        axes: dimensions that are resampled, ascending.
    """

    axes: tuple[int, ...]


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    axes = inference.attrs.axes
    operand_count(inference, 1 + 2 * len(axes), 1 + 2 * len(axes))
    x = operand(inference, 0, "X", ALL)
    shape = list(x.static)
    for number, axis in enumerate(axes):
        first = operand(inference, 1 + 2 * number, "first")
        weights = optional_operand(inference, 2 + 2 * number, "weights", (x.dtype.compute,))
        if len(first.shape) != 1 or (weights is not None and (len(weights.shape) != 2 or not same(weights.static[:1], first.static))):
            raise ModelError(f"the tables of axis {axis} have types {first} and {weights}")
        (shape[axis],) = first.static
    return (TensorType(x.dtype, tuple(shape)),)


def resampled(array: np.ndarray, axis: int, indices: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return an array with one dimension resampled.

    Shapes:
        indices: [results, taps].
        weights: [results, taps], or None for one tap of weight 1.
    """
    if weights is None:
        return np.take(array, indices[:, 0], axis)
    shape = (1,) * axis + (-1,) + (1,) * (array.ndim - axis - 1)
    terms = (np.take(array, indices[:, t], axis) * weights[:, t].astype(array.dtype).reshape(shape) for t in range(indices.shape[1]))
    return np.asarray(sum(terms))


def _evaluate(attrs: InterpolateAttrs, arrays: Sequence[np.ndarray | None], _outputs: int) -> tuple[np.ndarray, ...]:
    x = first_of(arrays)
    result = widened(x)
    for number, axis in enumerate(attrs.axes):
        first, weights = arrays[1 + 2 * number], arrays[2 + 2 * number]
        assert first is not None
        count = 1 if weights is None else weights.shape[1]
        indices = np.clip(first[:, None] + np.arange(count), 0, x.shape[axis] - 1)
        result = resampled(result, axis, indices, weights)
    return (stored(result, x),)


OPERATOR = Operator(
    name="nautilus::Interpolate",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor("resize", prologue=(0,), keeps_order=True),
    source="Nautilus's own: Resize with its coordinates computed",
    attributes=InterpolateAttrs,
)

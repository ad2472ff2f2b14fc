"""Flatten."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import operand, operand_count, required
from nautilus_cli.ops.element_types import STORABLE
from nautilus_cli.ops.identity import same_elements
from nautilus_cli.ops.spec import Inference, Movement, Operator


@dataclass(frozen=True, slots=True)
class FlattenAttrs:
    """Attributes of Flatten."""

    axis: int = 1


def _flat(shape: tuple[int, ...], axis: int) -> tuple[int, int]:
    rank = len(shape)
    if not -rank <= axis <= rank:
        raise ModelError(f"axis is {axis}; for a tensor of rank {rank} the specification allows {-rank} to {rank}")
    axis = axis + rank if axis < 0 else axis
    return prod(shape[:axis]), prod(shape[axis:])


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    data = operand(inference, 0, "input", STORABLE)
    return (TensorType(data.dtype, _flat(data.static, inference.attrs.axis)),)


def _evaluate(attrs: FlattenAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    (data,) = required(arrays)
    return (data.reshape(_flat(data.shape, attrs.axis)),)


OPERATOR = Operator(
    name="Flatten",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Movement(same_elements),
    source="ONNX 28, Flatten-25",
    attributes=FlattenAttrs,
)

"""The same elements in another shape, known to fit: what a Reshape is where nobody needs to ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import operand, operand_count, required
from nautilus_cli.ops.element_types import STORABLE
from nautilus_cli.ops.identity import same_elements
from nautilus_cli.ops.spec import Emitter, Inference, Movement, Operator


@dataclass(frozen=True, slots=True)
class ViewAttrs:
    """The shape, whose sizes multiply to the number of elements, though an expression of them may not show it."""

    shape: tuple[int, ...] = ()


def view(emitter: Emitter, value: Value, shape: Sequence[int]) -> Value:
    """Emit VALUE in another shape; the caller knows that it has as many elements."""
    return emitter.node(OPERATOR.name, [value], shape=tuple(shape))


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    return (TensorType(operand(inference, 0, "data", STORABLE).dtype, inference.attrs.shape),)


def _evaluate(attrs: ViewAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    (data,) = required(arrays)
    return (data.reshape(attrs.shape),)


OPERATOR = Operator(
    name="nautilus::View",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Movement(same_elements),
    source="ONNX 28, Reshape-25",
    attributes=ViewAttrs,
)

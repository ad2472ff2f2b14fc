"""Shape and Size: what the type of a tensor says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import first_of, operand, operand_count
from nautilus_cli.ops.element_types import STORABLE
from nautilus_cli.ops.spec import HostOnly, Inference, NoAttrs, Operator

_REASON = "the shape is known at compile time, so that this never runs"


@dataclass(frozen=True, slots=True)
class ShapeAttrs:
    """Attributes of Shape."""

    start: int = 0
    end: int | None = None


def _taken(attrs: ShapeAttrs, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Python clamps and counts from the back as the specification does, but for an empty range."""
    return shape[attrs.start : attrs.end]


def _infer_shape(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    return (TensorType(I64, (len(_taken(inference.attrs, operand(inference, 0, "data", STORABLE).static)),)),)


def _evaluate_shape(attrs: ShapeAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    return (np.array(_taken(attrs, first_of(arrays).shape), np.int64),)


def _infer_size(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    operand(inference, 0, "data", STORABLE)
    return (TensorType(I64, ()),)


def _evaluate_size(_attrs: NoAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    return (np.array(first_of(arrays).size, np.int64),)


OPERATORS = (
    Operator(
        name="Shape",
        infer=_infer_shape,
        evaluate=_evaluate_shape,
        lowering=HostOnly(_REASON),
        source="ONNX 28, Shape-25",
        attributes=ShapeAttrs,
    ),
    Operator(
        name="Size",
        infer=_infer_size,
        evaluate=_evaluate_size,
        lowering=HostOnly(_REASON),
        source="ONNX 28, Size-25",
    ),
)

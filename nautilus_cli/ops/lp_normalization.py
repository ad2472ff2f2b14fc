"""LpNormalization: divide by the norm along an axis; zero where the norm is zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import first_of, normal_axis, operand, operand_count
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.reduce import reduction
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, scalar, widen


@dataclass(frozen=True, slots=True)
class LpNormalizationAttrs:
    """Attributes of LpNormalization."""

    axis: int = -1
    p: int = 2


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    x = operand(inference, 0, "input", FLOATS)
    normal_axis(inference.attrs.axis, len(x.shape))
    if inference.attrs.p not in (1, 2):
        raise ModelError(f"p is {inference.attrs.p}; the specification allows 1 and 2")
    return (x,)


def _evaluate(attrs: LpNormalizationAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x = first_of(arrays)
    wide = widened(x)
    powers = np.abs(wide) if attrs.p == 1 else wide * wide
    norm = np.asarray(np.sum(powers, axis=attrs.axis, keepdims=True))
    norm = norm if attrs.p == 1 else np.sqrt(norm)
    return (stored(wide / np.where(norm == 0, wide.dtype.type(1), norm), x),)


def _build(emitter: Emitter, attrs: LpNormalizationAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x = first_of(operands)
    wide = widen(emitter, x)
    axes = (normal_axis(attrs.axis, len(x.type.shape)),)
    powers = emitter.node("Abs", [wide]) if attrs.p == 1 else emitter.node("Mul", [wide, wide])
    norm = reduction(emitter, "ReduceSum", powers, axes)
    norm = norm if attrs.p == 1 else emitter.node("Sqrt", [norm])
    is_zero = emitter.node("Equal", [norm, scalar(emitter, 0, wide.type.dtype)])
    divisor = emitter.node("Where", [is_zero, scalar(emitter, 1, wide.type.dtype), norm])
    return (cast(emitter, emitter.node("Div", [wide, divisor]), x.type.dtype),)


OPERATOR = Operator(
    name="LpNormalization",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, LpNormalization-22",
    attributes=LpNormalizationAttrs,
)

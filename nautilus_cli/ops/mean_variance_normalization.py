"""MeanVarianceNormalization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import first_of, normal_axes, operand, operand_count
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.reduce import reduction
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, scalar, widen

_EPSILON = 1e-9
"""Added to the deviation. Source: the operator's function body in ONNX 28."""


@dataclass(frozen=True, slots=True)
class MeanVarianceNormalizationAttrs:
    """Attributes of MeanVarianceNormalization."""

    axes: tuple[int, ...] = (0, 2, 3)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    x = operand(inference, 0, "X", FLOATS)
    normal_axes(inference.attrs.axes, len(x.shape))
    return (x,)


def _evaluate(attrs: MeanVarianceNormalizationAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x = first_of(arrays)
    wide = widened(x)
    centred = wide - np.mean(wide, axis=attrs.axes, keepdims=True)
    deviation = np.sqrt(np.mean(centred * centred, axis=attrs.axes, keepdims=True))
    return (stored(centred / (deviation + wide.dtype.type(_EPSILON)), x),)


def _build(emitter: Emitter, attrs: MeanVarianceNormalizationAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x = first_of(operands)
    wide = widen(emitter, x)
    axes = tuple(sorted(normal_axes(attrs.axes, len(x.type.shape))))
    centred = emitter.node("Sub", [wide, reduction(emitter, "ReduceMean", wide, axes)])
    variance = reduction(emitter, "ReduceMean", emitter.node("Mul", [centred, centred]), axes)
    deviation = emitter.node("Add", [emitter.node("Sqrt", [variance]), scalar(emitter, _EPSILON, wide.type.dtype)])
    return (cast(emitter, emitter.node("Div", [centred, deviation]), x.type.dtype),)


OPERATOR = Operator(
    name="MeanVarianceNormalization",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, MeanVarianceNormalization-13",
    attributes=MeanVarianceNormalizationAttrs,
    since=9,
)

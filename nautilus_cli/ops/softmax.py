"""Softmax and LogSoftmax."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import first_of, normal_axis, operand, operand_count
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.reduce import reduction
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, widen


@dataclass(frozen=True, slots=True)
class SoftmaxAttrs:
    """Attributes of Softmax and LogSoftmax."""

    axis: int = -1


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    x = operand(inference, 0, "input", FLOATS)
    normal_axis(inference.attrs.axis, len(x.shape))
    return (x,)


def _shifted(x: np.ndarray, axis: int) -> np.ndarray:
    """Subtract the maximum, so that no exponential overflows."""
    return np.asarray(x - np.max(x, axis=axis, keepdims=True, initial=-np.inf))


def _evaluate(attrs: SoftmaxAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x = first_of(arrays)
    with np.errstate(all="ignore"):
        powers = np.exp(_shifted(widened(x), attrs.axis))
        return (stored(powers / np.sum(powers, axis=attrs.axis, keepdims=True), x),)


def _evaluate_log(attrs: SoftmaxAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x = first_of(arrays)
    with np.errstate(all="ignore"):
        shifted = _shifted(widened(x), attrs.axis)
        return (stored(shifted - np.log(np.sum(np.exp(shifted), axis=attrs.axis, keepdims=True)), x),)


def _build(emitter: Emitter, attrs: SoftmaxAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x = first_of(operands)
    axes = (normal_axis(attrs.axis, len(x.type.shape)),)
    wide = widen(emitter, x)
    powers = emitter.node("Exp", [emitter.node("Sub", [wide, reduction(emitter, "ReduceMax", wide, axes)])])
    result = emitter.node("Div", [powers, reduction(emitter, "ReduceSum", powers, axes)])
    return (cast(emitter, result, x.type.dtype),)


def _build_log(emitter: Emitter, attrs: SoftmaxAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x = first_of(operands)
    axes = (normal_axis(attrs.axis, len(x.type.shape)),)
    wide = widen(emitter, x)
    shifted = emitter.node("Sub", [wide, reduction(emitter, "ReduceMax", wide, axes)])
    total = reduction(emitter, "ReduceSum", emitter.node("Exp", [shifted]), axes)
    return (cast(emitter, emitter.node("Sub", [shifted, emitter.node("Log", [total])]), x.type.dtype),)


OPERATORS = (
    Operator(
        name="Softmax",
        infer=_infer,
        evaluate=_evaluate,
        lowering=Decompose(_build),
        source="ONNX 28, Softmax-13",
        attributes=SoftmaxAttrs,
        since=13,
    ),
    Operator(
        name="LogSoftmax",
        infer=_infer,
        evaluate=_evaluate_log,
        lowering=Decompose(_build_log),
        source="ONNX 28, LogSoftmax-13",
        attributes=SoftmaxAttrs,
        since=13,
    ),
)

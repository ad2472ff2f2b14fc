"""Clip: limit values to a range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand, same_dtype
from nautilus_cli.ops.element_types import NUMERIC
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator


@dataclass(frozen=True, slots=True)
class ClipAttrs:
    """Attributes of Clip: limits, as before opset 11, where they were not operands."""

    min: float | None = None
    max: float | None = None


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 3)
    x = operand(inference, 0, "input", NUMERIC)
    for index, name in ((1, "min"), (2, "max")):
        limit = optional_operand(inference, index, name)
        same_dtype(x, limit, name)
        if limit is not None and limit.elements != 1:
            raise ModelError(f"operand '{name}' has shape {list(limit.static)}; the specification requires a scalar")
    return (x,)


def _evaluate(attrs: ClipAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x, low, high = (*arrays, None, None)[:3]
    assert x is not None
    result = x
    if low is not None or attrs.min is not None:
        result = np.maximum(result, x.dtype.type(attrs.min) if low is None else low.reshape(()))
    if high is not None or attrs.max is not None:
        result = np.minimum(result, x.dtype.type(attrs.max) if high is None else high.reshape(()))
    return (result,)


def _build(emitter: Emitter, attrs: ClipAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Max, then Min: where the limits cross, the upper one wins, as the specification says."""
    x, low, high = (*operands, None, None)[:3]
    assert x is not None
    result = x
    for op, limit, attribute in (("Max", low, attrs.min), ("Min", high, attrs.max)):
        if limit is None and attribute is not None:
            limit = emitter.constant(np.array(attribute, x.type.dtype.numpy))
        if limit is not None:
            if limit.type.shape:
                limit = emitter.node("Reshape", [limit, emitter.constant(np.zeros(0, np.int64))])
            result = emitter.node(op, [result, limit])
    return (result if result is not x else emitter.node("Identity", [x]),)


OPERATOR = Operator(
    name="Clip",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, Clip-13",
    attributes=ClipAttrs,
    since=6,
)

"""BatchNormalization at inference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import operand, operand_count, required
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.precision import stored
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, reshape, scalar, widen


@dataclass(frozen=True, slots=True)
class BatchNormalizationAttrs:
    """Attributes of BatchNormalization; `spatial` was one before opset 9."""

    epsilon: float = 1e-5
    momentum: float = 0.9
    training_mode: int = 0
    spatial: int = 1


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 5, 5)
    x = operand(inference, 0, "X", FLOATS)
    if inference.attrs.training_mode or inference.attrs.spatial != 1:
        raise ModelError("training_mode is 1 or spatial is 0; only inference with statistics of each channel is supported")
    if len(x.shape) < 2:
        raise ModelError(f"operand 'X' has shape {list(x.shape)}; the specification requires batch and channels")
    for index, name in enumerate(("scale", "B", "input_mean", "input_var"), 1):
        found = operand(inference, index, name, FLOATS)
        if found.static != x.static[1:2]:
            raise ModelError(f"operand '{name}' has shape {list(found.static)}; the specification requires {list(x.static[1:2])}")
    return (x,)


def _evaluate(attrs: BatchNormalizationAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x = required(arrays)[0]
    stage = np.dtype(np.float64 if x.dtype == np.float64 else np.float32)
    wide, *rest = (a.astype(stage) for a in required(arrays))
    scale, bias, mean, variance = (a.reshape(-1, *(1 for _ in x.shape[2:])) for a in rest)
    with np.errstate(all="ignore"):
        return (stored((wide - mean) / np.sqrt(variance + stage.type(attrs.epsilon)) * scale + bias, x),)


def _build(emitter: Emitter, attrs: BatchNormalizationAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """One product and one sum: factor = scale / sqrt(variance + epsilon), offset = bias - mean factor."""
    x = required(operands)[0]
    stage = x.type.dtype.compute
    scale, bias, mean, variance = (cast(emitter, v, stage) for v in required(operands)[1:])
    deviation = emitter.node("Sqrt", [emitter.node("Add", [variance, scalar(emitter, attrs.epsilon, stage)])])
    factor = emitter.node("Div", [scale, deviation])
    offset = emitter.node("Sub", [bias, emitter.node("Mul", [mean, factor])])
    shape = (scale.type.elements, *(1 for _ in x.type.shape[2:]))
    scaled = emitter.node("Mul", [widen(emitter, x), reshape(emitter, factor, shape)])
    return (cast(emitter, emitter.node("Add", [scaled, reshape(emitter, offset, shape)]), x.type.dtype),)


OPERATOR = Operator(
    name="BatchNormalization",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, BatchNormalization-15",
    attributes=BatchNormalizationAttrs,
    since=7,
)

"""RMSNormalization."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType, dtype_of
from nautilus_cli.ops.checks import operand, operand_count, required
from nautilus_cli.ops.element_types import FLOATS, stash_dtype
from nautilus_cli.ops.layer_normalization import LayerNormalizationAttrs, check_scale, normalized_axes, stage_dtype
from nautilus_cli.ops.precision import stored
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.standardize import scaled_to_unit
from nautilus_cli.ops.wide import cast


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    x, scale = operand(inference, 0, "X", FLOATS), operand(inference, 1, "scale", FLOATS)
    check_scale(x, scale, "scale")
    normalized_axes(inference.attrs, len(x.shape))
    stash_dtype(inference.attrs.stash_type)
    return (TensorType(scale.dtype, x.shape),)


def _evaluate(attrs: LayerNormalizationAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x, scale = required(arrays)
    stage = stage_dtype(attrs, dtype_of(x)).numpy
    wide = x.astype(stage)
    with np.errstate(all="ignore"):
        square = np.mean(wide * wide, axis=normalized_axes(attrs, x.ndim), keepdims=True)
        inverse = stage.type(1) / np.sqrt(square + stage.type(attrs.epsilon))
        return (stored(wide * inverse * scale.astype(stage), scale),)


def _build(emitter: Emitter, attrs: LayerNormalizationAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, scale = required(operands)
    stage = stage_dtype(attrs, x.type.dtype)
    unit, _ = scaled_to_unit(emitter, cast(emitter, x, stage), normalized_axes(attrs, len(x.type.shape)), attrs.epsilon)
    result = emitter.node("Mul", [unit, cast(emitter, scale, stage)])
    return (cast(emitter, result, scale.type.dtype),)


OPERATOR = Operator(
    name="RMSNormalization",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, RMSNormalization-23",
    attributes=LayerNormalizationAttrs,
    since=23,
)

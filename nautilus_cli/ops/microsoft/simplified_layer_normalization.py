"""SimplifiedLayerNormalization: what became RMSNormalization in ONNX 23, with the inverse root as a second result."""

from __future__ import annotations

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import operand, operand_count, required
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.element_types import FLOATS, dtype_from_onnx
from nautilus_cli.ops.layer_normalization import LayerNormalizationAttrs, check_scale, normalized_axes, stage_dtype
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.standardize import scaled_to_unit
from nautilus_cli.ops.wide import cast


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    x, scale = operand(inference, 0, "X", FLOATS), operand(inference, 1, "scale", FLOATS)
    check_scale(x, scale, "scale")
    axes = normalized_axes(inference.attrs, len(x.shape))
    statistic = TensorType(dtype_from_onnx(inference.attrs.stash_type), tuple(1 if a in axes else d for a, d in enumerate(x.static)))
    return (TensorType(scale.dtype, x.shape), statistic)


def _build(emitter: Emitter, attrs: LayerNormalizationAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, scale = required(operands)
    stage = stage_dtype(attrs, x.type.dtype)
    unit, inverse = scaled_to_unit(emitter, cast(emitter, x, stage), normalized_axes(attrs, len(x.type.shape)), attrs.epsilon)
    result = emitter.node("Mul", [unit, cast(emitter, scale, stage)])
    return cast(emitter, result, scale.type.dtype), cast(emitter, inverse, dtype_from_onnx(attrs.stash_type))


OPERATOR = composed(
    "SimplifiedLayerNormalization",
    _infer,
    _build,
    source=source("SimplifiedLayerNormalization", "ai.onnx"),
    attributes=LayerNormalizationAttrs,
)

"""LayerNormalization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import DType, TensorType, dtype_of
from nautilus_cli.ops.checks import broadcast_shape, normal_axis, operand, operand_count, optional_operand, same_dtype
from nautilus_cli.ops.element_types import FLOATS, dtype_from_onnx, stash_dtype
from nautilus_cli.ops.precision import stored
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.standardize import standardize, standardized
from nautilus_cli.ops.wide import cast


@dataclass(frozen=True, slots=True)
class LayerNormalizationAttrs:
    """Attributes of LayerNormalization and RMSNormalization."""

    axis: int = -1
    epsilon: float = 1e-5
    stash_type: int = 1


def stage_dtype(attrs: LayerNormalizationAttrs, dtype: DType) -> DType:
    """Return the type in which statistics are computed: that of stash_type, but never narrower than the operand's compute type."""
    stash = stash_dtype(attrs.stash_type).compute
    return stash if stash.bits >= dtype.compute.bits else dtype.compute


def check_scale(x: TensorType, scale: TensorType | None, name: str) -> None:
    """Check that SCALE broadcasts to X without growing it.

    Raises:
        ModelError: it does not.
    """
    if scale is not None and broadcast_shape(x.static, scale.static) != x.static:
        raise ModelError(
            f"operand '{name}' has shape {list(scale.static)}; the specification requires one that broadcasts to {list(x.static)}"
        )


def normalized_axes(attrs: LayerNormalizationAttrs, rank: int) -> tuple[int, ...]:
    """Return the axes from `axis` to the last."""
    return tuple(range(normal_axis(attrs.axis, rank), rank))


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 3)
    x = operand(inference, 0, "X", FLOATS)
    scale, bias = operand(inference, 1, "Scale", FLOATS), optional_operand(inference, 2, "B", FLOATS)
    same_dtype(x, scale, "Scale")
    same_dtype(x, bias, "B")
    check_scale(x, scale, "Scale")
    check_scale(x, bias, "B")
    axes = normalized_axes(inference.attrs, len(x.shape))
    statistic = TensorType(stash_dtype(inference.attrs.stash_type), tuple(1 if a in axes else d for a, d in enumerate(x.static)))
    return (x, statistic, statistic)[: inference.outputs]


def _evaluate(attrs: LayerNormalizationAttrs, arrays: tuple[np.ndarray | None, ...], outputs: int) -> tuple[np.ndarray, ...]:
    x, scale, bias = (*arrays, None)[:3]
    assert x is not None
    assert scale is not None
    stage = stage_dtype(attrs, dtype_of(x)).numpy
    normalized, mean, inverse = standardized(x.astype(stage), normalized_axes(attrs, x.ndim), attrs.epsilon)
    result = normalized * scale.astype(stage)
    if bias is not None:
        result = result + bias.astype(stage)
    stash = dtype_from_onnx(attrs.stash_type).numpy
    return (stored(result, x), mean.astype(stash), inverse.astype(stash))[:outputs]


def _build(emitter: Emitter, attrs: LayerNormalizationAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Scale and bias in the wide type too: one rounding at the end."""
    x, scale, bias = (*operands, None)[:3]
    assert x is not None
    assert scale is not None
    stage = stage_dtype(attrs, x.type.dtype)
    axes = normalized_axes(attrs, len(x.type.shape))
    normalized, mean, inverse = standardize(emitter, cast(emitter, x, stage), axes, attrs.epsilon)
    result = emitter.node("Mul", [normalized, cast(emitter, scale, stage)])
    if bias is not None:
        result = emitter.node("Add", [result, cast(emitter, bias, stage)])
    stash = dtype_from_onnx(attrs.stash_type)
    return cast(emitter, result, x.type.dtype), cast(emitter, mean, stash), cast(emitter, inverse, stash)


OPERATOR = Operator(
    name="LayerNormalization",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, LayerNormalization-17",
    attributes=LayerNormalizationAttrs,
    since=17,
)

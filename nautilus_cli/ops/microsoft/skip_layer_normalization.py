"""SkipLayerNormalization and SkipSimplifiedLayerNormalization: a residual sum, normalised along the last dimension."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BF16, F16, F32, TensorType
from nautilus_cli.ops.checks import first_of, operand, operand_count, optional_operand, ranked, same_dtype, shaped
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.standardize import scaled_to_unit, standardize
from nautilus_cli.ops.wide import cast, scalar, widen

_ALLOWED = (F32, F16, BF16)


@dataclass(frozen=True, slots=True)
class SkipLayerNormalizationAttrs:
    """Attributes of SkipLayerNormalization and SkipSimplifiedLayerNormalization."""

    epsilon: float = 1e-12


def _types(inference: Inference, vectors: tuple[str, ...]) -> tuple[TensorType, ...]:
    """Check the operands, of which those from the third on are VECTORS, the first of them required."""
    operand_count(inference, 3, 2 + len(vectors))
    x, skip = operand(inference, 0, "input", _ALLOWED), operand(inference, 1, "skip", _ALLOWED)
    shape = ranked(x, "input", 2, 3)
    same_dtype(x, skip, "skip")
    shaped(skip, "skip", shape, *(((1, *shape[1:]), shape[1:]) if len(shape) == 3 else ()))
    operand(inference, 2, vectors[0], _ALLOWED)
    for index, name in enumerate(vectors, 2):
        vector = optional_operand(inference, index, name, _ALLOWED)
        same_dtype(x, vector, name)
        shaped(vector, name, shape[-1:])
    statistic = TensorType(F32, (*shape[:-1], 1))
    return x, statistic, statistic, x


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    return _types(inference, ("gamma", "beta", "bias"))


def _infer_simplified(inference: Inference) -> tuple[TensorType, ...]:
    return _types(inference, ("gamma", "bias"))


def _total(emitter: Emitter, values: tuple[Value | None, ...]) -> Value:
    """Return the sum of the operands that are given, in the compute type."""
    first, *rest = (widen(emitter, value) for value in values if value is not None)
    for value in rest:
        first = emitter.node("Add", [first, value])
    return first


def _build(emitter: Emitter, attrs: SkipLayerNormalizationAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Everything in the compute type, rounded once; the sum is normalised before it is rounded, as onnxruntime does it."""
    x, skip, gamma, beta, bias = (*operands, None, None)[:5]
    dtype = first_of(operands).type.dtype
    total = _total(emitter, (x, skip, bias))
    normalized, mean, inverse = standardize(emitter, total, (len(total.type.shape) - 1,), attrs.epsilon)
    assert gamma is not None, "the shape rule has refused this"
    result = emitter.node("Mul", [normalized, widen(emitter, gamma)])
    if beta is not None:
        result = emitter.node("Add", [result, widen(emitter, beta)])
    return cast(emitter, result, dtype), mean, inverse, cast(emitter, total, dtype)


def _build_simplified(emitter: Emitter, attrs: SkipLayerNormalizationAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, skip, gamma, bias = (*operands, None)[:4]
    dtype = first_of(operands).type.dtype
    total = _total(emitter, (x, skip, bias))
    unit, inverse = scaled_to_unit(emitter, total, (len(total.type.shape) - 1,), attrs.epsilon)
    assert gamma is not None, "the shape rule has refused this"
    result = emitter.node("Mul", [unit, widen(emitter, gamma)])
    mean = emitter.node("Mul", [inverse, scalar(emitter, 0, F32)])  # there is none; nobody reads it
    return cast(emitter, result, dtype), mean, inverse, cast(emitter, total, dtype)


OPERATORS = (
    composed(
        "com.microsoft::SkipLayerNormalization",
        _infer,
        _build,
        source=source("SkipLayerNormalization"),
        attributes=SkipLayerNormalizationAttrs,
    ),
    composed(
        "com.microsoft::SkipSimplifiedLayerNormalization",
        _infer_simplified,
        _build_simplified,
        source=source("SkipSimplifiedLayerNormalization"),
        attributes=SkipLayerNormalizationAttrs,
    ),
)

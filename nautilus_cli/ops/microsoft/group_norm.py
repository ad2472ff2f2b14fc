"""GroupNorm and SkipGroupNorm: groups of channels standardised, with a residual sum before and an activation behind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F16, F32, TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand, ranked, same_dtype, shaped
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.standardize import standardize
from nautilus_cli.ops.wide import cast, reshape, widen

_ALLOWED = (F16, F32)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupNormAttrs:
    """Attributes of GroupNorm and SkipGroupNorm."""

    activation: int
    groups: int
    epsilon: float = 1e-5
    channels_last: int = 1


def _types(inference: Inference) -> tuple[TensorType, int]:
    """Check X, gamma and beta; return the type of X and its number of channels."""
    x, attrs = operand(inference, 0, "X", _ALLOWED), inference.attrs
    shape = ranked(x, "X", 4)
    channels = shape[3] if attrs.channels_last else shape[1]
    for index, name in ((1, "gamma"), (2, "beta")):
        vector = operand(inference, index, name, _ALLOWED)
        same_dtype(operand(inference, 1, "gamma", _ALLOWED), vector, name, "'gamma'")
        shaped(vector, name, (channels,))
    if attrs.groups < 1 or channels % attrs.groups:
        raise ModelError(f"groups is {attrs.groups} for {channels} channels; the specification requires a divisor")
    if attrs.activation not in (0, 1):
        raise ModelError(f"activation is {attrs.activation}; the specification allows 0 (none) and 1 (SiLU)")
    return x, channels


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 3)
    return (_types(inference)[0],)


def _infer_skip(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 4, 5)
    x, channels = _types(inference)
    skip, bias = operand(inference, 3, "skip", _ALLOWED), optional_operand(inference, 4, "bias", _ALLOWED)
    same_dtype(x, skip, "skip")
    same_dtype(x, bias, "bias")
    batch = x.static[0]
    once = (batch, 1, 1, channels) if inference.attrs.channels_last else (batch, channels, 1, 1)
    shaped(skip, "skip", x.static, once, (batch, channels))
    shaped(bias, "bias", (channels,))
    return x, x


def _by_channel(emitter: Emitter, attrs: GroupNormAttrs, vector: Value) -> Value:
    """Return a vector over channels, in the compute type, in a shape that broadcasts to the operand."""
    return widen(emitter, vector if attrs.channels_last else reshape(emitter, vector, (vector.type.elements, 1, 1)))


def _normalized(emitter: Emitter, attrs: GroupNormAttrs, x: Value, gamma: Value, beta: Value) -> Value:
    """Return X, in the compute type, normalised and activated."""
    shape = x.type.static
    if attrs.channels_last:
        batch, height, width, channels = shape
        grouped = reshape(emitter, x, (batch, height * width, attrs.groups, channels // attrs.groups))
        unit, _, _ = standardize(emitter, grouped, (1, 3), attrs.epsilon)
    else:
        together = int(np.prod(shape[1:], dtype=np.int64)) // attrs.groups
        unit, _, _ = standardize(emitter, reshape(emitter, x, (shape[0], attrs.groups, together)), (2,), attrs.epsilon)
    result = emitter.node("Mul", [reshape(emitter, unit, shape), _by_channel(emitter, attrs, gamma)])
    result = emitter.node("Add", [result, _by_channel(emitter, attrs, beta)])
    return emitter.node("Swish", [result]) if attrs.activation else result


def _build(emitter: Emitter, attrs: GroupNormAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Without a residual sum."""
    return _build_skip(emitter, attrs, (*operands, None, None))[:1]


def _build_skip(emitter: Emitter, attrs: GroupNormAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, gamma, beta, skip, bias = (*operands, None)[:5]
    assert x is not None and gamma is not None and beta is not None, "the shape rule has refused this"
    total = widen(emitter, x)
    if skip is not None:
        if len(skip.type.shape) == 2:
            batch, channels = skip.type.static
            skip = reshape(emitter, skip, (batch, 1, 1, channels) if attrs.channels_last else (batch, channels, 1, 1))
        total = emitter.node("Add", [total, widen(emitter, skip)])
    if bias is not None:
        total = emitter.node("Add", [total, _by_channel(emitter, attrs, bias)])
    result = _normalized(emitter, attrs, total, gamma, beta)
    return cast(emitter, result, x.type.dtype), cast(emitter, total, x.type.dtype)


OPERATORS = (
    composed("com.microsoft::GroupNorm", _infer, _build, source=source("GroupNorm"), attributes=GroupNormAttrs),
    composed("com.microsoft::SkipGroupNorm", _infer_skip, _build_skip, source=source("SkipGroupNorm"), attributes=GroupNormAttrs),
)

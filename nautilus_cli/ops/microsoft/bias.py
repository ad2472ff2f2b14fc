"""BiasAdd, BiasDropout and BiasSoftmax: a sum, and what follows on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BOOL, F16, F32, F64, TensorType
from nautilus_cli.ops.checks import (
    broadcast_shape,
    first_of,
    normal_axis,
    operand,
    operand_count,
    optional_operand,
    ranked,
    required,
    same_dtype,
    shaped,
)
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.spec import Emitter, Inference, NoAttrs
from nautilus_cli.ops.wide import cast, reshape, widen


@dataclass(frozen=True, slots=True)
class BiasDropoutAttrs:
    """Attributes of BiasDropout."""

    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BiasSoftmaxAttrs:
    """Attributes of BiasSoftmax."""

    is_inner_broadcast: int
    axis: int = 1


def _infer_add(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 3)
    x, bias, skip = (operand(inference, index, name, (F16, F32)) for index, name in enumerate(("X", "bias", "skip")))
    shape = ranked(x, "X", 3)
    same_dtype(x, bias, "bias")
    same_dtype(x, skip, "skip")
    shaped(bias, "bias", shape[-1:])
    shaped(skip, "skip", shape)
    return (x,)


def _sum(emitter: Emitter, first: Value, *rest: Value | None) -> Value:
    """Return the sum of what is given, in the compute type."""
    total = widen(emitter, first)
    for value in rest:
        if value is not None:
            total = emitter.node("Add", [total, widen(emitter, value)])
    return total


def _build_add(emitter: Emitter, _attrs: NoAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, bias, skip = required(operands)
    return (cast(emitter, _sum(emitter, x, bias, skip), x.type.dtype),)


def _infer_dropout(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 5)
    data, bias = operand(inference, 0, "data", FLOATS), operand(inference, 1, "bias", FLOATS)
    residual = optional_operand(inference, 2, "residual", FLOATS)
    same_dtype(data, bias, "bias")
    same_dtype(data, residual, "residual")
    shaped(bias, "bias", data.static[-1:], data.static)
    shaped(residual, "residual", data.static)
    ratio, training = (optional_operand(inference, 3, "ratio", FLOATS), optional_operand(inference, 4, "training_mode", (BOOL,)))
    for found, name in ((ratio, "ratio"), (training, "training_mode")):
        if found is not None and found.elements != 1:
            raise ModelError(f"operand '{name}' has shape {list(found.static)}; the specification requires a scalar")
    if training is not None:
        known, share = inference.constants[4], inference.constants[3]
        if (known is None or known.any()) and (share is None or share.any()):
            raise ModelError("training_mode is not known to be false; only inference is supported")
    return data, TensorType(BOOL, data.shape)


def _build_dropout(emitter: Emitter, _attrs: BiasDropoutAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Nothing is dropped at inference."""
    data, bias, residual = (*operands, None)[:3]
    assert data is not None, "the shape rule has refused this"
    total = cast(emitter, _sum(emitter, data, bias, residual), data.type.dtype)
    return total, emitter.constant(np.ones(data.type.static, np.bool_))


def _bias_shape(attrs: BiasSoftmaxAttrs, data: tuple[int, ...], bias: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape in which the bias broadcasts to the data as numpy does.

    An inner broadcast repeats the bias along the dimensions before the axis: it holds the last ones, and any leading ones of its own.
    An outer one repeats it along the first dimensions, and it may leave them out.

    Raises:
        ModelError: it does not broadcast.
    """
    axis = normal_axis(attrs.axis, len(data))
    if attrs.is_inner_broadcast and len(bias) < len(data):
        lead = len(bias) - (len(data) - axis)
        if lead < 0:
            raise ModelError(f"operand 'bias' has rank {len(bias)}; from axis {axis} of rank {len(data)} on it must hold every dimension")
        bias = (*bias[:lead], *(1 for _ in range(len(data) - len(bias))), *bias[lead:])
    if broadcast_shape(data, bias) != data:
        raise ModelError(f"operand 'bias' has shape {list(bias)}; the specification requires one that broadcasts to {list(data)}")
    return bias


def _infer_softmax(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    data, bias = operand(inference, 0, "data", (F16, F32, F64)), operand(inference, 1, "bias", (F16, F32, F64))
    same_dtype(data, bias, "bias")
    _bias_shape(inference.attrs, data.static, bias.static)
    return (data,)


def _build_softmax(emitter: Emitter, attrs: BiasSoftmaxAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    data, bias = required(operands)
    shape = data.type.static
    axis = normal_axis(attrs.axis, len(shape))
    total = _sum(emitter, data, reshape(emitter, bias, _bias_shape(attrs, shape, bias.type.static)))
    rows = (*shape[:axis], int(np.prod(shape[axis:], dtype=np.int64)))
    result = emitter.node("Softmax", [reshape(emitter, total, rows)], axis=axis)
    return (cast(emitter, reshape(emitter, result, shape), first_of(operands).type.dtype),)


OPERATORS = (
    composed("com.microsoft::BiasAdd", _infer_add, _build_add, source=source("BiasAdd")),
    composed("com.microsoft::BiasDropout", _infer_dropout, _build_dropout, source=source("BiasDropout"), attributes=BiasDropoutAttrs),
    composed("com.microsoft::BiasSoftmax", _infer_softmax, _build_softmax, source=source("BiasSoftmax"), attributes=BiasSoftmaxAttrs),
)

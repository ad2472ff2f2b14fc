"""DynamicQuantizeLSTM: an LSTM with weights of 8 bits, whose input and hidden state are rounded to 8 bits by their own ranges.

The input is rounded by one range. The hidden state is, before each step, by a range for each sequence; onnxruntime takes one for all the
sequences that a thread of it computes, which is the same for one sequence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F32, TensorType
from nautilus_cli.ops import recurrent
from nautilus_cli.ops.checks import operand, operand_count, ranked, shaped
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.dynamic_quantize_linear import dynamically_quantised
from nautilus_cli.ops.lstm import FUNCTIONS
from nautilus_cli.ops.matmul_integer import integer_product
from nautilus_cli.ops.microsoft.qlinear import BYTES
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.quantization import real
from nautilus_cli.ops.recurrent import Layer, layer_of
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.wide import cast, reshape

_STATES, _GATES = 2, 4
_W_SCALE, _W_ZERO_POINT, _R_SCALE, _R_ZERO_POINT = range(8, 12)


@dataclass(frozen=True, slots=True)
class DynamicQuantizeLSTMAttrs:
    """Attributes of DynamicQuantizeLSTM."""

    activation_alpha: tuple[float, ...] | None = None
    activation_beta: tuple[float, ...] | None = None
    activations: tuple[str, ...] | None = None
    clip: float | None = None
    direction: str = "forward"
    hidden_size: int | None = None
    input_forget: int = 0


def _layer(attrs: DynamicQuantizeLSTMAttrs) -> Layer:
    return layer_of(attrs, "lstm", FUNCTIONS, layout=0, is_coupled=bool(attrs.input_forget), is_quantised=True)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    """The weights are [directions, input or hidden, 4 · hidden]; all else is for the rule of LSTM, which has them the other way round."""
    operand_count(inference, 12, 12)
    attrs = inference.attrs
    operand(inference, 0, "X", (F32,))
    w, r = operand(inference, 1, "W", BYTES), operand(inference, 2, "R", BYTES)
    directions, inputs, columns = ranked(w, "W", 3)
    hidden = ranked(r, "R", 3)[1]
    if columns != _GATES * hidden:
        raise ModelError(f"operand 'W' has {columns} columns and operand 'R' {hidden} rows; the specification requires {_GATES} × as many")
    for scale, zero_point, name, weights in ((_W_SCALE, _W_ZERO_POINT, "W", w), (_R_SCALE, _R_ZERO_POINT, "R", r)):
        shapes = ((directions,), (directions, columns))
        shaped(operand(inference, scale, f"{name}_scale", (F32,)), f"{name}_scale", *shapes)
        shaped(operand(inference, zero_point, f"{name}_zero_point", (weights.dtype,)), f"{name}_zero_point", *shapes)
    shaped(r, "R", (directions, hidden, columns))
    turned = (TensorType(F32, (directions, columns, inputs)), TensorType(F32, (directions, columns, hidden)))
    types = (inference.types[0], *turned, *inference.types[3:8])
    return recurrent.infer(_layer(attrs), Inference(attrs, types, (None,) * len(types), inference.outputs), _STATES)


def _build(emitter: Emitter, attrs: DynamicQuantizeLSTMAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, w, r, bias, lengths, initial_h, initial_c, peepholes, w_scale, w_zero_point, r_scale, r_zero_point = operands
    assert x is not None and w is not None and r is not None
    assert w_scale is not None and w_zero_point is not None and r_scale is not None and r_zero_point is not None
    layer = _layer(attrs)
    steps, batch, inputs = x.type.static
    directions, hidden, columns = r.type.static

    codes, scale, zero_point = dynamically_quantised(emitter, x)
    weights = reshape(emitter, emitter.node("Transpose", [w], perm=(1, 0, 2)), (inputs, directions * columns))
    product = integer_product(
        emitter, reshape(emitter, codes, (steps * batch, inputs)), weights, zero_point, _flat(emitter, w_zero_point, columns)
    )
    projected = emitter.node("Mul", [cast(emitter, product, F32), emitter.node("Mul", [scale, _flat(emitter, w_scale, columns)])])
    if bias is not None:
        projected = emitter.node("Add", [projected, recurrent.joined_biases(layer, emitter, bias, hidden)[0]])
    recurrence = real(emitter, r, _rows(emitter, r_scale), _rows(emitter, r_zero_point), F32)
    every = (
        reshape(emitter, projected, (steps, batch, directions, _GATES, hidden)),
        reshape(emitter, recurrence, (directions, hidden, _GATES, hidden)),
        None,
        lengths,
        initial_h,
        initial_c,
        None if peepholes is None else reshape(emitter, peepholes, (directions, 3, hidden)),
    )
    return recurrent.walked(layer, emitter, every, _STATES)


def _flat(emitter: Emitter, value: Value, columns: int) -> Value:
    """Return one number for each column of all directions: [directions] or [directions, columns] to [directions · columns]."""
    directions = value.type.static[0]
    if len(value.type.shape) == 1:
        shape = emitter.constant(np.array([directions, columns], np.int64))
        value = emitter.node("Expand", [reshape(emitter, value, (directions, 1)), shape])
    return reshape(emitter, value, (directions * columns,))


def _rows(emitter: Emitter, value: Value) -> Value:
    """Return [directions] or [directions, columns] so that it broadcasts to the weights."""
    shape = value.type.static
    return reshape(emitter, value, (shape[0], 1, 1) if len(shape) == 1 else (shape[0], 1, shape[1]))


OPERATOR = composed(
    "com.microsoft::DynamicQuantizeLSTM", _infer, _build, source=source("DynamicQuantizeLSTM"), attributes=DynamicQuantizeLSTMAttrs
)

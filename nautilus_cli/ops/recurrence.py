"""Recurrence: the part of LSTM, GRU and RNN that must walk through time. They are decomposed into it; no ONNX model has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.types import I32, TensorType
from nautilus_cli.ops.cell_activations import ACTIVATIONS
from nautilus_cli.ops.checks import operand, operand_count, optional_operand, same_dtype
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Anchor, Inference, Operator

GATES = {"lstm": 4, "gru": 3, "linear_gru": 3, "rnn": 1}
"""Gates of each cell, in the order of ONNX's weights: input, output, forget, cell; update, reset, hidden; one.

A linear GRU multiplies by the reset gate after the product with the hidden state (linear_before_reset).
"""

FUNCTIONS = {"lstm": 3, "gru": 2, "linear_gru": 2, "rnn": 1}
"""Activation functions of each cell."""


@dataclass(frozen=True, slots=True)
class RecurrenceAttrs:
    """What a cell computes at each step.

    Attributes:
        cell: `lstm`, `gru`, `linear_gru` or `rnn`.
        names, alphas, betas: of the activation functions (f, g, h), the same in every direction.
        clip: what is handed to the activations of the gates is limited to [-clip, clip]; None for no limit.
        is_coupled: the forget gate of an LSTM is one minus the input gate.
        is_reverse: the first direction runs from the end; a second one always does.
        is_quantised: the products take the hidden state rounded to 8 bits, each sequence by its own range; of an LSTM alone.
    """

    cell: str
    names: tuple[str, ...]
    alphas: tuple[float, ...]
    betas: tuple[float, ...]
    clip: float | None = None
    is_coupled: bool = False
    is_reverse: bool = False
    is_quantised: bool = False


@dataclass(frozen=True, slots=True)
class Extents:
    """Sizes of a recurrence: time steps, batch, directions, gates, units of the hidden state."""

    steps: int
    batch: int
    directions: int
    gates: int
    hidden: int


def extents(projected: TensorType) -> Extents:
    """Return the sizes, from the first operand."""
    steps, batch, directions, gates, hidden = projected.static
    return Extents(steps, batch, directions, gates, hidden)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 7)
    projected = operand(inference, 0, "projected", FLOATS)
    sizes = extents(projected)
    d, b, h = sizes.directions, sizes.batch, sizes.hidden
    wanted = {
        1: ("recurrence", (d, h, sizes.gates, h)),
        2: ("hidden_bias", (d, h)),
        4: ("initial_h", (d, b, h)),
        5: ("initial_c", (d, b, h)),
        6: ("peepholes", (d, 3, h)),
    }
    for place, (name, shape) in wanted.items():
        found = optional_operand(inference, place, name)
        same_dtype(projected, found, name)
        if found is not None and found.static != shape:
            raise InternalError(f"operand '{name}' of a recurrence has shape {list(found.static)}, not {list(shape)}")
    lengths = optional_operand(inference, 3, "lengths", (I32,))
    if lengths is not None and lengths.static != (b,):
        raise InternalError(f"operand 'lengths' of a recurrence has shape {list(lengths.static)}, not {[b]}")
    if inference.attrs.is_quantised and inference.attrs.cell != "lstm":
        raise InternalError(f"a quantised cell '{inference.attrs.cell}'")
    if sizes.gates != GATES[inference.attrs.cell]:
        raise InternalError(f"a cell '{inference.attrs.cell}' with {sizes.gates} gates")
    state = TensorType(projected.dtype, (d, b, h))
    return (TensorType(projected.dtype, (sizes.steps, d, b, h)), state, state)[: inference.outputs]


def _evaluate(attrs: RecurrenceAttrs, arrays: tuple[np.ndarray | None, ...], outputs: int) -> tuple[np.ndarray, ...]:
    projected, recurrence, hidden_bias, lengths, initial_h, initial_c, peepholes = (*arrays, *(None,) * 5)[:7]
    assert projected is not None
    assert recurrence is not None
    steps, batch, directions, _, hidden = projected.shape
    x, r = widened(projected), widened(recurrence)
    zeros = np.zeros((directions, batch, hidden), x.dtype)
    h = zeros.copy() if initial_h is None else widened(initial_h).copy()
    c = zeros.copy() if initial_c is None else widened(initial_c).copy()
    bias = np.zeros((directions, hidden), x.dtype) if hidden_bias is None else widened(hidden_bias)
    peep = np.zeros((directions, 3, hidden), x.dtype) if peepholes is None else widened(peepholes)
    length = np.full(batch, steps) if lengths is None else np.clip(lengths, 0, steps)
    y = np.zeros((steps, directions, batch, hidden), x.dtype)
    step_of = _CELLS[attrs.cell]
    for d in range(directions):
        is_reverse = d == 1 or attrs.is_reverse
        for step in range(int(length.max(initial=0))):
            rows = np.flatnonzero(length > step)
            times = length[rows] - 1 - step if is_reverse else np.full(rows.size, step)
            h[d, rows], c[d, rows] = step_of(attrs, x[times, rows, d], r[d], bias[d], peep[d], h[d, rows], c[d, rows])
            y[times, d, rows] = h[d, rows]
    h[:, length == 0] = 0  # as onnxruntime has it
    c[:, length == 0] = 0
    return tuple(stored(a, projected) for a in (y, h, c))[:outputs]


def _activation(attrs: RecurrenceAttrs, number: int, x: np.ndarray) -> np.ndarray:
    kind = x.dtype.type
    applied = ACTIVATIONS[attrs.names[number]].evaluate(x, kind(attrs.alphas[number]), kind(attrs.betas[number]))
    return np.asarray(applied, x.dtype)


def _gate(attrs: RecurrenceAttrs, number: int, x: np.ndarray) -> np.ndarray:
    return _activation(attrs, number, x if attrs.clip is None else np.clip(x, x.dtype.type(-attrs.clip), x.dtype.type(attrs.clip)))


def _in_8_bits(h: np.ndarray) -> np.ndarray:
    """Return each row rounded as DynamicQuantizeLinear does it, times its scale."""
    low, high = np.minimum(h.min(1, keepdims=True), 0), np.maximum(h.max(1, keepdims=True), 0)
    scale = np.where(high == low, 1, (high - low) / h.dtype.type(255)).astype(h.dtype)
    zero = np.clip(np.rint(-low / scale), 0, 255)
    return np.asarray((np.clip(np.rint(h / scale) + zero, 0, 255) - zero) * scale)


_Cell = Callable[..., tuple[np.ndarray, np.ndarray]]


def _lstm(
    attrs: RecurrenceAttrs, x: np.ndarray, r: np.ndarray, _bias: np.ndarray, peep: np.ndarray, h: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    seen = _in_8_bits(h) if attrs.is_quantised else h
    i, o, f, g = np.moveaxis(x + np.einsum("bk,kgj->bgj", seen, r), 1, 0)
    entered = _gate(attrs, 0, i + peep[0] * c)
    kept = 1 - entered if attrs.is_coupled else _gate(attrs, 0, f + peep[2] * c)
    c = kept * c + entered * _gate(attrs, 1, g)
    return _gate(attrs, 0, o + peep[1] * c) * _activation(attrs, 2, c), c


def _gru(
    attrs: RecurrenceAttrs, x: np.ndarray, r: np.ndarray, _bias: np.ndarray, _peep: np.ndarray, h: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    z, reset = (_gate(attrs, 0, x[:, gate] + h @ r[:, gate]) for gate in range(2))
    new = _gate(attrs, 1, x[:, 2] + (reset * h) @ r[:, 2])
    return (1 - z) * new + z * h, c


def _linear_gru(
    attrs: RecurrenceAttrs, x: np.ndarray, r: np.ndarray, bias: np.ndarray, _peep: np.ndarray, h: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    z, reset = (_gate(attrs, 0, x[:, gate] + h @ r[:, gate]) for gate in range(2))
    new = _gate(attrs, 1, x[:, 2] + reset * (h @ r[:, 2] + bias))
    return (1 - z) * new + z * h, c


def _rnn(
    attrs: RecurrenceAttrs, x: np.ndarray, r: np.ndarray, _bias: np.ndarray, _peep: np.ndarray, h: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return _gate(attrs, 0, x[:, 0] + h @ r[:, 0]), c


_CELLS: dict[str, _Cell] = {"lstm": _lstm, "gru": _gru, "linear_gru": _linear_gru, "rnn": _rnn}


OPERATOR = Operator(
    name="nautilus::Recurrence",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor("recurrent", prologue=(0, 1, 2, 3, 4, 5, 6), results=3),
    source="Nautilus's own: the equations of ONNX 28, LSTM-22, GRU-22 and RNN-22, behind the products with the weights of the input",
    attributes=RecurrenceAttrs,
)
"""Operands, with t time steps, b batch, d directions, g gates, h hidden units:

0. projected [t, b, d, g, h]: the products of the inputs with their weights, all biases added but that of 2.
1. recurrence [d, k, g, h]: weights of the hidden state's unit k.
2. hidden_bias [d, h]: what a linear GRU adds before it multiplies by the reset gate.
3. lengths [b]: steps of each sequence; later results are zero.
4. initial_h [d, b, h]; 5. initial_c [d, b, h]; zero where left out.
6. peepholes [d, 3, h]: of the gates input, output, forget.

Results: every hidden state [t, d, b, h]; the last one [d, b, h]; the last cell state [d, b, h].
"""

"""What LSTM, GRU and RNN share: shapes, and their decomposition into one product over all time steps and a recurrence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I32, TensorType
from nautilus_cli.ops.cell_activations import Activations, resolve
from nautilus_cli.ops.checks import one_of, operand, operand_count, optional_operand, same_dtype
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.recurrence import FUNCTIONS, GATES, RecurrenceAttrs
from nautilus_cli.ops.recurrence import OPERATOR as RECURRENCE
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import reshape

DIRECTIONS = ("forward", "reverse", "bidirectional")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One of the three operators with its attributes, in common terms.

    Attributes:
        cell: see `recurrence.GATES`.
        direction: one of DIRECTIONS.
        names: of the activation functions of all directions.
        alphas, betas: as the attributes give them.
        clip: limit of what the gates' activations take.
        is_coupled: input_forget of an LSTM.
        layout: 1 where the batch comes before the time.
        hidden_size: as the attribute gives it.
        is_quantised: see `recurrence.RecurrenceAttrs`.
    """

    cell: str
    direction: str
    names: tuple[str, ...]
    alphas: tuple[float, ...] | None
    betas: tuple[float, ...] | None
    clip: float | None
    is_coupled: bool = False
    layout: int
    hidden_size: int | None
    is_quantised: bool = False

    @property
    def directions(self) -> int:
        """1 or 2."""
        return directions_of(self.direction)

    @property
    def gates(self) -> int:
        """Gates of the cell."""
        return GATES[self.cell]

    @property
    def activations(self) -> tuple[Activations, ...]:
        """Those of each direction; raises ModelError where the attributes do not fit."""
        return resolve(self.names, self.alphas, self.betas, FUNCTIONS[self.cell], self.directions)

    def attrs(self, direction: int) -> RecurrenceAttrs:
        """Return the attributes of the recurrence whose first direction is DIRECTION."""
        applied = self.activations[direction]
        return RecurrenceAttrs(
            cell=self.cell,
            names=applied.names,
            alphas=applied.alphas,
            betas=applied.betas,
            clip=self.clip,
            is_coupled=self.is_coupled,
            is_reverse=direction == 1 or self.direction == "reverse",
            is_quantised=self.is_quantised,
        )


def directions_of(direction: str) -> int:
    """Return how many directions `forward`, `reverse` or `bidirectional` is."""
    return 2 if direction == "bidirectional" else 1


def layer_of(
    attrs: Any, cell: str, functions: tuple[str, ...], *, layout: int, is_coupled: bool = False, is_quantised: bool = False
) -> Layer:
    """Return a layer by the attributes that all of them have.

    Args:
        attrs: of the operator.
        cell: see `recurrence.GATES`.
        functions: activation functions of a direction, where the attributes name none.
        layout: as `Layer` has it, and what follows, too.
    """
    return Layer(
        cell=cell,
        direction=attrs.direction,
        names=attrs.activations or functions * directions_of(attrs.direction),
        alphas=attrs.activation_alpha,
        betas=attrs.activation_beta,
        clip=attrs.clip,
        is_coupled=is_coupled,
        layout=layout,
        hidden_size=attrs.hidden_size,
        is_quantised=is_quantised,
    )


def layer_operator(name: str, attributes: type, layer: Callable[[Any], Layer], *, states: int, source: str) -> Operator:
    """Return the operator of a layer.

    Args:
        name: of the operator.
        attributes: type of its attributes.
        layer: what they say in common terms.
        states: that steps hand on; the cell state is the second.
        source: of its specification.
    """

    def infer_types(inference: Inference) -> tuple[TensorType, ...]:
        return infer(layer(inference.attrs), inference, states)

    def evaluated(attrs: Any, arrays: tuple[np.ndarray | None, ...], outputs: int) -> tuple[np.ndarray, ...]:
        return evaluate(layer(attrs), arrays, outputs)

    def built(emitter: Emitter, attrs: Any, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        return build(layer(attrs), emitter, operands, states)

    return Operator(
        name=name, infer=infer_types, evaluate=evaluated, lowering=Decompose(built), source=source, attributes=attributes, since=7
    )


def infer(layer: Layer, inference: Inference, states: int) -> tuple[TensorType, ...]:
    """Return the result types of a layer with STATES states (the cell state is the second).

    Raises:
        ModelError: operands or attributes do not fit.
    """
    operand_count(inference, 3, 8 if states == 2 else 6)
    one_of(layer.direction, DIRECTIONS, "direction")
    if layer.layout not in (0, 1):
        raise ModelError(f"layout is {layer.layout}; the specification allows 0 and 1")
    if layer.clip is not None and not layer.clip > 0:
        raise ModelError(f"clip is {layer.clip}; it must be positive")
    layer.activations  # noqa: B018 (raises where they do not fit)
    x = operand(inference, 0, "X", FLOATS)
    if len(x.shape) != 3:
        raise ModelError(f"operand 'X' has shape {list(x.static)}; the specification requires rank 3: time, batch and input")
    recurrence = operand(inference, 2, "R", FLOATS)
    if len(recurrence.shape) != 3:
        raise ModelError(f"operand 'R' has shape {list(recurrence.static)}; the specification requires rank 3")
    d, g, h = layer.directions, layer.gates, recurrence.static[2]
    if layer.hidden_size not in (None, h):
        raise ModelError(f"hidden_size is {layer.hidden_size}, but operand 'R' has {h} columns")
    batch, steps = (x.static[0], x.static[1]) if layer.layout else (x.static[1], x.static[0])
    state = (batch, d, h) if layer.layout else (d, batch, h)
    wanted = {
        1: ("W", (d, g * h, x.static[2])),
        2: ("R", (d, g * h, h)),
        3: ("B", (d, 2 * g * h)),
        5: ("initial_h", state),
        6: ("initial_c", state),
        7: ("P", (d, 3 * h)),
    }
    for place, (name, shape) in wanted.items():
        found = optional_operand(inference, place, name) if place != 1 else operand(inference, place, name)
        same_dtype(x, found, name)
        if found is not None and found.static != shape:
            raise ModelError(f"operand '{name}' has shape {list(found.static)}; for the others the specification requires {list(shape)}")
    lengths = optional_operand(inference, 4, "sequence_lens", (I32,))
    if lengths is not None and lengths.static != (batch,):
        raise ModelError(f"operand 'sequence_lens' has shape {list(lengths.static)}; the specification requires {[batch]}")
    every = (batch, steps, d, h) if layer.layout else (steps, d, batch, h)
    return (TensorType(x.dtype, every), *(TensorType(x.dtype, state),) * states)[: inference.outputs]


def evaluate(layer: Layer, arrays: tuple[np.ndarray | None, ...], outputs: int) -> tuple[np.ndarray, ...]:
    """Return the results in numpy, without a rounding between the products of the input and the recurrence."""
    x, w, r, bias, lengths, initial_h, initial_c, peepholes = (*arrays, *(None,) * 5)[:8]
    assert x is not None
    assert w is not None
    assert r is not None
    d, g, h = layer.directions, layer.gates, r.shape[2]
    swapped = [a if a is None or not layer.layout else a.swapaxes(0, 1) for a in (x, initial_h, initial_c)]
    source, initial_h, initial_c = swapped
    assert source is not None
    projected = np.einsum("tbi,dgi->tbdg", widened(source), widened(w))
    hidden_bias = None
    if bias is not None:
        both = widened(bias).reshape(d, 2, g, h)
        added = both[:, 0] + both[:, 1]
        if layer.cell == "linear_gru":
            added[:, 2] = both[:, 0, 2]
            hidden_bias = both[:, 1, 2]
        projected = projected + added.reshape(d, g * h)
    recurrence = widened(r).reshape(d, g, h, h).transpose(0, 3, 1, 2)
    peepholes = None if peepholes is None else widened(peepholes).reshape(d, 3, h)
    shaped = projected.reshape(*projected.shape[:2], d, g, h)
    initial = [None if a is None else widened(a) for a in (initial_h, initial_c)]
    parts = []
    for first in range(d):
        own = slice(first, first + 1)
        operands = [
            shaped[:, :, own],
            recurrence[own],
            None if hidden_bias is None else hidden_bias[own],
            lengths,
            *(None if a is None else a[own] for a in initial),
            None if peepholes is None else peepholes[own],
        ]
        parts.append(RECURRENCE.evaluate(layer.attrs(first), tuple(operands), outputs))
    results = []
    for number, pieces in enumerate(zip(*parts, strict=True)):
        joined = np.concatenate(pieces, axis=1 if number == 0 else 0)
        if layer.layout:
            joined = joined.transpose(2, 0, 1, 3) if number == 0 else joined.swapaxes(0, 1)
        results.append(stored(joined, x))
    return tuple(results)


def build(layer: Layer, emitter: Emitter, operands: tuple[Value | None, ...], states: int) -> tuple[Value | None, ...]:
    """Write a layer as one product over all time steps, and a recurrence; two of these where the directions' activations differ."""
    x, w, r, bias, lengths, initial_h, initial_c, peepholes = (*operands, *(None,) * 5)[:8]
    assert x is not None
    assert w is not None
    assert r is not None
    d, g, h = layer.directions, layer.gates, r.type.static[2]
    if layer.layout:
        x = emitter.node("Transpose", [x], perm=(1, 0, 2))
        initial_h, initial_c = (None if v is None else emitter.node("Transpose", [v], perm=(1, 0, 2)) for v in (initial_h, initial_c))
    steps, batch, inputs = x.type.static
    weights = emitter.node("Transpose", [reshape(emitter, w, (d * g * h, inputs))], perm=(1, 0))
    projected = emitter.node("MatMul", [x, weights])
    hidden_bias = None
    if bias is not None:
        added, hidden_bias = joined_biases(layer, emitter, bias, h)
        projected = emitter.node("Add", [projected, added])
    projected = reshape(emitter, projected, (steps, batch, d, g, h))
    recurrence = emitter.node("Transpose", [reshape(emitter, r, (d, g, h, h))], perm=(0, 3, 1, 2))
    if peepholes is not None:
        peepholes = reshape(emitter, peepholes, (d, 3, h))
    found = walked(layer, emitter, (projected, recurrence, hidden_bias, lengths, initial_h, initial_c, peepholes), states)
    if not layer.layout:
        return found
    return tuple(emitter.node("Transpose", [v], perm=(2, 0, 1, 3) if number == 0 else (1, 0, 2)) for number, v in enumerate(found))


def walked(layer: Layer, emitter: Emitter, operands: Sequence[Value | None], states: int) -> tuple[Value, ...]:
    """Return the results of a recurrence on OPERANDS (see `ops/recurrence.py`); of two where the directions' activations differ."""
    applied = layer.activations
    if layer.directions == 1 or applied[0] == applied[1]:
        return emitter.results(RECURRENCE.name, operands, 1 + states, layer.attrs(0))
    halves = [
        emitter.results(RECURRENCE.name, _direction(emitter, operands, first), 1 + states, layer.attrs(first))
        for first in range(layer.directions)
    ]
    return tuple(emitter.node("Concat", pieces, axis=1 if number == 0 else 0) for number, pieces in enumerate(zip(*halves, strict=True)))


def joined_biases(layer: Layer, emitter: Emitter, bias: Value, h: int) -> tuple[Value, Value | None]:
    """Return what the products of the input take, [directions × gates × hidden], and what a linear GRU adds later."""
    d, g = layer.directions, layer.gates
    of_input, of_hidden = (_sliced(emitter, bias, 1, part * g * h, (part + 1) * g * h) for part in range(2))
    if layer.cell != "linear_gru":
        return reshape(emitter, emitter.node("Add", [of_input, of_hidden]), (d * g * h,)), None
    early = emitter.node("Add", [_sliced(emitter, of_input, 1, 0, 2 * h), _sliced(emitter, of_hidden, 1, 0, 2 * h)])
    late, hidden_bias = (_sliced(emitter, v, 1, 2 * h, 3 * h) for v in (of_input, of_hidden))
    return reshape(emitter, emitter.node("Concat", [early, late], axis=1), (d * g * h,)), hidden_bias


def _direction(emitter: Emitter, operands: Sequence[Value | None], number: int) -> list[Value | None]:
    """Return the part of a recurrence's operands that one direction takes."""
    axes: tuple[int | None, ...] = (2, 0, 0, None, 0, 0, 0)
    return [
        v if v is None or axis is None else _sliced(emitter, v, axis, number, number + 1) for v, axis in zip(operands, axes, strict=True)
    ]


def _sliced(emitter: Emitter, value: Value, axis: int, start: int, end: int) -> Value:
    bounds: list[Any] = [emitter.constant(np.array([n], np.int64)) for n in (start, end, axis)]
    return emitter.node("Slice", [value, *bounds])

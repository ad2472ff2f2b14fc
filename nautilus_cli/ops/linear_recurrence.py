"""LinearRecurrence: a matrix for each head that every step adds an outer product to. LinearAttention is it; no ONNX model has it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.precision import stored
from nautilus_cli.ops.spec import Anchor, Inference, Operator


@dataclass(frozen=True, slots=True)
class LinearRecurrenceAttrs:
    """Attributes of LinearRecurrence.

    Attributes:
        scale: of what is read from the state.
    """

    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Extents:
    """Sizes of a linear recurrence.

    Attributes:
        batch: sequences.
        steps: of each.
        queries: heads that read.
        heads: that have a state; each is read by `queries / heads` neighbouring ones.
        keys: rows of a state.
        values: columns of a state.
    """

    batch: int
    steps: int
    queries: int
    heads: int
    keys: int
    values: int


def extents(query: TensorType, value: TensorType) -> Extents:
    """Return the sizes, from the first and the third operand."""
    batch, steps, queries, keys = query.static
    return Extents(batch, steps, queries, value.static[2], keys, value.static[3])


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 6)
    query, key, value = (operand(inference, i, name, FLOATS) for i, name in enumerate(("query", "key", "value")))
    sizes = extents(query, value)
    b, t, h, k, v = sizes.batch, sizes.steps, sizes.heads, sizes.keys, sizes.values
    state = optional_operand(inference, 5, "state", FLOATS)
    allowed: dict[str, tuple[TensorType | None, list[tuple[int, ...]]]] = {
        "key": (key, [(b, t, h, k)]),
        "value": (value, [(b, t, h, v)]),
        "decay": (optional_operand(inference, 3, "decay", FLOATS), [(b, t, h, k), (b, t, h, 1)]),
        "beta": (optional_operand(inference, 4, "beta", FLOATS), [(b, t, h), (b, t, 1)]),
        "state": (state, [(b, h, k, v)]),
    }
    for name, (found, shapes) in allowed.items():
        if found is not None and found.static not in shapes:
            raise InternalError(f"operand '{name}' of a linear recurrence has shape {list(found.static)}, not {list(shapes[0])}")
    kept = query.dtype if state is None else state.dtype
    return (TensorType(query.dtype, (b, t, sizes.queries, v)), TensorType(kept, (b, h, k, v)))[: inference.outputs]


def _evaluate(attrs: LinearRecurrenceAttrs, arrays: tuple[np.ndarray | None, ...], outputs: int) -> tuple[np.ndarray, ...]:
    query, key, value, decay, beta, start = (*arrays, *(None,) * 3)[:6]
    assert query is not None
    assert key is not None
    assert value is not None
    stage = np.dtype(np.float64 if query.dtype == np.float64 else np.float32)
    q, k, v = (a.astype(stage) for a in (query, key, value))
    batch, steps, queries, keys = q.shape
    heads, values = v.shape[2:]
    state = np.zeros((batch, heads, keys, values), stage) if start is None else start.astype(stage)
    factors = None if decay is None else np.exp(decay.astype(stage))
    rates = None if beta is None else beta.astype(stage)
    result = np.zeros((batch, steps, queries, values), stage)
    for t in range(steps):
        if factors is not None:
            state = state * factors[:, t, :, :, None]
        added = v[:, t]
        if rates is not None:
            added = rates[:, t, :, None] * (added - np.einsum("bhkv,bhk->bhv", state, k[:, t]))
        state = state + k[:, t, :, :, None] * added[:, :, None, :]
        result[:, t] = stage.type(attrs.scale) * np.einsum("bhkv,bhk->bhv", np.repeat(state, queries // heads, axis=1), q[:, t])
    return (stored(result, query), stored(state, query if start is None else start))[:outputs]


OPERATOR = Operator(
    name="nautilus::LinearRecurrence",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor("linear_recurrence", prologue=(0, 1, 2, 3, 4, 5), epilogue=False, results=2),
    source="Nautilus's own: the update rules of ONNX 28, LinearAttention-27, on heads that are a dimension",
    attributes=LinearRecurrenceAttrs,
)
"""Operands, with b sequences, t steps, q reading heads, h heads with a state of k rows and v columns:

0. query [b, t, q, k]; 1. key [b, t, h, k]; 2. value [b, t, h, v].
3. decay [b, t, h, k] or [b, t, h, 1]: the state is first multiplied by its exponential, row by row; left out, it stays.
4. beta [b, t, h] or [b, t, 1]: how much of the difference between the value and what the key reads is added; left out, the value is.
5. state [b, h, k, v]: at the start; zero where left out.

Results: what the queries read after each step, times the scale [b, t, q, v]; the last state [b, h, k, v].
"""

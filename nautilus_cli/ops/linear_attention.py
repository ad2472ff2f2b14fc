"""LinearAttention: attention whose memory is one matrix a head."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BF16, F16, F32, TensorType
from nautilus_cli.ops.checks import one_of, operand, operand_count, optional_operand, same_dtype
from nautilus_cli.ops.linear_recurrence import OPERATOR as RECURRENCE
from nautilus_cli.ops.linear_recurrence import LinearRecurrenceAttrs
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import reshape

RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}
"""Update rules: whether each takes a decay, and whether it takes a beta."""

_ALLOWED = (F16, BF16, F32)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearAttentionAttrs:
    """Attributes of LinearAttention; `chunk_size` is a hint on how to compute it."""

    q_num_heads: int
    kv_num_heads: int
    update_rule: str = "gated_delta"
    scale: float = 0.0
    chunk_size: int = 64


@dataclass(frozen=True, slots=True)
class _Shapes:
    """Shapes with the heads as a dimension; None for an operand left out."""

    query: tuple[int, ...]
    key: tuple[int, ...]
    value: tuple[int, ...]
    decay: tuple[int, ...] | None
    beta: tuple[int, ...] | None


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 6)
    attrs = inference.attrs
    names = ("query", "key", "value", "past_state", "decay", "beta")
    query = operand(inference, 0, "query", _ALLOWED)
    types = [
        operand(inference, i, name, _ALLOWED) if i < 3 else optional_operand(inference, i, name, _ALLOWED) for i, name in enumerate(names)
    ]
    for index in (1, 2, 4, 5):
        same_dtype(query, types[index], names[index])
    one_of(attrs.update_rule, tuple(RULES), "update_rule")
    for needed, index in zip(RULES[attrs.update_rule], (4, 5), strict=True):
        if needed != (types[index] is not None):
            what = "requires" if needed else "does not take"
            raise ModelError(f"update_rule '{attrs.update_rule}' {what} operand '{names[index]}'")
    shapes = _unpacked(attrs, [None if t is None else t.static for t in types])
    past = types[3]
    state = (shapes.query[0], *shapes.value[2:3], shapes.query[3], shapes.value[3])
    if past is not None and past.static != state:
        raise ModelError(f"operand 'past_state' has shape {list(past.static)}; the specification requires {list(state)}")
    output = (*query.static[:2], attrs.q_num_heads * shapes.value[3])
    return (TensorType(query.dtype, output), TensorType(query.dtype if past is None else past.dtype, state))[: inference.outputs]


def _unpacked(attrs: LinearAttentionAttrs, shapes: list[tuple[int, ...] | None]) -> _Shapes:
    """Return the shapes with the heads as a dimension.

    Args:
        attrs: the attributes.
        shapes: those of the operands, in order; None where one is left out.

    Raises:
        ModelError: they do not fit each other.
    """
    readers, heads = attrs.q_num_heads, attrs.kv_num_heads
    if heads < 1 or readers < 1 or readers % heads:
        raise ModelError(f"q_num_heads is {readers} and kv_num_heads {heads}; the specification requires a positive multiple")
    query = shapes[0]
    assert query is not None
    if len(query) != 3:
        raise ModelError(f"operand 'query' has shape {list(query)}; the specification requires batch, time and heads")

    def split(name: str, shape: tuple[int, ...], count: int, size: int | None) -> tuple[int, ...]:
        if len(shape) != 3 or shape[:2] != query[:2] or shape[2] % count or size not in (None, shape[2] // count):
            wanted = f"a multiple of {count}" if size is None else str(count * size)
            raise ModelError(f"operand '{name}' has shape {list(shape)}; the specification requires {[*query[:2]]} and {wanted}")
        return (*shape[:2], count, shape[2] // count)

    heads_of_query = split("query", query, readers, None)
    keys = heads_of_query[3]
    key, value, _, decay, beta = (*shapes[1:], *(None,) * 3)[:5]
    assert key is not None
    assert value is not None
    rates = None if beta is None else split("beta", beta, 1 if beta[2:] == (1,) else heads, 1)[:3]
    gates = None if decay is None else split("decay", decay, heads, 1 if decay[2:] == (heads,) else keys)
    return _Shapes(heads_of_query, split("key", key, heads, keys), split("value", value, heads, None), gates, rates)


def _operands(attrs: LinearAttentionAttrs, shapes: list[tuple[int, ...] | None]) -> list[tuple[int, tuple[int, ...] | None]]:
    """Return for each operand of the recurrence which of ours it is, and its shape; None where that is as it is."""
    unpacked = _unpacked(attrs, shapes)
    found: list[tuple[int, tuple[int, ...] | None]] = [(0, unpacked.query), (1, unpacked.key), (2, unpacked.value)]
    return [*found, (4, unpacked.decay), (5, unpacked.beta), (3, None)]


def _recurrence(attrs: LinearAttentionAttrs, keys: int) -> LinearRecurrenceAttrs:
    return LinearRecurrenceAttrs(scale=attrs.scale or 1 / sqrt(keys or 1))


def _evaluate(attrs: LinearAttentionAttrs, arrays: tuple[np.ndarray | None, ...], outputs: int) -> tuple[np.ndarray, ...]:
    given = (*arrays, *(None,) * 3)[:6]
    query = given[0]
    assert query is not None
    places = _operands(attrs, [None if a is None else a.shape for a in given])
    picked = [(given[index], shape) for index, shape in places]
    operands = tuple(a if a is None or shape is None else a.reshape(shape) for a, shape in picked)
    result, *state = RECURRENCE.evaluate(_recurrence(attrs, query.shape[2] // attrs.q_num_heads), operands, outputs)
    batch, steps, readers, values = result.shape
    return (result.reshape(batch, steps, readers * values), *state)


def _build(emitter: Emitter, attrs: LinearAttentionAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Heads become a dimension, which moves nothing."""
    given = (*operands, *(None,) * 3)[:6]
    query = given[0]
    assert query is not None
    places = _operands(attrs, [None if v is None else v.type.static for v in given])
    picked = [(given[index], shape) for index, shape in places]
    inputs = [v if v is None or shape is None else reshape(emitter, v, shape) for v, shape in picked]
    result, state = emitter.results(RECURRENCE.name, inputs, 2, _recurrence(attrs, query.type.static[2] // attrs.q_num_heads))
    batch, steps, readers, values = result.type.static
    return (reshape(emitter, result, (batch, steps, readers * values)), state)


OPERATOR = Operator(
    name="LinearAttention",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, LinearAttention-27",
    attributes=LinearAttentionAttrs,
    since=27,
)

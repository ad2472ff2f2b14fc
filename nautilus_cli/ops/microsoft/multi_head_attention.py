"""MultiHeadAttention: attention of projected queries, keys and values, in all their layouts, with a cache."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I32, TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand, ranked, same_dtype, shaped
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.microsoft.attend import (
    ATTENTION_TYPES,
    MASK_FILTER,
    causal,
    check_bias,
    head_scale,
    join_heads,
    padding_bias,
    padding_shapes,
    parts,
    scores_of,
    split_heads,
    weigh,
)
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.wide import cast, reshape


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiHeadAttentionAttrs:
    """Attributes of MultiHeadAttention."""

    num_heads: int
    mask_filter_value: float = MASK_FILTER
    scale: float | None = None
    unidirectional: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """How queries, keys and values come.

    Attributes:
        batch: sequences.
        queries: of a sequence.
        keys: new ones of a sequence.
        size: of a head of queries and keys.
        value_size: of a head of values.
        form: `separate` [b, s, n * h] each; `packed` [b, s, n, 3, h]; `packed_keys` [b, t, n, 2, h] behind queries; `heads`
            [b, n, t, h] of keys and values behind queries.
    """

    batch: int
    queries: int
    keys: int
    size: int
    value_size: int
    form: str


def _layout(heads: int, q: TensorType, k: TensorType | None, v: TensorType | None) -> _Layout:
    """Return the layout that the operands' shapes say.

    Raises:
        ModelError: they say none.
    """
    if heads < 1:
        raise ModelError(f"num_heads is {heads}; the specification requires a positive number")
    if k is None:
        batch, length, *rest = ranked(q, "query", 5)
        shaped(q, "query", (batch, length, heads, 3, rest[2]))
        if v is not None:
            raise ModelError("operand 'value' is given without 'key'; the specification requires both, or all of them packed in 'query'")
        return _Layout(batch=batch, queries=length, keys=length, size=rest[2], value_size=rest[2], form="packed")
    batch, length, hidden = ranked(q, "query", 3)
    if hidden % heads:
        raise ModelError(f"num_heads is {heads} for a hidden size of {hidden}; the specification requires a divisor")
    size = hidden // heads
    shape = ranked(k, "key", 3, 4, 5)
    if len(shape) == 5:
        shaped(k, "key", (batch, shape[1], heads, 2, size))
        if v is not None:
            raise ModelError("operand 'value' is given, but 'key' has packed keys and values")
        return _Layout(batch=batch, queries=length, keys=shape[1], size=size, value_size=size, form="packed_keys")
    if v is None:
        raise ModelError("operand 'value' is missing; the specification requires it beside keys that are not packed")
    if len(shape) == 4:
        shaped(k, "key", (batch, heads, shape[2], size))
        inner = ranked(v, "value", 4)[3]
        shaped(v, "value", (batch, heads, shape[2], inner))
        return _Layout(batch=batch, queries=length, keys=shape[2], size=size, value_size=inner, form="heads")
    shaped(k, "key", (batch, shape[1], hidden))
    width = ranked(v, "value", 3)[2]
    shaped(v, "value", (batch, shape[1], width))
    if width % heads:
        raise ModelError(f"num_heads is {heads} for values of size {width}; the specification requires a divisor")
    return _Layout(batch=batch, queries=length, keys=shape[1], size=size, value_size=width // heads, form="separate")


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 10)
    attrs = inference.attrs
    q = operand(inference, 0, "query", ATTENTION_TYPES)
    k, v = (optional_operand(inference, index, name, ATTENTION_TYPES) for index, name in ((1, "key"), (2, "value")))
    found = _layout(attrs.num_heads, q, k, v)
    bias, extra = (optional_operand(inference, index, name, ATTENTION_TYPES) for index, name in ((3, "bias"), (5, "attention_bias")))
    old = [optional_operand(inference, index, name, ATTENTION_TYPES) for index, name in ((6, "past_key"), (7, "past_value"))]
    for other, name in ((k, "key"), (v, "value"), (bias, "bias"), (extra, "attention_bias"), (old[0], "past_key"), (old[1], "past_value")):
        same_dtype(q, other, name)
    shaped(bias, "bias", (attrs.num_heads * (2 * found.size + found.value_size),))
    if (old[0] is None) != (old[1] is None):
        raise ModelError("one of 'past_key' and 'past_value' is given; the specification requires both or neither")
    before = 0
    if old[0] is not None:
        if found.form == "heads":
            raise ModelError("keys of shape [batch, heads, length, size] are a cache already; beside them no 'past_key' is allowed")
        before = ranked(old[0], "past_key", 4)[2]
        shaped(old[0], "past_key", (found.batch, attrs.num_heads, before, found.size))
        shaped(old[1], "past_value", (found.batch, attrs.num_heads, before, found.value_size))
    total = before + found.keys
    mask = optional_operand(inference, 4, "key_padding_mask", (I32,))
    shaped(mask, "key_padding_mask", *padding_shapes(found.batch, found.queries, total))
    check_bias(extra, found.batch, attrs.num_heads, found.queries, total)
    for index, name in ((8, "past_sequence_length"), (9, "cache_indirection")):
        if optional_operand(inference, index, name, (I32,)) is not None:
            raise ModelError(f"operand '{name}' is given; a cache that shares its memory is not supported")
    keys, values = ((found.batch, attrs.num_heads, total, size) for size in (found.size, found.value_size))
    return (
        TensorType(q.dtype, (found.batch, found.queries, attrs.num_heads * found.value_size)),
        TensorType(q.dtype, keys),
        TensorType(q.dtype, values),
        TensorType(q.dtype, (found.batch, attrs.num_heads, found.queries, total)),
    )


def _by_heads(
    emitter: Emitter, heads: int, found: _Layout, q: Value, k: Value | None, v: Value | None, bias: Value | None
) -> tuple[Value, Value, Value]:
    """Return queries, keys and values as [b, n, s, h], their biases added."""
    hidden = heads * found.size
    biases: tuple[Value | None, ...] = (None,) * 3
    if bias is not None:
        biases = parts(emitter, bias, 0, (hidden, hidden, heads * found.value_size))
    if found.form == "packed":
        q, k, v = (reshape(emitter, part, (found.batch, found.queries, hidden)) for part in parts(emitter, q, 3, (1, 1, 1)))
    elif found.form == "packed_keys":
        assert k is not None
        k, v = (reshape(emitter, part, (found.batch, found.keys, hidden)) for part in parts(emitter, k, 3, (1, 1)))
    assert k is not None and v is not None, "the layout has them"
    sides = [q, k, v]
    for number, addend in enumerate(biases):
        if addend is not None and len(sides[number].type.shape) == 3:  # keys and values of a cache have theirs already
            sides[number] = emitter.node("Add", [sides[number], addend])
    q, k, v = (side if len(side.type.shape) == 4 else split_heads(emitter, side, heads) for side in sides)
    return q, k, v


def _build(emitter: Emitter, attrs: MultiHeadAttentionAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    q, k, v, bias, mask, extra, old_key, old_value = (*operands, *(None,) * 7)[:8]
    assert q is not None, "the shape rule has refused this"
    found = _layout(attrs.num_heads, q.type, None if k is None else k.type, None if v is None else v.type)
    q, k, v = _by_heads(emitter, attrs.num_heads, found, q, k, v, bias)
    if old_key is not None:
        k, v = (emitter.node("Concat", [before, new], axis=2) for before, new in ((old_key, k), (old_value, v)))
    total = k.type.static[2]
    biases = [] if extra is None else [extra]
    if mask is not None:
        biases.append(padding_bias(emitter, mask, found.batch, total, attrs.mask_filter_value))
    seen = causal(emitter, found.queries, total, total - found.keys) if attrs.unidirectional and upper(found.queries) > 1 else None
    scores = scores_of(emitter, q, k, scale=head_scale(attrs.scale, found.size), biases=biases, seen=seen)
    context = weigh(emitter, scores, v)
    return join_heads(emitter, context), k, v, cast(emitter, scores, q.type.dtype)


OPERATOR = composed(
    "com.microsoft::MultiHeadAttention",
    _infer,
    _build,
    source=source("MultiHeadAttention"),
    attributes=MultiHeadAttentionAttrs,
)

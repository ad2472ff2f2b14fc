"""GroupQueryAttention: heads that share keys and values, behind a cache whose fill each sequence says for itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F32, I32, I64, TensorType
from nautilus_cli.ops.checks import contents, operand, operand_count, optional_operand, ranked, same_dtype, shaped
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.microsoft.attend import (
    ATTENTION_TYPES,
    causal,
    check_bias,
    head_scale,
    join_heads,
    parts,
    scores_of,
    split_heads,
    weigh,
)
from nautilus_cli.ops.microsoft.rotary_embedding import looked_up, rotated
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.standardize import scaled_to_unit
from nautilus_cli.ops.wide import cast, reshape, scalar, widen


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupQueryAttentionAttrs:
    """Attributes of GroupQueryAttention."""

    num_heads: int
    kv_num_heads: int
    causal: int = 1
    do_rotary: int = 0
    k_norm_epsilon: float | None = None
    k_quant_type: str = "NONE"
    kv_cache_bit_width: int = 0
    local_window_size: int = -1
    q_norm_epsilon: float | None = None
    qk_norm_epsilon: float = 1e-6
    qk_output: int = 0
    rotary_interleaved: int = 0
    scale: float | None = None
    sliding_window_cache: int = 0
    smooth_softmax: int = -1
    softcap: float = 0.0
    v_quant_type: str = "NONE"


_NOT_READ = {
    "k_quant_type": ("NONE",),
    "v_quant_type": ("NONE",),
    "kv_cache_bit_width": (0,),
    "sliding_window_cache": (0,),
    "qk_output": (0,),
}
"""Attributes of which one value is supported."""

_NOT_TAKEN = ((12, "k_scale"), (13, "v_scale"), (16, "query_seqlens"))
"""Operands that are not supported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    """Letters as in `attend`; `held` is how many keys the cache has room for before, `room` afterwards."""

    batch: int
    queries: int
    size: int
    total: int
    held: int
    room: int

    @property
    def is_first(self) -> bool:
        """Whether nothing stands in the cache yet."""
        return self.queries == self.total


def _sizes(attrs: GroupQueryAttentionAttrs, q: TensorType, k: TensorType | None, past: TensorType | None, total: np.ndarray) -> _Sizes:
    """Return the sizes that operands and attributes say.

    Raises:
        ModelError: they contradict each other.
    """
    heads, groups = attrs.num_heads, attrs.kv_num_heads
    if heads < 1 or groups < 1 or heads % groups:
        raise ModelError(f"num_heads is {heads} and kv_num_heads {groups}; the specification requires the second to divide the first")
    batch, queries, width = ranked(q, "query", 3)
    columns = heads + 2 * groups if k is None else heads
    if width % columns:
        raise ModelError(f"operand 'query' has {width} columns for {columns} heads; the specification requires a multiple")
    if total.size != 1 or int(total.reshape(())) < queries:
        raise ModelError(f"total_sequence_length is {total.tolist()}; the specification requires one number of {queries} at least")
    held = 0 if past is None else ranked(past, "past_key", 4)[2]
    everything = int(total.reshape(()))
    if past is None and everything != queries:
        raise ModelError(f"total_sequence_length is {everything} for {queries} queries, but there is no 'past_key'")
    return _Sizes(batch=batch, queries=queries, size=width // columns, total=everything, held=held, room=max(held, everything))


def _check_rotary(inference: Inference, q: TensorType, found: _Sizes) -> None:
    """Check the caches of cosines and sines, and the positions."""
    cos, sin = (optional_operand(inference, index, name, ATTENTION_TYPES) for index, name in ((7, "cos_cache"), (8, "sin_cache")))
    if inference.attrs.do_rotary and (cos is None or sin is None):
        raise ModelError("do_rotary is 1, but 'cos_cache' or 'sin_cache' is missing; the specification requires both")
    if cos is not None and sin is not None:
        same_dtype(q, cos, "cos_cache")
        same_dtype(q, sin, "sin_cache")
        rows, half = ranked(cos, "cos_cache", 2)
        shaped(sin, "sin_cache", (rows, half))
        if 2 * half > found.size:
            raise ModelError(f"operand 'cos_cache' has {half} columns for heads of {found.size}; the specification allows half of that")
    places = optional_operand(inference, 9, "position_ids", (I64,))
    shaped(places, "position_ids", (found.batch, found.queries))


def _check_supported(inference: Inference) -> None:
    """Check that attributes have values that can be compiled, and that operands that cannot be are left out."""
    attrs = inference.attrs
    for name, allowed in _NOT_READ.items():
        if getattr(attrs, name) not in allowed:
            raise ModelError(f"{name} is {getattr(attrs, name)!r}, which is not supported; {allowed[0]!r} is")
    for index, name in _NOT_TAKEN:
        if optional_operand(inference, index, name) is not None:
            raise ModelError(f"operand '{name}' is given, which is not supported")
    if attrs.causal not in (0, 1) or (not attrs.causal and attrs.local_window_size > 0):
        raise ModelError(
            f"causal is {attrs.causal} and local_window_size is {attrs.local_window_size}; "
            "the specification allows 0 or 1, and a window with 1 only"
        )


def _check_norms(inference: Inference, q: TensorType, found: _Sizes) -> None:
    """Check the weights that heads are multiplied by once they are normalised."""
    norms = [optional_operand(inference, index, name, ATTENTION_TYPES) for index, name in ((14, "q_norm_weight"), (15, "k_norm_weight"))]
    if (norms[0] is None) != (norms[1] is None):
        raise ModelError("one of 'q_norm_weight' and 'k_norm_weight' is given; the specification requires both or neither")
    for norm, name in zip(norms, ("q_norm_weight", "k_norm_weight"), strict=True):
        same_dtype(q, norm, name)
        shaped(norm, name, (found.size,))


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 7, 17)
    attrs = inference.attrs
    _check_supported(inference)
    q = operand(inference, 0, "query", ATTENTION_TYPES)
    k, v, past, past_value = (
        optional_operand(inference, index, name, ATTENTION_TYPES)
        for index, name in ((1, "key"), (2, "value"), (3, "past_key"), (4, "past_value"))
    )
    for other, name in ((k, "key"), (v, "value"), (past, "past_key"), (past_value, "past_value")):
        same_dtype(q, other, name)
    if (k is None) != (v is None) or (past is None) != (past_value is None):
        raise ModelError(
            "one of 'key' and 'value', or of 'past_key' and 'past_value', is given; the specification requires both or neither"
        )
    operand(inference, 6, "total_sequence_length", (I32,))
    found = _sizes(attrs, q, k, past, contents(inference.constants, 6, "total_sequence_length"))
    for other, name in ((k, "key"), (v, "value")):
        shaped(other, name, (found.batch, found.queries, attrs.kv_num_heads * found.size))
    for other, name in ((past, "past_key"), (past_value, "past_value")):
        shaped(other, name, (found.batch, attrs.kv_num_heads, found.held, found.size))
    shaped(operand(inference, 5, "seqlens_k", (I32,)), "seqlens_k", (found.batch,), (found.batch, 1))
    _check_rotary(inference, q, found)
    extra, sink = (optional_operand(inference, index, name, ATTENTION_TYPES) for index, name in ((10, "attention_bias"), (11, "head_sink")))
    same_dtype(q, extra, "attention_bias")
    same_dtype(q, sink, "head_sink")
    check_bias(extra, found.batch, attrs.num_heads, found.queries, found.total)
    shaped(sink, "head_sink", (attrs.num_heads,))
    _check_norms(inference, q, found)
    cache = TensorType(q.dtype, (found.batch, attrs.kv_num_heads, found.room, found.size))
    return TensorType(q.dtype, (found.batch, found.queries, attrs.num_heads * found.size)), cache, cache


def _normed(emitter: Emitter, x: Value, weight: Value | None, epsilon: float) -> Value:
    """Return heads scaled to a mean square of 1, times a weight; themselves without one."""
    if weight is None:
        return x
    unit, _ = scaled_to_unit(emitter, widen(emitter, x), (3,), epsilon)
    return cast(emitter, emitter.node("Mul", [unit, widen(emitter, weight)]), x.type.dtype)


def _places(emitter: Emitter, found: _Sizes, lengths: Value) -> Value:
    """Return where each query stands in its sequence, [b or 1, s] int64."""
    ahead = np.arange(found.queries, dtype=np.int64)[None]
    if found.is_first:
        return emitter.constant(ahead)
    last = cast(emitter, reshape(emitter, lengths, (found.batch, 1)), I64)
    return emitter.node("Add", [last, emitter.constant(ahead - (found.queries - 1))])


def _cached(emitter: Emitter, found: _Sizes, past: Value | None, new: Value, places: Value) -> Value:
    """Return the cache with the new rows at their places.

    What stands behind them stays, so that a cache may be written where it lies; onnxruntime does so too where both are one buffer, and
    writes zeros there where they are not. Nobody reads it.
    """
    batch, groups, queries, size = new.type.static
    if found.is_first:
        if past is None or found.room == queries:
            return new
        return emitter.node("Concat", [new, parts(emitter, past, 2, (queries, found.room - queries))[1]], axis=2)
    assert past is not None, "the shape rule has refused this"
    if found.room > found.held:
        rest = np.zeros((batch, groups, found.room - found.held, size), new.type.dtype.numpy)
        past = emitter.node("Concat", [past, emitter.constant(rest)], axis=2)
    shape = (batch, groups, queries, 1)
    rows = [np.broadcast_to(np.arange(n).reshape(n, *(1,) * (3 - axis)), shape) for axis, n in enumerate((batch, groups))]
    known = [emitter.constant(np.ascontiguousarray(row, np.int64)) for row in rows]
    target = emitter.node("Expand", [reshape(emitter, places, (batch, 1, queries, 1)), emitter.constant(np.array(shape, np.int64))])
    return emitter.node("ScatterND", [past, emitter.node("Concat", [*known, target], axis=3), new])


def _seen(emitter: Emitter, attrs: GroupQueryAttentionAttrs, found: _Sizes, lengths: Value, places: Value) -> Value:
    """Return which keys each query sees, broadcastable to [b, n, s, t]."""
    keys = np.arange(found.total, dtype=np.int64)
    if not attrs.causal:
        last = cast(emitter, reshape(emitter, lengths, (found.batch, 1, 1, 1)), I64)
        return emitter.node("LessOrEqual", [emitter.constant(keys), last])
    if found.is_first:
        seen = causal(emitter, found.queries, found.total, 0)
        if attrs.local_window_size > 0:
            near = keys[None] > np.arange(found.queries)[:, None] - attrs.local_window_size
            seen = emitter.node("And", [seen, emitter.constant(near)])
        return seen
    own = reshape(emitter, places, (found.batch, 1, found.queries, 1))
    seen = emitter.node("LessOrEqual", [emitter.constant(keys), own])
    if attrs.local_window_size > 0:
        first = emitter.node("Greater", [emitter.constant(keys + attrs.local_window_size), own])
        seen = emitter.node("And", [seen, first])
    return seen


def _build(emitter: Emitter, attrs: GroupQueryAttentionAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    q, k, v, past, past_value, lengths, total, cos, sin, given, extra, sink, _, _, q_weight, k_weight = (*operands, *(None,) * 9)[:16]
    assert q is not None and lengths is not None and total is not None and total.constant is not None, "the shape rule has refused this"
    found = _sizes(attrs, q.type, None if k is None else k.type, None if past is None else past.type, total.constant)
    heads, groups = attrs.num_heads, attrs.kv_num_heads
    if k is None or v is None:
        q, k, v = parts(emitter, q, 2, (heads * found.size, groups * found.size, groups * found.size))
    q, k, v = split_heads(emitter, q, heads), split_heads(emitter, k, groups), split_heads(emitter, v, groups)
    q = _normed(emitter, q, q_weight, attrs.q_norm_epsilon or attrs.qk_norm_epsilon)
    k = _normed(emitter, k, k_weight, attrs.k_norm_epsilon or attrs.qk_norm_epsilon)
    places = _places(emitter, found, lengths)
    if attrs.do_rotary:
        assert cos is not None and sin is not None, "the shape rule has refused this"
        cosine, sine = (looked_up(emitter, table, places if given is None else given) for table in (cos, sin))
        q, k = (rotated(emitter, side, cosine, sine, interleaved=bool(attrs.rotary_interleaved)) for side in (q, k))
    key, value = _cached(emitter, found, past, k, places), _cached(emitter, found, past_value, v, places)
    near = [parts(emitter, c, 2, (found.total, found.room - found.total))[0] if found.room > found.total else c for c in (key, value)]
    scores = scores_of(
        emitter,
        q,
        near[0],
        scale=head_scale(attrs.scale, found.size),
        biases=[] if extra is None else [extra],
        seen=_seen(emitter, attrs, found, lengths, places),
        softcap=max(attrs.softcap, 0.0),
    )
    share = None
    if sink is not None:
        share = cast(emitter, reshape(emitter, sink, (1, heads, 1, 1)), scores.type.dtype)
    elif attrs.smooth_softmax == 1:
        share = scalar(emitter, 0, F32)
    return join_heads(emitter, weigh(emitter, scores, near[1], share)), key, value


OPERATOR = composed(
    "com.microsoft::GroupQueryAttention",
    _infer,
    _build,
    source=source("GroupQueryAttention"),
    attributes=GroupQueryAttentionAttrs,
)

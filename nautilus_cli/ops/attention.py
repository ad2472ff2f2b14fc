"""Attention: scaled dot-product attention, with caches, masks, windows and a look at its scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import same, upper
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BF16, BOOL, F16, F32, F64, I64, DType, TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand, required, same_dtype
from nautilus_cli.ops.composed import ImmediateEmitter
from nautilus_cli.ops.element_types import ALL, FLOATS, dtype_from_onnx
from nautilus_cli.ops.microsoft.attend import join_heads, split_heads
from nautilus_cli.ops.numbers import number, progression
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.reduce import reduction
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, reshape, scalar, scaled, widen

_NAMES = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")
_PRECISIONS = (F32, F16, F64, BF16)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionAttrs:
    """Attributes of Attention."""

    is_causal: int = 0
    kv_num_heads: int | None = None
    left_window_size: int = -1
    q_num_heads: int | None = None
    qk_matmul_output_mode: int = 0
    right_window_size: int = -1
    scale: float | None = None
    softcap: float = 0.0
    softmax_precision: int | None = None


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of an attention.

    Attributes:
        batch: samples.
        heads: of the queries.
        groups: heads of keys and values; neighbouring query heads share them.
        queries: length of the queries.
        keys: length of the new keys.
        past: length of the cache before them.
        key_size: of a head of queries and keys.
        value_size: of a head of values.
        has_heads: whether operands and result have the heads as a dimension.
    """

    batch: int
    heads: int
    groups: int
    queries: int
    keys: int
    past: int
    key_size: int
    value_size: int
    has_heads: bool

    @property
    def total(self) -> int:
        """Length of all keys."""
        return self.past + self.keys


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 7)
    attrs = inference.attrs
    q, k, v = (operand(inference, i, _NAMES[i], FLOATS) for i in range(3))
    mask = optional_operand(inference, 3, "attn_mask", ALL)
    past_key, past_value = (optional_operand(inference, i, _NAMES[i], FLOATS) for i in (4, 5))
    lengths = optional_operand(inference, 6, "nonpad_kv_seqlen", (I64,))
    for like, other, name in ((q, k, "K"), (q, past_key, "past_key"), (v, past_value, "past_value")):
        same_dtype(like, other, name)
    _check_attributes(attrs)
    sizes = _sizes(attrs, q.static, k.static, v.static, None if past_key is None else past_key.static)
    _check_cache(sizes, past_key, past_value, lengths)
    b, n, g, s, t = sizes.batch, sizes.heads, sizes.groups, sizes.queries, sizes.total
    if mask is not None:
        shape = mask.static
        wanted = (b, n, s, t)[4 - len(shape) :] if 1 <= len(shape) <= 4 else ()
        if not wanted or not all(map(_broadcasts, shape[:-1], wanted[:-1])) or not (upper(shape[-1] - t) <= 0 or shape[-1] == t):
            raise ModelError(
                f"operand 'attn_mask' has shape {list(shape)}; the specification requires one that broadcasts to {[b, n, s, t]}, "
                "and whose last dimension may be shorter"
            )
    y = (b, n, s, sizes.value_size) if sizes.has_heads else (b, s, n * sizes.value_size)
    keys, values = (b, g, t, sizes.key_size), (b, g, t, sizes.value_size)
    return (TensorType(q.dtype, y), TensorType(q.dtype, keys), TensorType(v.dtype, values), TensorType(q.dtype, (b, n, s, t)))


def _broadcasts(size: int, wanted: int) -> bool:
    return same(size, wanted) or same(size, 1) or size == wanted


def _check_attributes(attrs: AttentionAttrs) -> None:
    """Check attributes alone.

    Raises:
        ModelError: one is out of range.
    """
    if attrs.is_causal not in (0, 1):
        raise ModelError(f"is_causal is {attrs.is_causal}; the specification allows 0 and 1")
    if not 0 <= attrs.qk_matmul_output_mode <= 3:
        raise ModelError(f"qk_matmul_output_mode is {attrs.qk_matmul_output_mode}; the specification allows 0 to 3")
    for name, size in (("left_window_size", attrs.left_window_size), ("right_window_size", attrs.right_window_size)):
        if size < -1:
            raise ModelError(f"{name} is {size}; the specification allows -1 and what is not negative")
    if attrs.softmax_precision is not None and dtype_from_onnx(attrs.softmax_precision) not in _PRECISIONS:
        raise ModelError(f"softmax_precision is {attrs.softmax_precision}; the specification allows 1, 10, 11 and 16")


def _sizes(attrs: AttentionAttrs, q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...], past: tuple[int, ...] | None) -> Sizes:
    """Return the sizes.

    Raises:
        ModelError: shapes or numbers of heads do not fit each other.
    """
    if len(q) not in (3, 4) or not len(q) == len(k) == len(v):
        raise ModelError(f"operands have shapes {list(q)}, {list(k)} and {list(v)}; the specification requires rank 3 or 4 for all")
    heads, groups = attrs.q_num_heads, attrs.kv_num_heads
    if len(q) == 3:
        if heads is None or groups is None or heads < 1 or groups < 1:
            raise ModelError("operands have rank 3; the specification requires q_num_heads and kv_num_heads then")
        for name, shape, count in (("Q", q, heads), ("K", k, groups), ("V", v, groups)):
            if shape[2] % count:
                raise ModelError(f"operand '{name}' has shape {list(shape)}; the specification requires a multiple of {count} heads")
        q, k, v = ((s[0], count, s[1], s[2] // count) for s, count in ((q, heads), (k, groups), (v, groups)))
        has_heads = False
    else:
        if heads not in (None, q[1]) or groups not in (None, k[1]):
            raise ModelError(f"q_num_heads is {heads} and kv_num_heads {groups}, but operands of rank 4 have {q[1]} and {k[1]} heads")
        has_heads = True
    sizes = Sizes(q[0], q[1], k[1], q[2], k[2], 0 if past is None or len(past) != 4 else past[2], q[3], v[3], has_heads)
    if k != (q[0], k[1], k[2], q[3]) or v[:3] != k[:3] or k[1] < 1 or q[1] % k[1]:
        raise ModelError(
            f"queries of shape {list(q)}, keys of {list(k)} and values of {list(v)} (batch, heads, length, size) do not fit; the "
            "specification requires one batch, keys as wide as queries, as many values as keys, and a multiple of their heads for queries"
        )
    return sizes


def _check_cache(sizes: Sizes, key: TensorType | None, value: TensorType | None, lengths: TensorType | None) -> None:
    """Check the operands that belong to a cache.

    Raises:
        ModelError: they do not fit.
    """
    if (key is None) != (value is None):
        raise ModelError("one of the operands 'past_key' and 'past_value' is missing; the specification requires both or none")
    b, g, p = sizes.batch, sizes.groups, sizes.past
    for name, found, size in (("past_key", key, sizes.key_size), ("past_value", value, sizes.value_size)):
        if found is not None and found.static != (b, g, p, size):
            raise ModelError(f"operand '{name}' has shape {list(found.static)}; the specification requires {[b, g, p, size]}")
    if lengths is not None and key is not None:
        raise ModelError("operand 'nonpad_kv_seqlen' is given beside 'past_key'; the specification allows one of the two")
    if lengths is not None and lengths.static != (b,):
        raise ModelError(f"operand 'nonpad_kv_seqlen' has shape {list(lengths.static)}; the specification requires {[b]}")


def _build(emitter: Emitter, attrs: AttentionAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    q, k, v, mask, past_key, past_value, lengths = (*operands, *(None,) * 4)[:7]
    assert q is not None
    assert k is not None
    assert v is not None
    sizes = _sizes(attrs, q.type.static, k.type.static, v.type.static, None if past_key is None else past_key.type.static)
    if not sizes.has_heads:
        q, k, v = (split_heads(emitter, x, count) for x, count in ((q, sizes.heads), (k, sizes.groups), (v, sizes.groups)))
    keys = k if past_key is None else emitter.node("Concat", [past_key, k], axis=2)
    values = v if past_value is None else emitter.node("Concat", [past_value, v], axis=2)
    raw = _scores(emitter, attrs, sizes, q, keys)
    bent = _softcapped(emitter, attrs, raw)
    biased = _masked(emitter, bent, _allowed(emitter, attrs, sizes, mask, lengths), _bias(emitter, sizes, mask, bent.type.dtype))
    powers, sums = _powers(emitter, attrs, biased, values.type.dtype)
    y = _weighted(emitter, sizes, powers, sums, values, q.type.dtype)
    shown = (raw, bent, biased, powers)[attrs.qk_matmul_output_mode]
    if shown is powers:
        shown = emitter.node("Div", [cast(emitter, powers, sums.type.dtype), sums])
    return (y if sizes.has_heads else join_heads(emitter, y), keys, values, cast(emitter, shown, q.type.dtype))


def _scores(emitter: Emitter, attrs: AttentionAttrs, sizes: Sizes, q: Value, keys: Value) -> Value:
    """Return the scaled products of queries and keys, in the compute type; query heads that share keys are rows of one product."""
    b, n, g, s, t, h = sizes.batch, sizes.heads, sizes.groups, sizes.queries, sizes.total, sizes.key_size
    scale = attrs.scale if attrs.scale is not None else (h or 1) ** -0.5
    rows = reshape(emitter, scaled(emitter, q, scale), (b, g, n // g * s, h))
    product = emitter.node("MatMul", [rows, emitter.node("Transpose", [keys], perm=(0, 1, 3, 2))])
    return reshape(emitter, widen(emitter, product), (b, n, s, t))


def _softcapped(emitter: Emitter, attrs: AttentionAttrs, scores: Value) -> Value:
    """Return the scores bent below the cap."""
    if not attrs.softcap > 0:
        return scores
    cap = scalar(emitter, attrs.softcap, scores.type.dtype)
    return emitter.node("Mul", [emitter.node("Tanh", [emitter.node("Div", [scores, cap])]), cap])


def _allowed(emitter: Emitter, attrs: AttentionAttrs, sizes: Sizes, mask: Value | None, lengths: Value | None) -> Value | None:
    """Return which keys each query may see, broadcastable to [batch, heads, queries, keys]; None for all."""
    found: list[Value] = []
    columns = progression(emitter, sizes.total)
    # Positions of the queries among the keys: behind the past, or so that the last query is the last key that counts; not both. A table
    # of queries by keys is made of the two, and never here: it may be larger than memory.
    rows = reshape(emitter, progression(emitter, sizes.queries), (sizes.queries, 1))
    if not same(sizes.past, 0):
        rows = emitter.node("Add", [rows, number(emitter, sizes.past, I64)])
    if lengths is not None:
        ends = reshape(emitter, lengths, (sizes.batch, 1, 1, 1))
        found.append(emitter.node("Less", [columns, ends]))
        rows = emitter.node("Add", [rows, emitter.node("Sub", [ends, number(emitter, sizes.queries, I64)])])
    # How far behind a query the last key is that it sees, and the first one.
    last = min((n for n in (0 if attrs.is_causal else -1, attrs.right_window_size) if n >= 0), default=None)
    first = -attrs.left_window_size if attrs.left_window_size >= 0 else None
    for op, bound in (("LessOrEqual", last), ("GreaterOrEqual", first)):
        if bound is not None:
            found.append(emitter.node(op, [columns, emitter.node("Add", [rows, scalar(emitter, bound, I64)])]))
    if mask is not None:
        seen = mask if mask.type.dtype == BOOL else None
        if mask.type.dtype.is_float:  # as the specification has it: a query whose biases are all -inf sees nothing, whatever its scores are
            least = scalar(emitter, -np.inf, mask.type.dtype)
            seen = emitter.node("Not", [emitter.node("Equal", [mask, least])])
        if seen is not None:
            found.append(_extended(emitter, sizes, seen, False))
        elif not same(mask.type.static[-1], sizes.total):
            found.append(emitter.node("Less", [columns, number(emitter, mask.type.static[-1], I64)]))
    return _all(emitter, found)


def _all(emitter: Emitter, conditions: Sequence[Value]) -> Value | None:
    """Return where all conditions hold; None where there are none."""
    result: Value | None = None
    for condition in conditions:
        result = condition if result is None else emitter.node("And", [result, condition])
    return result


def _bias(emitter: Emitter, sizes: Sizes, mask: Value | None, dtype: DType) -> Value | None:
    """Return what a mask of numbers adds to the scores."""
    if mask is None or mask.type.dtype == BOOL:
        return None
    return _extended(emitter, sizes, cast(emitter, mask, dtype), 0)


def _extended(emitter: Emitter, sizes: Sizes, mask: Value, fill: float) -> Value:
    """Return a mask whose last dimension is as long as the keys."""
    *rest, known = mask.type.static
    if same(known, sizes.total):
        return mask
    behind = emitter.node("Expand", [scalar(emitter, fill, mask.type.dtype), emitter.sizes((*rest, sizes.total - known))])
    return emitter.node("Concat", [mask, behind], axis=len(rest))


def _masked(emitter: Emitter, scores: Value, allowed: Value | None, bias: Value | None) -> Value:
    """Return the scores with a bias, and -inf for keys that a query may not see, whatever stands there."""
    if bias is not None:
        scores = emitter.node("Add", [scores, bias])
    return scores if allowed is None else emitter.node("Where", [allowed, scores, scalar(emitter, -np.inf, scores.type.dtype)])


def _powers(emitter: Emitter, attrs: AttentionAttrs, scores: Value, dtype: DType) -> tuple[Value, Value]:
    """Return e to the scores, the greatest of each row as 0, in DTYPE, and the sum of each row; zeros, and one, for a row without keys.

    What is summed is what was rounded, so that the weights of a row are one together.
    """
    if attrs.softmax_precision is not None:
        scores = widen(emitter, cast(emitter, scores, dtype_from_onnx(attrs.softmax_precision)))
    stage = scores.type.dtype
    if same(scores.type.static[-1], 0):
        return cast(emitter, scores, dtype), scalar(emitter, 1, stage)
    top = reduction(emitter, "ReduceMax", scores, (3,))
    is_empty = emitter.node("Equal", [top, scalar(emitter, -np.inf, stage)])
    top = emitter.node("Where", [is_empty, scalar(emitter, 0, stage), top])
    powers = cast(emitter, emitter.node("Exp", [emitter.node("Sub", [scores, top])]), dtype)
    sums = reduction(emitter, "ReduceSum", cast(emitter, powers, stage), (3,))
    return powers, emitter.node("Where", [is_empty, scalar(emitter, 1, stage), sums])


def _weighted(emitter: Emitter, sizes: Sizes, powers: Value, sums: Value, values: Value, dtype: DType) -> Value:
    """Return the mean of the values, weighted by the powers.

    The sum divides the product, not the powers: then the greatest of them is 1 exactly, also in 16 bits, and there is less to divide.
    """
    b, n, g, s, t = sizes.batch, sizes.heads, sizes.groups, sizes.queries, sizes.total
    rows = reshape(emitter, powers, (b, g, n // g * s, t))
    product = widen(emitter, emitter.node("MatMul", [rows, values]))
    split = reshape(emitter, product, (b, n, s, sizes.value_size))
    return cast(emitter, emitter.node("Div", [split, cast(emitter, sums, split.type.dtype)]), dtype)


def _evaluate(attrs: AttentionAttrs, arrays: tuple[np.ndarray | None, ...], outputs: int) -> tuple[np.ndarray, ...]:
    """The same steps in the compute type, rounded once."""
    emitter = ImmediateEmitter()
    q, _, v = required(arrays[:3])
    wide = (None if a is None else emitter.constant(widened(a)) for a in arrays)
    results = _build(emitter, attrs, tuple(wide))[:outputs]
    found = (value.constant for value in results if value is not None and value.constant is not None)
    return tuple(stored(array, v if place == 2 else q) for place, array in enumerate(found))


OPERATOR = Operator(
    name="Attention",
    infer=lambda inference: _infer(inference)[: inference.outputs],
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, Attention-25",
    attributes=AttentionAttrs,
    since=23,
)

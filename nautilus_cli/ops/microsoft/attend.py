"""Scaled dot-product attention in steps: what the attention operators of this package share.

Letters: b batch, n heads, s queries, t keys, h size of a head.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import is_symbolic
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BF16, F16, F32, I32, I64, TensorType
from nautilus_cli.ops.numbers import number, progression
from nautilus_cli.ops.reduce import reduction
from nautilus_cli.ops.spec import Emitter
from nautilus_cli.ops.split import SplitAttrs
from nautilus_cli.ops.wide import cast, reshape, scalar, scaled, widen

ATTENTION_TYPES = (F32, F16, BF16)

MASK_FILTER = -10000.0
"""What is added to the score of a key that a mask leaves out. Source: ContribOperators.md, com.microsoft::Attention, mask_filter_value."""


def split_heads(emitter: Emitter, x: Value, heads: int) -> Value:
    """Return [b, s, n * h] as [b, n, s, h]."""
    batch, length, hidden = x.type.static
    return emitter.node("Transpose", [reshape(emitter, x, (batch, length, heads, hidden // heads))], perm=(0, 2, 1, 3))


def join_heads(emitter: Emitter, x: Value) -> Value:
    """Return [b, n, s, h] as [b, s, n * h]."""
    batch, heads, length, size = x.type.static
    return reshape(emitter, emitter.node("Transpose", [x], perm=(0, 2, 1, 3)), (batch, length, heads * size))


def parts(emitter: Emitter, x: Value, axis: int, sizes: Sequence[int]) -> tuple[Value, ...]:
    """Return consecutive slices of these SIZES along AXIS."""
    return emitter.results("Split", [x, emitter.sizes(sizes)], len(sizes), SplitAttrs(axis=axis))


def head_scale(scale: float | None, size: int) -> float:
    """Return the factor of the scores: 0 or nothing stands for 1 / sqrt(h)."""
    return scale or size**-0.5


def padding_shapes(batch: int, queries: int, total: int) -> tuple[tuple[int, ...], ...]:
    """Return the shapes that a mask of keys may have: lengths, ends and starts, lengths and offsets, by key, by query and key."""
    return (batch,), (2 * batch,), (3 * batch + 2,), (batch, total), (batch, queries, total)


def padding_bias(emitter: Emitter, mask: Value, batch: int, total: int, filter_value: float) -> Value:
    """Return what a mask adds to the scores, broadcastable to [b, n, s, t]: 0 for a key that counts, FILTER_VALUE for another."""
    shape = mask.type.static
    if len(shape) == 1:
        keys = progression(emitter, total, I32)
        ends = parts(emitter, mask, 0, (batch, shape[0] - batch))[0] if shape[0] > batch else mask
        keep = emitter.node("Less", [keys, reshape(emitter, ends, (batch, 1, 1, 1))])
        if shape[0] == 2 * batch:
            starts = parts(emitter, mask, 0, (batch, batch))[1]
            keep = emitter.node("And", [keep, emitter.node("GreaterOrEqual", [keys, reshape(emitter, starts, (batch, 1, 1, 1))])])
    else:
        keep = emitter.node("Greater", [mask, emitter.constant(np.array(0, np.int32))])
        keep = reshape(emitter, keep, (shape[0], 1, 1, shape[1]) if len(shape) == 2 else (shape[0], 1, *shape[-2:]))
    return emitter.node("Where", [keep, scalar(emitter, 0, F32), scalar(emitter, filter_value, F32)])


def causal(emitter: Emitter, queries: int, total: int, past: int) -> Value:
    """Return which keys each query sees, [s, t]: the first query stands behind PAST keys, and sees these and its own."""
    if not any(map(is_symbolic, (queries, total, past))):
        return emitter.constant(np.tri(queries, total, past, dtype=np.bool_))
    rows = emitter.node("Add", [reshape(emitter, progression(emitter, queries), (queries, 1)), number(emitter, past, I64)])
    return emitter.node("LessOrEqual", [progression(emitter, total), rows])


def check_bias(found: TensorType | None, batch: int, heads: int, queries: int, total: int) -> None:
    """Check the shape of an attention bias.

    Raises:
        ModelError: it does not broadcast to the scores along batch and heads.
    """
    if found is None:
        return
    shape = found.static
    if len(shape) != 4 or shape[0] not in (1, batch) or shape[1] not in (1, heads) or shape[2:] != (queries, total):
        raise ModelError(
            f"operand 'attention_bias' has shape {list(shape)}; the specification requires [{batch} or 1, {heads} or 1, {queries}, {total}]"
        )


def scores_of(
    emitter: Emitter, q: Value, k: Value, *, scale: float, biases: Sequence[Value] = (), seen: Value | None = None, softcap: float = 0
) -> Value:
    """Return the scores [b, n, s, t] in the compute type.

    Args:
        emitter: where to.
        q: queries, [b, n, s, h].
        k: keys, [b, m, t, h], where m divides n: neighbouring heads share keys.
        scale: factor of the products.
        biases: added to the scores.
        seen: which scores count; the others become the least number.
        softcap: scores are bent below this by a hyperbolic tangent; 0 for none.
    """
    batch, heads, queries, size = q.type.static
    _, groups, total, _ = k.type.static
    # The queries are scaled, not the products: that joins the projection they come from, and 16-bit products do not overflow.
    q = reshape(emitter, scaled(emitter, q, scale), (batch, groups, heads // groups * queries, size))
    product = emitter.node("MatMul", [q, emitter.node("Transpose", [k], perm=(0, 1, 3, 2))])
    scores = widen(emitter, reshape(emitter, product, (batch, heads, queries, total)))
    if softcap:
        bent = emitter.node("Tanh", [emitter.node("Mul", [scores, scalar(emitter, 1 / softcap, scores.type.dtype)])])
        scores = emitter.node("Mul", [bent, scalar(emitter, softcap, scores.type.dtype)])
    for bias in biases:
        scores = emitter.node("Add", [scores, cast(emitter, bias, scores.type.dtype)])
    if seen is not None:
        least = scalar(emitter, float(np.finfo(np.float32).min), scores.type.dtype)
        scores = emitter.node("Where", [seen, scores, least])
    return scores


def weigh(emitter: Emitter, scores: Value, v: Value, sink: Value | None = None) -> Value:
    """Return the values [b, m, t, h] weighted by the softmax of scores [b, n, s, t]: [b, n, s, h].

    SINK, broadcastable to [b, n, s, 1], is a score more that takes its share and has no value.
    """
    if sink is None:
        weights = emitter.node("Softmax", [scores], axis=-1)
    else:
        top = emitter.node("Max", [reduction(emitter, "ReduceMax", scores, (3,)), sink])
        powers = emitter.node("Exp", [emitter.node("Sub", [scores, top])])
        rest = emitter.node("Exp", [emitter.node("Sub", [sink, top])])
        weights = emitter.node("Div", [powers, emitter.node("Add", [reduction(emitter, "ReduceSum", powers, (3,)), rest])])
    batch, heads, queries, total = scores.type.static
    _, groups, _, size = v.type.static
    weights = reshape(emitter, cast(emitter, weights, v.type.dtype), (batch, groups, heads // groups * queries, total))
    return reshape(emitter, emitter.node("MatMul", [weights, v]), (batch, heads, queries, size))

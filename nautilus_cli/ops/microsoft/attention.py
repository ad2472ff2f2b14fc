"""Attention of com.microsoft: input projection, self-attention with a mask, and a cache of keys and values."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import lower, same, upper
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
from nautilus_cli.ops.wide import reshape


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionAttrs:
    """Attributes of Attention."""

    num_heads: int
    do_rotary: int = 0
    mask_filter_value: float = MASK_FILTER
    past_present_share_buffer: int = 0
    qkv_hidden_sizes: tuple[int, ...] | None = None
    rotary_embedding_dim: int = 0
    scale: float | None = None
    unidirectional: int = 0


def _hidden_sizes(attrs: AttentionAttrs, width: int) -> tuple[int, int, int]:
    """Return the hidden sizes of queries, keys and values, which the projection has side by side.

    Raises:
        ModelError: they do not add up, are no multiples of the number of heads, or queries and keys differ.
    """
    sizes = attrs.qkv_hidden_sizes or (width // 3,) * 3
    if len(sizes) != 3 or sum(sizes) != width or min(sizes) < 1 or sizes[0] != sizes[1]:
        raise ModelError(
            f"the weights have {width} columns and qkv_hidden_sizes is {list(sizes)}; "
            "the specification requires three sizes that add up to the columns, the first two equal"
        )
    if attrs.num_heads < 1 or any(size % attrs.num_heads for size in sizes):
        raise ModelError(f"num_heads is {attrs.num_heads} for hidden sizes {list(sizes)}; the specification requires a divisor")
    return sizes[0], sizes[1], sizes[2]


def _is_dummy(mask: TensorType, batch: int, total: int) -> bool:
    """Whether a mask stands for none: one number for all keys. Source: onnxruntime 1.32, AttentionBase::CheckInputs."""
    return lower(total) > 1 and len(mask.static) == 2 and same(mask.static[1], 1) and (same(mask.static[0], 1) or mask.static[0] == batch)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 7)
    attrs = inference.attrs
    x, weights = operand(inference, 0, "input", ATTENTION_TYPES), operand(inference, 1, "weights", ATTENTION_TYPES)
    same_dtype(x, weights, "weights")
    batch, length, inner = ranked(x, "input", 3)
    width = ranked(weights, "weights", 2)[1]
    shaped(weights, "weights", (inner, width))
    hidden, _, values = _hidden_sizes(attrs, width)
    bias = optional_operand(inference, 2, "bias", ATTENTION_TYPES)
    same_dtype(x, bias, "bias")
    shaped(bias, "bias", (width,))
    if attrs.do_rotary:
        raise ModelError("do_rotary is 1, which is not supported", hint="Export the rotary embedding as nodes of its own.")
    if attrs.past_present_share_buffer:
        raise ModelError("past_present_share_buffer is 1, which is not supported", hint="Export the model with a growing cache.")
    past = optional_operand(inference, 4, "past", ATTENTION_TYPES)
    same_dtype(x, past, "past")
    size, before = hidden // attrs.num_heads, 0
    if past is not None:
        if values != hidden:
            raise ModelError(f"hidden sizes are {hidden} and {values}; with 'past' the specification requires equal ones")
        before = ranked(past, "past", 5)[3]
        shaped(past, "past", (2, batch, attrs.num_heads, before, size))
    total = before + length
    mask = optional_operand(inference, 3, "mask_index", (I32,))
    if mask is not None and not _is_dummy(mask, batch, total):
        square = mask.static[-1:] * 2 if len(mask.shape) == 4 and mask.static[-1] >= total else (total, total)
        shaped(mask, "mask_index", *padding_shapes(batch, length, total), (batch, 1, *square))
    extra = optional_operand(inference, 5, "attention_bias", ATTENTION_TYPES)
    same_dtype(x, extra, "attention_bias")
    check_bias(extra, batch, attrs.num_heads, length, total)
    if optional_operand(inference, 6, "past_sequence_length", (I32,)) is not None:
        raise ModelError("operand 'past_sequence_length' is given; it belongs to past_present_share_buffer, which is not supported")
    results = (TensorType(x.dtype, (batch, length, values)),)
    if inference.outputs > 1 and values != hidden:
        raise ModelError(f"hidden sizes are {hidden} and {values}; with 'present' the specification requires equal ones")
    return (*results, TensorType(x.dtype, (2, batch, attrs.num_heads, total, size)))


def _build(emitter: Emitter, attrs: AttentionAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, weights, bias, mask, past, extra, _ = (*operands, *(None,) * 5)[:7]
    assert x is not None and weights is not None, "the shape rule has refused this"
    batch, length, _ = x.type.static
    projected = emitter.node("MatMul", [x, weights])
    if bias is not None:
        projected = emitter.node("Add", [projected, bias])
    sizes = _hidden_sizes(attrs, weights.type.static[1])
    q, k, v = (split_heads(emitter, part, attrs.num_heads) for part in parts(emitter, projected, 2, sizes))
    if past is not None:
        old = [reshape(emitter, part, part.type.static[1:]) for part in parts(emitter, past, 0, (1, 1))]
        k, v = (emitter.node("Concat", [before, new], axis=2) for before, new in zip(old, (k, v), strict=True))
    total = k.type.static[2]
    biases = [] if extra is None else [extra]
    if mask is not None and not _is_dummy(mask.type, batch, total):
        if len(mask.type.shape) == 4:
            side = mask.type.static[-1]
            rows = parts(emitter, mask, 2, (total - length, length, side - total))[1]
            mask = reshape(emitter, parts(emitter, rows, 3, (total, side - total))[0], (batch, length, total))
        biases.append(padding_bias(emitter, mask, batch, total, attrs.mask_filter_value))
    seen = causal(emitter, length, total, total - length) if attrs.unidirectional and upper(length) > 1 else None
    scale = head_scale(attrs.scale, q.type.static[3])
    context = weigh(emitter, scores_of(emitter, q, k, scale=scale, biases=biases, seen=seen), v)
    result = join_heads(emitter, context)
    if k.type != v.type:
        return (result,)
    return result, emitter.node("Concat", [reshape(emitter, part, (1, *part.type.static)) for part in (k, v)], axis=0)


OPERATOR = composed("com.microsoft::Attention", _infer, _build, source=source("Attention"), attributes=AttentionAttrs)

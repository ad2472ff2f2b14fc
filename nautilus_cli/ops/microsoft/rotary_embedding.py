"""RotaryEmbedding of com.microsoft: pairs of elements rotated by an angle that grows with the position."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import operand, operand_count, ranked, required, same_dtype, shaped
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.microsoft.attend import ATTENTION_TYPES, join_heads, parts, split_heads
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.numbers import progression
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.wide import cast, reshape, widen


@dataclass(frozen=True, slots=True)
class RotaryEmbeddingAttrs:
    """Attributes of RotaryEmbedding; `scale` means nothing to onnxruntime's kernels."""

    interleaved: int = 0
    is_packed_batching: int = 0
    num_heads: int = 0
    rotary_embedding_dim: int = 0
    scale: float = 1.0


def _heads(attrs: RotaryEmbeddingAttrs, x: TensorType, half: int) -> tuple[int, int]:
    """Return the number of heads and the size of one.

    Raises:
        ModelError: the hidden size does not split into heads.
    """
    if len(x.shape) == 4:
        return x.static[1], x.static[3]
    hidden = x.static[2]
    if attrs.rotary_embedding_dim and not attrs.num_heads:
        raise ModelError("num_heads is missing; with rotary_embedding_dim the specification requires it")
    heads = attrs.num_heads or hidden // max(2 * half, 1)
    if heads < 1 or hidden % heads:
        raise ModelError(f"a hidden size of {hidden} does not split into {heads} heads")
    return heads, hidden // heads


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 4, 4)
    attrs = inference.attrs
    x, places = operand(inference, 0, "input", ATTENTION_TYPES), operand(inference, 1, "position_ids", (I64,))
    shape = ranked(x, "input", 3, 4)
    batch, length = shape[0], shape[-2]
    rows, half = ranked(operand(inference, 2, "cos_cache", ATTENTION_TYPES), "cos_cache", 2)
    for index, name in ((2, "cos_cache"), (3, "sin_cache")):
        table = operand(inference, index, name, ATTENTION_TYPES)
        same_dtype(x, table, name)
        shaped(table, name, (rows, half))
    shaped(places, "position_ids", (1,), (batch, length))
    if attrs.is_packed_batching:
        raise ModelError("is_packed_batching is 1, which is not supported")
    _, size = _heads(attrs, x, half)
    if 2 * half > size or (attrs.rotary_embedding_dim and attrs.rotary_embedding_dim != 2 * half):
        raise ModelError(
            f"rotary_embedding_dim is {attrs.rotary_embedding_dim} for heads of {size} and caches of {half} columns; "
            "the specification requires half of it as columns, and 0 stands for the whole head"
        )
    return (x,)


def rotated(emitter: Emitter, x: Value, cos: Value, sin: Value, *, interleaved: bool) -> Value:
    """Rotate the first elements of each head, in the compute type.

    Shapes:
        x: [b, n, s, h]. cos, sin: [b or 1, 1, s, r], where 2 r elements of a head are rotated.
    """
    batch, heads, length, size = x.type.static
    half = cos.type.static[-1]
    head, *rest = parts(emitter, x, 3, (2 * half, size - 2 * half)) if size > 2 * half else (x,)
    wide, cosine, sine = (widen(emitter, value) for value in (head, cos, sin))
    if interleaved:
        pairs = parts(emitter, reshape(emitter, wide, (batch, heads, length, half, 2)), 4, (1, 1))
        real, imaginary = (reshape(emitter, part, (batch, heads, length, half)) for part in pairs)
    else:
        real, imaginary = parts(emitter, wide, 3, (half, half))
    turned = [
        emitter.node("Sub", [emitter.node("Mul", [real, cosine]), emitter.node("Mul", [imaginary, sine])]),
        emitter.node("Add", [emitter.node("Mul", [real, sine]), emitter.node("Mul", [imaginary, cosine])]),
    ]
    if interleaved:
        turned = [reshape(emitter, part, (batch, heads, length, half, 1)) for part in turned]
    joined = reshape(emitter, emitter.node("Concat", turned, axis=len(turned[0].type.shape) - 1), (batch, heads, length, 2 * half))
    narrow = cast(emitter, joined, x.type.dtype)
    return emitter.node("Concat", [narrow, *rest], axis=3) if rest else narrow


def looked_up(emitter: Emitter, table: Value, places: Value) -> Value:
    """Return the rows of a cache of cosines or sines at places [b or 1, s]: [b or 1, 1, s, r]."""
    found = emitter.node("Gather", [table, places])
    batch, length, half = found.type.static
    return reshape(emitter, found, (batch, 1, length, half))


def _build(emitter: Emitter, attrs: RotaryEmbeddingAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, places, cos, sin = required(operands)
    heads, _ = _heads(attrs, x.type, cos.type.static[1])
    by_head = x if len(x.type.shape) == 4 else split_heads(emitter, x, heads)
    length = by_head.type.static[2]
    if len(places.type.shape) == 1:  # where the first element stands
        places = reshape(emitter, emitter.node("Add", [places, progression(emitter, length)]), (1, length))
    cos, sin = (looked_up(emitter, table, places) for table in (cos, sin))
    result = rotated(emitter, by_head, cos, sin, interleaved=bool(attrs.interleaved))
    return (result if len(x.type.shape) == 4 else join_heads(emitter, result),)


OPERATOR = composed("com.microsoft::RotaryEmbedding", _infer, _build, source=source("RotaryEmbedding"), attributes=RotaryEmbeddingAttrs)

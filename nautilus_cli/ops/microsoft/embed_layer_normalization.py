"""EmbedLayerNormalization: word, position and segment embeddings looked up, added and normalised; BERT's first layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F16, F32, I32, TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand, ranked, same_dtype, shaped
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.numbers import progression
from nautilus_cli.ops.reduce import reduction
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.standardize import standardize
from nautilus_cli.ops.wide import cast, scalar, widen

_ALLOWED = (F32, F16)


@dataclass(frozen=True, slots=True)
class EmbedLayerNormalizationAttrs:
    """Attributes of EmbedLayerNormalization; `mask_index_type` only says which results there are."""

    epsilon: float = 1e-12
    mask_index_type: int | None = None


def _table(inference: Inference, index: int, name: str, hidden: int | None) -> TensorType:
    """Return the type of an embedding table of HIDDEN columns."""
    found = operand(inference, index, name, _ALLOWED)
    rows, columns = ranked(found, name, 2)
    shaped(found, name, (rows, columns if hidden is None else hidden))
    return found


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 7, 9)
    ids, segments = operand(inference, 0, "input_ids", (I32,)), optional_operand(inference, 1, "segment_ids", (I32,))
    batch, length = ranked(ids, "input_ids", 2)
    words = _table(inference, 2, "word_embedding", None)
    hidden = words.static[1]
    positions = _table(inference, 3, "position_embedding", hidden)
    same_dtype(words, positions, "position_embedding")
    table = optional_operand(inference, 4, "segment_embedding", _ALLOWED)
    if (segments is None) != (table is None):
        raise ModelError("one of 'segment_ids' and 'segment_embedding' is given; the specification requires both or neither")
    if table is not None:
        same_dtype(words, _table(inference, 4, "segment_embedding", hidden), "segment_embedding")
    for index, name in ((5, "gamma"), (6, "beta")):
        vector = operand(inference, index, name, _ALLOWED)
        same_dtype(words, vector, name)
        shaped(vector, name, (hidden,))
    mask, places = optional_operand(inference, 7, "mask", (I32,)), optional_operand(inference, 8, "position_ids", (I32,))
    shaped(segments, "segment_ids", (batch, length))
    shaped(mask, "mask", (batch, length))
    shaped(places, "position_ids", (batch, length), (1, length))
    if places is None and positions.static[0] < length:
        raise ModelError(f"operand 'position_embedding' has {positions.static[0]} rows for sequences of {length}")
    result = TensorType(words.dtype, (batch, length, hidden))
    return result, TensorType(I32, (batch,)), result


def _build(emitter: Emitter, attrs: EmbedLayerNormalizationAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    ids, segments, words, positions, table, gamma, beta, mask, places = (*operands, None, None)[:9]
    assert ids is not None and words is not None and gamma is not None and beta is not None, "the shape rule has refused this"
    batch, length = ids.type.static
    if places is None:
        places = progression(emitter, length, I32)
    total = widen(emitter, emitter.node("Gather", [words, ids]))
    total = emitter.node("Add", [total, widen(emitter, emitter.node("Gather", [positions, places]))])
    if table is not None:
        total = emitter.node("Add", [total, widen(emitter, emitter.node("Gather", [table, segments]))])
    unit, _, _ = standardize(emitter, total, (2,), attrs.epsilon)
    result = emitter.node("Add", [emitter.node("Mul", [unit, widen(emitter, gamma)]), widen(emitter, beta)])
    dtype = words.type.dtype
    if mask is None:
        count = emitter.node("Expand", [scalar(emitter, 0, I32), emitter.sizes([batch])])
    else:
        # The number of ones: where the first zero stands in a mask of ones and then zeros.
        ones = emitter.node("Equal", [mask, emitter.constant(np.array(1, np.int32))])
        count = reduction(emitter, "ReduceSum", cast(emitter, ones, I32), (1,), keepdims=0)
    return cast(emitter, result, dtype), count, cast(emitter, total, dtype)


OPERATOR = composed(
    "com.microsoft::EmbedLayerNormalization",
    _infer,
    _build,
    source=source("EmbedLayerNormalization"),
    attributes=EmbedLayerNormalizationAttrs,
)

"""QEmbedLayerNormalization: the sum of embeddings from quantised tables, normalised by quantised vectors."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F32, I32, TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand, single
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.microsoft.embed_layer_normalization import OPERATOR as EMBED
from nautilus_cli.ops.microsoft.embed_layer_normalization import EmbedLayerNormalizationAttrs
from nautilus_cli.ops.microsoft.qlinear import BYTES
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.numbers import progression
from nautilus_cli.ops.quantization import real
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.wide import reshape

_TENSORS = {2: "word_embedding", 3: "position_embedding", 4: "segment_embedding", 5: "gamma", 6: "beta"}
"""The quantised operands; six places behind each stands its scale, eleven behind its zero point."""

_SCALE, _ZERO_POINT = 6, 11


@dataclass(frozen=True, slots=True)
class QEmbedLayerNormalizationAttrs:
    """Attributes of QEmbedLayerNormalization."""

    epsilon: float = 9.999999960041972e-13


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    """What remains once all are real numbers is for the rule of EmbedLayerNormalization."""
    operand_count(inference, 18, 18)
    types: list[TensorType | None] = [operand(inference, 0, "input_ids", (I32,)), optional_operand(inference, 1, "segment_ids", (I32,))]
    for place, name in _TENSORS.items():
        find = optional_operand if place == 4 else operand
        found, scale = find(inference, place, f"{name}_quant", BYTES), find(inference, place + _SCALE, f"{name}_scale", (F32,))
        zero_point = find(inference, place + _ZERO_POINT, f"{name}_zero_point", BYTES if found is None else (found.dtype,))
        for parameter, label in ((scale, f"{name}_scale"), (zero_point, f"{name}_zero_point")):
            if found is not None and parameter is None:
                raise ModelError(f"operand '{label}' is missing; the specification requires it with '{name}_quant'")
            if parameter is not None:
                single(parameter, label)
        types.append(None if found is None else TensorType(F32, found.shape))
    types.append(optional_operand(inference, 7, "mask", (I32,)))
    return EMBED.infer(Inference(EmbedLayerNormalizationAttrs(), tuple(types), (None,) * len(types), 2))[:2]


def _build(emitter: Emitter, attrs: QEmbedLayerNormalizationAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Only the rows that are looked up become real numbers: as tables of their own, in which row i is that of place i."""
    ids, segments, mask = operands[0], operands[1], operands[7]
    assert ids is not None
    batch, length = ids.type.static
    reals: list[Value | None] = []
    for place in _TENSORS:
        value, scale, zero_point = operands[place], operands[place + _SCALE], operands[place + _ZERO_POINT]
        if value is None:
            reals.append(None)
            continue
        assert scale is not None and zero_point is not None
        if place in (2, 4):
            rows = emitter.node("Gather", [value, ids if place == 2 else segments])
            value = reshape(emitter, rows, (batch * length, value.type.static[1]))
        reals.append(real(emitter, value, reshape(emitter, scale, ()), reshape(emitter, zero_point, ()), F32))
    words, positions, table, gamma, beta = reals
    places = reshape(emitter, progression(emitter, batch * length, I32), (batch, length))
    found = emitter.results(
        EMBED.name,
        [places, None if table is None else places, words, positions, table, gamma, beta, mask],
        2,
        EmbedLayerNormalizationAttrs(epsilon=attrs.epsilon),
    )
    return found[:2]


OPERATOR = composed(
    "com.microsoft::QEmbedLayerNormalization",
    _infer,
    _build,
    source=source("QEmbedLayerNormalization"),
    attributes=QEmbedLayerNormalizationAttrs,
)

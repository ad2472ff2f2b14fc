"""QAttention: Attention of a quantised input and quantised weights."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F16, F32, I32, TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand, ranked, shaped, single
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.microsoft.attend import MASK_FILTER
from nautilus_cli.ops.microsoft.attention import OPERATOR as ATTENTION
from nautilus_cli.ops.microsoft.attention import AttentionAttrs
from nautilus_cli.ops.microsoft.qlinear import BYTES
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.quantization import real
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.wide import reshape


@dataclass(frozen=True, slots=True, kw_only=True)
class QAttentionAttrs:
    """Attributes of QAttention."""

    num_heads: int
    do_rotary: int = 0
    mask_filter_value: float = MASK_FILTER
    past_present_share_buffer: int = 0
    scale: float | None = None
    unidirectional: int = 0

    @property
    def attention(self) -> AttentionAttrs:
        """The same, of Attention."""
        return AttentionAttrs(
            num_heads=self.num_heads,
            do_rotary=self.do_rotary,
            mask_filter_value=self.mask_filter_value,
            past_present_share_buffer=self.past_present_share_buffer,
            scale=self.scale,
            unidirectional=self.unidirectional,
        )


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    """What remains once both are real numbers is for the rule of Attention."""
    operand_count(inference, 5, 9)
    x, weights = operand(inference, 0, "input", BYTES), operand(inference, 1, "weight", BYTES)
    bias, input_scale = operand(inference, 2, "bias", (F32, F16)), operand(inference, 3, "input_scale", (F32, F16))
    weight_scale = operand(inference, 4, "weight_scale", (F32, F16))
    columns = ranked(weights, "weight", 2)[1]
    single(input_scale, "input_scale")
    shaped(weight_scale, "weight_scale", (), (1,), (columns,))
    zero_point = optional_operand(inference, 6, "input_zero_point", (x.dtype,))
    if zero_point is not None:
        single(zero_point, "input_zero_point")
    shaped(optional_operand(inference, 7, "weight_zero_point", (weights.dtype,)), "weight_zero_point", (), (1,), (columns,))
    if {bias.dtype, weight_scale.dtype} != {input_scale.dtype}:
        raise ModelError("operands 'bias', 'input_scale' and 'weight_scale' have different types; the specification requires one")
    mask, past = optional_operand(inference, 5, "mask_index", (I32,)), optional_operand(inference, 8, "past")
    dtype = bias.dtype
    types = (TensorType(dtype, x.shape), TensorType(dtype, weights.shape), bias, mask, past)
    return ATTENTION.infer(Inference(inference.attrs.attention, types, (None,) * len(types), inference.outputs))


def _build(emitter: Emitter, attrs: QAttentionAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, weights, bias, input_scale, weight_scale, mask, input_zero_point, weight_zero_point, past = (*operands, *(None,) * 4)[:9]
    assert x is not None and weights is not None and bias is not None and input_scale is not None and weight_scale is not None
    dtype = bias.type.dtype
    source_, matrix = (
        real(emitter, value, _row(emitter, scale), None if offset is None else _row(emitter, offset), dtype)
        for value, scale, offset in ((x, input_scale, input_zero_point), (weights, weight_scale, weight_zero_point))
    )
    return emitter.results(ATTENTION.name, [source_, matrix, bias, mask, past], 2, attrs.attention)


def _row(emitter: Emitter, value: Value) -> Value:
    """Return one number, or one a column, so that it broadcasts."""
    return reshape(emitter, value, ()) if value.type.elements == 1 else value


OPERATOR = composed("com.microsoft::QAttention", _infer, _build, source=source("QAttention"), attributes=QAttentionAttrs)

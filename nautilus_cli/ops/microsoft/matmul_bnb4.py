"""MatMulBnb4: a product with weights of four bits that stand for sixteen numbers of no even steps, scaled in blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BF16, F16, F32, U8, TensorType
from nautilus_cli.ops.checks import operand, operand_count, required, same_dtype, shaped
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.look_up import LOOK_UP
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.unpack_bits import unpacked
from nautilus_cli.ops.wide import cast, reshape

_REAL = (F32, F16, BF16)
_LEAST_BLOCK = 16

_FP4 = (0.0, 0.0052083333, 2 / 3, 1.0, 1 / 3, 0.5, 1 / 6, 0.25)
"""Of either sign. Source: bitsandbytes, its FP4 type."""

_NF4 = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
"""Source: T. Dettmers et al., QLoRA: Efficient Finetuning of Quantized LLMs (2023), appendix E."""

_TABLES = ((*_FP4, *(-number for number in _FP4)), _NF4)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatMulBnb4Attrs:
    """Attributes of MatMulBnb4; QUANT_TYPE is 0 for FP4 and 1 for NF4."""

    K: int
    N: int
    block_size: int
    quant_type: int
    training_mode: int = 0
    transB: int = 1  # noqa: N815 (onnxruntime's name)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 3)
    attrs = inference.attrs
    if attrs.quant_type not in (0, 1):
        raise ModelError(f"quant_type is {attrs.quant_type}; the specification allows 0 and 1")
    if attrs.K < 1 or attrs.N < 1:
        raise ModelError(f"K is {attrs.K} and N is {attrs.N}; the specification requires positive numbers")
    if attrs.block_size < _LEAST_BLOCK or attrs.block_size & (attrs.block_size - 1):
        raise ModelError(f"block_size is {attrs.block_size}; the specification requires a power of two, of {_LEAST_BLOCK} at least")
    a, b, scales = operand(inference, 0, "A", _REAL), operand(inference, 1, "B", (U8,)), operand(inference, 2, "absmax", _REAL)
    same_dtype(a, scales, "absmax")
    inner, columns = (attrs.K, attrs.N) if attrs.transB else (attrs.N, attrs.K)
    if not a.shape or a.static[-1] != inner:
        raise ModelError(f"operand 'A' has shape {list(a.static)}; the specification requires {inner} columns")
    weights = attrs.N * attrs.K
    shaped(b, "B", (-(-weights // 2),))
    shaped(scales, "absmax", (-(-weights // attrs.block_size),))
    return (TensorType(a.dtype, (*a.static[:-1], columns)),)


def _build(emitter: Emitter, attrs: MatMulBnb4Attrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """The first value of a byte stands in its high bits, and blocks run over the ends of rows."""
    a, b, scales = required(operands)
    weights = attrs.N * attrs.K
    codes = unpacked(emitter, b, 4, is_high_first=True)
    numbers = emitter.node(LOOK_UP, [cast(emitter, codes, F32)], table=_TABLES[attrs.quant_type])
    blocks = scales.type.static[0]
    whole = blocks * attrs.block_size == weights
    if whole:
        factor: Value = reshape(emitter, scales, (blocks, 1))
        numbers = reshape(emitter, _first(emitter, numbers, weights), (blocks, attrs.block_size))
    else:
        shape = emitter.constant(np.array([blocks, attrs.block_size], np.int64))
        spread = reshape(emitter, emitter.node("Expand", [reshape(emitter, scales, (blocks, 1)), shape]), (blocks * attrs.block_size,))
        factor, numbers = _first(emitter, spread, weights), _first(emitter, numbers, weights)
    matrix = reshape(emitter, emitter.node("Mul", [numbers, cast(emitter, factor, F32)]), (attrs.N, attrs.K))
    matrix = cast(emitter, matrix, a.type.dtype)
    return (emitter.node("MatMul", [a, emitter.node("Transpose", [matrix], perm=(1, 0)) if attrs.transB else matrix]),)


def _first(emitter: Emitter, values: Value, count: int) -> Value:
    """Return the first COUNT values of a vector."""
    if values.type.static == (count,):
        return values
    return emitter.node("Slice", [values, *(emitter.constant(np.array([number], np.int64)) for number in (0, count, 0))])


OPERATOR = composed("com.microsoft::MatMulBnb4", _infer, _build, source=source("MatMulBnb4"), attributes=MatMulBnb4Attrs)

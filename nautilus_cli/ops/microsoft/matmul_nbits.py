"""MatMulNBits: a product with weights of 2, 4 or 8 bits, quantised in blocks along k."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BF16, F16, F32, U8, TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand, same_dtype, shaped
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.unpack_bits import unpacked
from nautilus_cli.ops.wide import cast, reshape, scalar

_REAL = (F32, F16, BF16)
_BITS = (2, 4, 8)
_LEAST_BLOCK = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class MatMulNBitsAttrs:
    """Attributes of MatMulNBits. `accuracy_level` permits a product of less accuracy, of which no use is made."""

    K: int
    N: int
    block_size: int
    accuracy_level: int = 0
    bits: int = 4
    weight_prepacked: int = 0

    @property
    def blocks(self) -> int:
        """Blocks of a row."""
        return -(-self.K // self.block_size)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 6)
    attrs = inference.attrs
    if attrs.bits not in _BITS:
        raise ModelError(f"bits is {attrs.bits}; the specification allows {', '.join(map(str, _BITS))}")
    if attrs.K < 1 or attrs.N < 1:
        raise ModelError(f"K is {attrs.K} and N is {attrs.N}; the specification requires positive numbers")
    if attrs.block_size < _LEAST_BLOCK or attrs.block_size & (attrs.block_size - 1):
        raise ModelError(f"block_size is {attrs.block_size}; the specification requires a power of two, of {_LEAST_BLOCK} at least")
    if attrs.weight_prepacked:
        raise ModelError(f"weight_prepacked is {attrs.weight_prepacked}: the weights are laid out for another library's kernels")
    a, b = operand(inference, 0, "A", _REAL), operand(inference, 1, "B", (U8,))
    if not a.shape or a.static[-1] != attrs.K:
        raise ModelError(f"operand 'A' has shape {list(a.static)}; the specification requires {attrs.K} (K) columns")
    shaped(b, "B", (attrs.N, attrs.blocks, attrs.block_size * attrs.bits // 8))
    scales = operand(inference, 2, "scales", _REAL)
    same_dtype(a, scales, "scales")
    shaped(scales, "scales", (attrs.N, attrs.blocks), (attrs.N * attrs.blocks,))
    zero_points = optional_operand(inference, 3, "zero_points", (U8, *_REAL))
    if zero_points is not None:
        columns = -(-attrs.blocks * attrs.bits // 8) if zero_points.dtype == U8 else attrs.blocks
        shaped(zero_points, "zero_points", (attrs.N, columns), (attrs.N * columns,))
    if optional_operand(inference, 4, "g_idx") is not None:
        raise ModelError(
            "operand 'g_idx' is given, which is deprecated and not supported", hint="Export the weights in the order of their blocks."
        )
    bias = optional_operand(inference, 5, "bias", _REAL)
    same_dtype(a, bias, "bias")
    shaped(bias, "bias", (attrs.N,))
    return (TensorType(a.dtype, (*a.static[:-1], attrs.N)),)


def _build(emitter: Emitter, attrs: MatMulNBitsAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """The weights are (code - zero point) · scale; unpacking and both steps can be part of the product's kernel."""
    a, b, scales, zero_points, _, bias = (*operands, None, None, None)[:6]
    assert a is not None and b is not None and scales is not None
    dtype = a.type.dtype
    blocks = (attrs.N, attrs.blocks, 1)
    codes = cast(emitter, unpacked(emitter, b, attrs.bits), dtype)
    if zero_points is None:
        offset = scalar(emitter, 1 << (attrs.bits - 1), dtype)
    elif zero_points.type.dtype == U8:
        rows = unpacked(emitter, reshape(emitter, zero_points, (attrs.N, zero_points.type.elements // attrs.N)), attrs.bits)
        offset = reshape(emitter, cast(emitter, _first_columns(emitter, rows, attrs.blocks), dtype), blocks)
    else:
        offset = reshape(emitter, cast(emitter, zero_points, dtype), blocks)
    weights = emitter.node("Mul", [emitter.node("Sub", [codes, offset]), reshape(emitter, scales, blocks)])
    matrix = _first_columns(emitter, reshape(emitter, weights, (attrs.N, attrs.blocks * attrs.block_size)), attrs.K)
    result = emitter.node("MatMul", [a, emitter.node("Transpose", [matrix], perm=(1, 0))])
    return (result if bias is None else emitter.node("Add", [result, bias]),)


def _first_columns(emitter: Emitter, matrix: Value, count: int) -> Value:
    """Return the first COUNT columns of a matrix; the others only fill a byte or a block."""
    if matrix.type.static[1] == count:
        return matrix
    return emitter.node("Slice", [matrix, *(emitter.constant(np.array([number], np.int64)) for number in (0, count, 1))])


OPERATOR = composed("com.microsoft::MatMulNBits", _infer, _build, source=source("MatMulNBits"), attributes=MatMulNBitsAttrs)

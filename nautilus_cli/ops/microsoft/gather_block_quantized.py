"""GatherBlockQuantized: rows of a table that is quantised in blocks, as real numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BF16, F16, F32, I4, I8, I32, I64, U4, U8, DType, TensorType
from nautilus_cli.ops.checks import normal_axis, operand, operand_count, optional_operand, required, same_dtype, shaped
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.quantization import spread
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.unpack_bits import unpacked
from nautilus_cli.ops.wide import cast, scalar

_REAL = (F32, F16, BF16)
_LEAST_BLOCK = 16


@dataclass(frozen=True, slots=True)
class GatherBlockQuantizedAttrs:
    """Attributes of GatherBlockQuantized."""

    bits: int = 4
    block_size: int = 128
    gather_axis: int = 0
    quantize_axis: int = 1


def _packing(attrs: GatherBlockQuantizedAttrs, dtype: DType) -> int:
    """Return how many values stand in an element of the last dimension."""
    return 8 // attrs.bits if dtype == U8 else 1


def _logical(attrs: GatherBlockQuantizedAttrs, data: TensorType) -> tuple[int, ...]:
    """Return the shape of the table's values."""
    *outer, last = data.static
    return (*outer, last * _packing(attrs, data.dtype))


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 4)
    attrs = inference.attrs
    data = operand(inference, 0, "data", (U8, I4, U4))
    indices, scales = operand(inference, 1, "indices", (I32, I64)), operand(inference, 2, "scales", _REAL)
    rank = len(data.shape)
    if not rank:
        raise ModelError("operand 'data' is a scalar; the specification requires rank 1 at least")
    if data.dtype == U8 and attrs.bits not in (2, 4, 8):
        raise ModelError(f"bits is {attrs.bits}; the specification allows 2, 4 and 8")
    if attrs.block_size < _LEAST_BLOCK or attrs.block_size & (attrs.block_size - 1):
        raise ModelError(f"block_size is {attrs.block_size}; the specification requires a power of two, of {_LEAST_BLOCK} at least")
    gathered, quantised = normal_axis(attrs.gather_axis, rank, "gather_axis"), normal_axis(attrs.quantize_axis, rank, "quantize_axis")
    if data.dtype == U8 and (gathered != 0 or (attrs.bits < 8 and quantised == 0)):
        raise ModelError(
            f"gather_axis is {gathered} and quantize_axis {quantised}; bytes of several values are gathered along axis 0 alone"
        )
    shape = _logical(attrs, data)
    blocks = (*shape[:quantised], -(-shape[quantised] // attrs.block_size), *shape[quantised + 1 :])
    shaped(scales, "scales", blocks)
    zero_points = optional_operand(inference, 3, "zero_points", (data.dtype,))
    same_dtype(data, zero_points, "zero_points")
    shaped(zero_points, "zero_points", _stored(attrs, data.dtype, blocks))
    return (TensorType(scales.dtype, (*shape[:gathered], *indices.static, *shape[gathered + 1 :])),)


def _stored(attrs: GatherBlockQuantizedAttrs, dtype: DType, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape in which values of SHAPE are stored: several to a byte of the last dimension."""
    return (*shape[:-1], -(-shape[-1] // _packing(attrs, dtype)))


def _build(emitter: Emitter, attrs: GatherBlockQuantizedAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Rows are gathered as they are stored, with their scales and zero points, where blocks do not run across them.

    Without zero points bytes are centred, and 4-bit types are as they are.
    """
    data, indices, scales = required(operands[:3])
    zero_points = operands[3] if len(operands) > 3 else None
    rank, is_packed = len(data.type.shape), data.type.dtype == U8
    gathered, quantised = normal_axis(attrs.gather_axis, rank), normal_axis(attrs.quantize_axis, rank)
    are_rows = gathered != quantised

    def chosen(value: Value) -> Value:
        return emitter.node("Gather", [value, indices], axis=gathered)

    def codes(stored: Value, last: int) -> Value:
        whole = stored if is_packed else cast(emitter, stored, I8 if stored.type.dtype == I4 else U8)
        found = chosen(whole) if are_rows else whole
        return _first(emitter, unpacked(emitter, found, attrs.bits), last) if is_packed else found

    wide = cast(emitter, codes(data, _logical(attrs, data.type)[-1]), F32)
    shape = wide.type.static
    axis = quantised if quantised < gathered or not are_rows else quantised + len(indices.type.shape) - 1
    if zero_points is not None:
        offset = cast(emitter, codes(zero_points, scales.type.static[-1]), F32)
        wide = emitter.node("Sub", [wide, spread(emitter, offset, shape, axis, attrs.block_size)])
    elif is_packed:
        wide = emitter.node("Sub", [wide, scalar(emitter, 1 << (attrs.bits - 1), F32)])
    factor = cast(emitter, chosen(scales) if are_rows else scales, F32)
    found = emitter.node("Mul", [wide, spread(emitter, factor, shape, axis, attrs.block_size)])
    return (cast(emitter, found if are_rows else chosen(found), scales.type.dtype),)


def _first(emitter: Emitter, values: Value, count: int) -> Value:
    """Return the first COUNT values of the last dimension; the others only fill a byte."""
    if values.type.static[-1] == count:
        return values
    return emitter.node("Slice", [values, *(emitter.constant(np.array([number], np.int64)) for number in (0, count, -1))])


OPERATOR = composed(
    "com.microsoft::GatherBlockQuantized", _infer, _build, source=source("GatherBlockQuantized"), attributes=GatherBlockQuantizedAttrs
)

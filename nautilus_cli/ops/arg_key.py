"""Keys for arg-reductions: value and place in one number, so that a plain maximum finds both. Only decompositions use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F32, F64, I32, I64, U32, U64, DType, TensorType, dtype_of
from nautilus_cli.ops.checks import broadcast_shape, first_of, operand, operand_count, required
from nautilus_cli.ops.element_types import NUMERIC
from nautilus_cli.ops.spec import Inference, NoAttrs, Operator, Pointwise

KEYED = tuple(d for d in NUMERIC if d.compute.bits <= 32)
"""Element types whose values leave half a key for the place."""


ORDERED_BITS = {U32: "nautilus::OrderedBits32", U64: "nautilus::OrderedBits64"}
"""Operators from values of 32 or 64 bits to unsigned integers of as many that order as they do, by the type of these."""


@dataclass(frozen=True, slots=True)
class ArgKeyAttrs:
    """Which element has the greatest key.

    Attributes:
        is_min: the least value, else the greatest.
        selects_last: of equal ones the last, else the first.
    """

    is_min: int = 0
    selects_last: int = 0


@dataclass(frozen=True, slots=True)
class ArgIndexAttrs:
    """How the key was made.

    Attributes:
        selects_last: as in ArgKeyAttrs.
    """

    selects_last: int = 0


def ordered_bits(values: np.ndarray) -> np.ndarray:
    """Return unsigned integers that order as VALUES do: NaN above everything, zeros of either sign equal."""
    compute = dtype_of(values).compute
    kind = np.dtype(np.uint32 if compute.bits <= 32 else np.uint64)
    top = kind.type(1 << (8 * kind.itemsize - 1))
    if not compute.is_float:
        wide = values.astype(np.int64 if compute.kind == "int" else np.uint64).astype(kind)
        return wide ^ top if compute.kind == "int" else wide
    wide = values.astype(compute.numpy)
    bits = np.where(wide == 0, 0, wide).astype(compute.numpy).view(kind)
    ordered = np.where(bits & top, ~bits, bits | top)
    return np.where(np.isnan(wide), ~kind.type(0), ordered).astype(kind)


def _infer_key(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    x, index = operand(inference, 0, "X", KEYED), operand(inference, 1, "index", (U32,))
    return (TensorType(U64, broadcast_shape(x.static, index.static)),)


def _key(attrs: ArgKeyAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x, index = required(arrays)
    narrow = x.astype(np.float32) if dtype_of(x).is_float else x
    bits = ordered_bits(narrow)
    if attrs.is_min:
        bits = np.where(narrow == narrow, ~bits, bits)
    return ((bits.astype(np.uint64) << np.uint64(32)) | (index if attrs.selects_last else ~index),)


def _infer_index(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    return (TensorType(I64, operand(inference, 0, "key", (U64,)).shape),)


def _index(attrs: ArgIndexAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    low = first_of(arrays).astype(np.uint32)
    return ((low if attrs.selects_last else ~low).astype(np.int64),)


def _key_constants(attrs: Any, _types: tuple[TensorType, ...]) -> tuple[float | int, ...]:
    return (attrs.is_min, attrs.selects_last)


def _index_constants(attrs: Any, _types: tuple[TensorType, ...]) -> tuple[float | int, ...]:
    return (attrs.selects_last,)


def require_elements(shape: tuple[int, ...], axis: int) -> None:
    """Check that there is an element to choose along AXIS.

    Raises:
        ModelError: there is none.
    """
    if shape[axis] == 0:
        raise ModelError(f"operand 'data' has shape {list(shape)}: along axis {axis} there is no element whose index could be the result")


def _ordered(result: DType) -> Operator:
    """Return the operator from values of a width to unsigned integers of that width, RESULT."""
    float_type, types = (F32, (F32, I32, U32)) if result == U32 else (F64, (F64, I64, U64))

    def infer(inference: Inference) -> tuple[TensorType, ...]:
        operand_count(inference, 1, 1)
        return (TensorType(result, operand(inference, 0, "X", types).shape),)

    def evaluate(_attrs: NoAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
        x = first_of(arrays)
        return (ordered_bits(x.astype(float_type.numpy) if dtype_of(x).is_float else x),)

    return Operator(
        name=ORDERED_BITS[result],
        infer=infer,
        evaluate=evaluate,
        lowering=Pointwise("ordered_bits"),
        source="Nautilus's own: bits that order as values do (M. Herf, Radix Tricks, 2001)",
    )


OPERATORS = (
    *map(_ordered, (U32, U64)),
    Operator(
        name="nautilus::ArgKey",
        infer=_infer_key,
        evaluate=_key,
        lowering=Pointwise("arg_key", _key_constants),
        source="Nautilus's own: bits that order as values do (M. Herf, Radix Tricks, 2001), above the place or its complement",
        attributes=ArgKeyAttrs,
    ),
    Operator(
        name="nautilus::ArgIndex",
        infer=_infer_index,
        evaluate=_index,
        lowering=Pointwise("arg_index", _index_constants),
        source="Nautilus's own: the place in a key of nautilus::ArgKey",
        attributes=ArgIndexAttrs,
    ),
)

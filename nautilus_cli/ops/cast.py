"""Cast and CastLike: conversion between element types."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0, I2, I4, NARROW, U2, U4, DType, TensorType, dtype_of
from nautilus_cli.ops.checks import one_of, operand, operand_count, required
from nautilus_cli.ops.element_types import FLOAT8, ONNX_NUMBERS, STORABLE, dtype_from_onnx
from nautilus_cli.ops.spec import Cast, Decompose, Emitter, Inference, Operator

_ROUND_MODES = ("up", "down", "nearest")

HIGHEST = {F8E4M3FN: 448.0, F8E4M3FNUZ: 240.0, F8E5M2: 57344.0, F8E5M2FNUZ: 57344.0}
"""Source: OCP 8-bit Floating Point Specification 1.0, table 1; ONNX, technical details of float 8."""

_E8M0_BIAS, _E8M0_NAN = 127, 255
"""Source: OCP Microscaling Formats 1.0, table 7."""


@dataclass(frozen=True, slots=True)
class CastAttrs:
    """Attributes of Cast; `saturate` matters only to 8-bit floating point, `round_mode` only to that without a mantissa."""

    to: int
    saturate: int = 1
    round_mode: str = "up"


@dataclass(frozen=True, slots=True)
class CastLikeAttrs:
    """Attributes of CastLike."""

    saturate: int = 1
    round_mode: str = "up"


def converted(array: np.ndarray, dtype: DType, *, is_saturating: bool = False, round_mode: str = "nearest") -> np.ndarray:
    """Return the array converted as Cast does it.

    Floating point to integer cuts towards zero; out of range is undefined. Integers wrap. Zero is false, all else true.
    """
    with np.errstate(all="ignore"):
        if dtype.kind == "bool":
            return np.asarray(array != 0)
        if dtype in (I4, U4, I2, U2):
            # The low bits of the number cut to 32 bits, whatever ml_dtypes does with what is out of range.
            whole = array if array.dtype.kind in "iub" or dtype_of(array) in NARROW else array.astype(np.int32)
            return np.asarray(whole.astype(np.int64) & ((1 << dtype.bits) - 1)).astype(np.uint8).view(dtype.numpy)
        if dtype == F8E8M0:
            return power_of_two(array.astype(np.float32), is_saturating=is_saturating, round_mode=round_mode)
        if dtype in NARROW and array.dtype == np.float64:
            array = _to_odd(array)
        if dtype in FLOAT8 and is_saturating:
            array = np.clip(array.astype(np.float32), -HIGHEST[dtype], HIGHEST[dtype])  # NaN stays
        return np.asarray(array).astype(dtype.numpy)


def _to_odd(array: np.ndarray) -> np.ndarray:
    """Return float64 numbers as float32, with an odd last bit where digits were cut off: rounded once more, they are as if rounded once."""
    near = array.astype(np.float32)
    back = near.astype(np.float64)
    is_cut = np.isfinite(near) & (back != array)
    bits = np.atleast_1d(near).view(np.uint32).reshape(near.shape)
    return np.asarray(np.where(is_cut, (bits - (np.abs(back) > np.abs(array))) | 1, bits)).astype(np.uint32).view(np.float32)


def power_of_two(array: np.ndarray, *, is_saturating: bool, round_mode: str) -> np.ndarray:
    """Return a float32 array as powers of two of either sign's size; `up` is away from zero, and `nearest` takes a tie up.

    Source: ONNX 28, Cast-28, table of conversions to FLOAT8E8M0; it sends infinity to the highest power, the reference evaluator to NaN.
    """
    size = np.abs(array.astype(np.float64))
    fraction, exponent = np.frexp(size)  # in [0.5, 1)
    exponent = exponent - 1
    threshold = {"up": 0.5, "nearest": 0.75, "down": 1.0}[round_mode]
    goes_up = fraction > threshold if round_mode == "up" else fraction >= threshold
    code = exponent + goes_up + _E8M0_BIAS
    is_infinite = np.isinf(size)
    code = np.where(is_infinite, _E8M0_NAN, np.clip(code, -1, _E8M0_NAN))
    below, above = (size == 0) | (size < 2.0**-_E8M0_BIAS), code >= _E8M0_NAN
    code = np.where(below, 0 if is_saturating else _E8M0_NAN, np.where(above, _E8M0_NAN - 1 if is_saturating else _E8M0_NAN, code))
    return np.asarray(np.where(np.isnan(size), _E8M0_NAN, code)).astype(np.uint8).view(F8E8M0.numpy)


def _manner(attrs: CastAttrs, target: DType) -> str:
    """Return what the device function's name begins with."""
    saturating = "saturating_" if attrs.saturate else ""
    if target == F8E8M0:
        return f"{saturating}{attrs.round_mode}_"
    return saturating if target in FLOAT8 else ""


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    one_of(inference.attrs.round_mode, _ROUND_MODES, "round_mode")
    return (TensorType(dtype_from_onnx(inference.attrs.to), operand(inference, 0, "input", STORABLE).shape),)


def _evaluate(attrs: CastAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    (x,) = required(arrays)
    return (converted(x, dtype_from_onnx(attrs.to), is_saturating=bool(attrs.saturate), round_mode=attrs.round_mode),)


def _infer_like(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    one_of(inference.attrs.round_mode, _ROUND_MODES, "round_mode")
    return (TensorType(operand(inference, 1, "target_type", STORABLE).dtype, operand(inference, 0, "input", STORABLE).shape),)


def _evaluate_like(attrs: CastLikeAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x, like = required(arrays)
    return (converted(x, dtype_of(like), is_saturating=bool(attrs.saturate), round_mode=attrs.round_mode),)


def _build_like(emitter: Emitter, attrs: CastLikeAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, like = required(operands)
    return (emitter.node("Cast", [x], CastAttrs(ONNX_NUMBERS[like.type.dtype], attrs.saturate, attrs.round_mode)),)


OPERATORS = (
    Operator(
        name="Cast",
        infer=_infer,
        evaluate=_evaluate,
        lowering=Cast(_manner),
        source="ONNX 28, Cast-28",
        attributes=CastAttrs,
        since=6,
    ),
    Operator(
        name="CastLike",
        infer=_infer_like,
        evaluate=_evaluate_like,
        lowering=Decompose(_build_like),
        source="ONNX 28, CastLike-25",
        attributes=CastLikeAttrs,
        since=15,
    ),
)

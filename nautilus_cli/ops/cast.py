"""Cast and CastLike: conversion between element types."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import DType, TensorType, dtype_of
from nautilus_cli.ops.checks import one_of, operand, operand_count, required
from nautilus_cli.ops.element_types import ALL, ONNX_NUMBERS, dtype_from_onnx
from nautilus_cli.ops.spec import Cast, Decompose, Emitter, Inference, Operator

_ROUND_MODES = ("up", "down", "nearest")


@dataclass(frozen=True, slots=True)
class CastAttrs:
    """Attributes of Cast; `saturate` and `round_mode` matter only to 8-bit floating point, which is not supported."""

    to: int
    saturate: int = 1
    round_mode: str = "up"


@dataclass(frozen=True, slots=True)
class CastLikeAttrs:
    """Attributes of CastLike."""

    saturate: int = 1
    round_mode: str = "up"


def converted(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Return the array converted as Cast does it.

    Floating point to integer cuts towards zero; out of range is undefined. Integers wrap. Zero is false, all else true.
    """
    with np.errstate(all="ignore"):
        if dtype.kind == "bool":
            return np.asarray(array != 0)
        return array.astype(dtype.numpy)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    one_of(inference.attrs.round_mode, _ROUND_MODES, "round_mode")
    return (TensorType(dtype_from_onnx(inference.attrs.to), operand(inference, 0, "input", ALL).shape),)


def _evaluate(attrs: CastAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    (x,) = required(arrays)
    return (converted(x, dtype_from_onnx(attrs.to)),)


def _infer_like(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    one_of(inference.attrs.round_mode, _ROUND_MODES, "round_mode")
    return (TensorType(operand(inference, 1, "target_type", ALL).dtype, operand(inference, 0, "input", ALL).shape),)


def _evaluate_like(_attrs: CastLikeAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x, like = required(arrays)
    return (converted(x, dtype_of(like)),)


def _build_like(emitter: Emitter, _attrs: CastLikeAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, like = required(operands)
    return (emitter.node("Cast", [x], to=ONNX_NUMBERS[like.type.dtype]),)


OPERATORS = (
    Operator(
        name="Cast",
        infer=_infer,
        evaluate=_evaluate,
        lowering=Cast(),
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

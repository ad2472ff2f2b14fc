"""Logical and bitwise functions of two operands, as a table."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.types import BOOL, DType, TensorType
from nautilus_cli.ops.checks import one_of
from nautilus_cli.ops.element_types import INTEGERS
from nautilus_cli.ops.pointwise import pointwise
from nautilus_cli.ops.spec import Operator


@dataclass(frozen=True, slots=True)
class BitShiftAttrs:
    """Attributes of BitShift."""

    direction: str


def _shift(attrs: BitShiftAttrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A negative count, or one past the width, leaves what the sign alone gives."""
    outside = (y < 0) | (y >= 8 * x.dtype.itemsize)
    count = np.where(outside, x.dtype.type(0), y)
    zero = x.dtype.type(0)
    if attrs.direction == "LEFT":
        return np.asarray(np.where(outside, zero, np.left_shift(x, count)))
    return np.asarray(np.where(outside, np.where(x < 0, np.bitwise_not(zero), zero), np.right_shift(x, count)))


def _check_shift(attrs: BitShiftAttrs, _: tuple[TensorType, ...]) -> None:
    one_of(attrs.direction, ("LEFT", "RIGHT"), "direction")


def _row(
    name: str,
    function: str,
    evaluate: Callable[[np.ndarray, np.ndarray], np.ndarray],
    version: int,
    allowed: Collection[DType],
) -> Operator:
    return pointwise(name, function, lambda _, a, b: evaluate(a, b), version=version, since=version, operands=("A", "B"), allowed=allowed)


OPERATORS = (
    _row("And", "logical_and", np.logical_and, 7, (BOOL,)),
    _row("Or", "logical_or", np.logical_or, 7, (BOOL,)),
    _row("Xor", "logical_xor", np.logical_xor, 7, (BOOL,)),
    _row("BitwiseAnd", "bitwise_and", np.bitwise_and, 18, INTEGERS),
    _row("BitwiseOr", "bitwise_or", np.bitwise_or, 18, INTEGERS),
    _row("BitwiseXor", "bitwise_xor", np.bitwise_xor, 18, INTEGERS),
    pointwise(
        "BitShift",
        "bit_shift",
        _shift,
        version=28,
        since=11,
        operands=("X", "Y"),
        allowed=INTEGERS,
        attributes=BitShiftAttrs,
        constants=lambda a, _: (int(a.direction == "LEFT"),),
        check=_check_shift,
    ),
)

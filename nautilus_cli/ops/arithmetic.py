"""Binary and variadic arithmetic, as a table."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I32, I64, U32, U64, DType, TensorType
from nautilus_cli.ops.checks import broadcast_shape, first_of, operand, operand_count, required
from nautilus_cli.ops.element_types import FLOATS, NUMERIC
from nautilus_cli.ops.pointwise import pointwise
from nautilus_cli.ops.precision import widened
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, NoAttrs, Operator, Pointwise


@dataclass(frozen=True, slots=True)
class ModAttrs:
    """Attributes of Mod."""

    fmod: int = 0


def divided(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the quotient; of integers, rounded towards zero, and 0 where the divisor is 0 (the specification leaves it open)."""
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    quotient = np.asarray(np.floor_divide(a, b))
    if a.dtype.kind == "i":
        quotient += ((a % b != 0) & ((a < 0) != (b < 0))).astype(a.dtype)
    return quotient


def _mod(attrs: ModAttrs, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.fmod(a, b) if attrs.fmod else np.mod(a, b))


def _integer_power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Raise integers to integers, modulo 2^bits; a negative exponent gives the quotient of 1 by the power, rounded towards zero."""
    base, exponent = np.broadcast_arrays(base, exponent)
    result, square, rest = np.ones_like(base), base.copy(), np.maximum(exponent, exponent.dtype.type(0))
    while rest.any():
        result = np.where(rest & 1, result * square, result)
        square, rest = square * square, rest >> 1
    inverse = np.where(base == 1, 1, np.where(base == -1, np.where(exponent % 2, -1, 1), 0)).astype(base.dtype)
    return np.where(exponent < 0, inverse, result)


def power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Return BASE to EXPONENT in BASE's type; integers to a floating-point power go through double precision."""
    if exponent.dtype.kind == "f":
        return np.asarray(np.power(base.astype(np.float64), exponent.astype(np.float64))).astype(base.dtype)
    if base.dtype.kind == "f":
        # Exponents beyond 2^53 lose their last bit, but must not lose their parity.
        size = np.power(np.abs(base).astype(np.float64), exponent.astype(np.float64)).astype(base.dtype)
        return np.asarray(np.where(exponent % 2 == 0, size, np.copysign(size, base)))
    return np.asarray(_integer_power(base, exponent if exponent.dtype.kind == "u" else exponent.astype(np.int64))).astype(base.dtype)


def _infer_pow(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    base = operand(inference, 0, "X", (*FLOATS, I32, I64))
    exponent = operand(inference, 1, "Y", NUMERIC)
    return (TensorType(base.dtype, broadcast_shape(base.static, exponent.static, inference=inference)),)


def _evaluate_pow(_: Any, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    base, exponent = required(arrays)
    with np.errstate(all="ignore"):
        return (power(widened(base), widened(exponent)).astype(base.dtype),)


def _binary(name: str, evaluate: Callable[[np.ndarray, np.ndarray], np.ndarray], version: int, since: int) -> Operator:
    return pointwise(name, name.lower(), lambda _, a, b: evaluate(a, b), version=version, since=since, operands=("A", "B"), allowed=NUMERIC)


def _variadic(name: str, function: str, evaluate: Any, version: int, since: int, allowed: Collection[DType]) -> Operator:
    return pointwise(
        name,
        function,
        lambda _, *arrays: reduce(evaluate, arrays),
        version=version,
        since=since,
        operands=("data",),
        allowed=allowed,
        variadic=True,
    )


def _build_mean(emitter: Emitter, _attrs: Any, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    first = first_of(operands)
    count = emitter.constant(np.array(len(operands), first.type.dtype.numpy))
    return (emitter.node("Div", [emitter.node("Sum", operands), count]),)


_SUM = _variadic("Sum", "add", np.add, 13, 6, FLOATS)


def _evaluate_mean(_attrs: Any, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    wide = [widened(a) for a in arrays if a is not None]
    first = first_of(arrays)
    with np.errstate(all="ignore"):
        return (np.asarray(reduce(np.add, wide) / wide[0].dtype.type(len(wide))).astype(first.dtype),)


OPERATORS = (
    _binary("Add", np.add, 14, 7),
    _binary("Sub", np.subtract, 14, 7),
    _binary("Mul", np.multiply, 14, 7),
    _binary("Div", divided, 14, 7),
    Operator(
        name="Pow",
        infer=_infer_pow,
        evaluate=_evaluate_pow,
        lowering=Pointwise("pow"),
        source="ONNX 28, Pow-15",
        since=7,
    ),
    pointwise(
        "Mod",
        "mod",
        _mod,
        version=28,
        since=10,
        operands=("A", "B"),
        allowed=NUMERIC,
        attributes=ModAttrs,
        constants=lambda a, _: (a.fmod,),
    ),
    pointwise(
        "PRelu",
        "prelu",
        lambda _, x, slope: np.where(x < 0, x * slope, x),
        version=16,
        since=7,
        operands=("X", "slope"),
        allowed=(*FLOATS, I32, I64, U32, U64),
    ),
    _variadic("Max", "max", np.maximum, 13, 6, NUMERIC),
    _variadic("Min", "min", np.minimum, 13, 6, NUMERIC),
    _SUM,
    Operator(
        name="Mean",
        infer=_SUM.infer,
        evaluate=_evaluate_mean,
        lowering=Decompose(_build_mean),
        source="ONNX 28, Mean-13",
        attributes=NoAttrs,
        since=6,
    ),
)

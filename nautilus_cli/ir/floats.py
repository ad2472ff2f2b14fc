"""Numbers of double precision that the host works out (`dims.Float`): making them, their bounds, and what they are called."""

from __future__ import annotations

from math import isfinite

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import Float, FloatElement, FloatOperation, is_symbolic, lower, upper
from nautilus_cli.ir.names import quoted

_EXACT = 1 << 53
"""Integers up to this have an exact double. Source: IEEE 754-2019, 3.3."""

_SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}


def is_float(value: object) -> bool:
    """Whether VALUE is a number that no integer expression is."""
    return isinstance(value, FloatElement | FloatOperation)


def of_float(number: float) -> Float:
    """Return a number as what the host computes with: an integer where it is one, else a quotient.

    Raises:
        ModelError: it is none, or neither numerator nor denominator is an exact double.
    """
    if isfinite(number):
        numerator, denominator = number.as_integer_ratio()
        if denominator == 1 and abs(numerator) <= _EXACT:
            return numerator
        if max(abs(numerator), denominator) <= _EXACT:
            return FloatOperation("divide", numerator, denominator)
    raise ModelError(f"{number} decides a size, and is not a number that the host can work with")


def known(value: Float) -> float | None:
    """Return a number of which no run knows more, None for others."""
    if is_symbolic(value) or isinstance(value, FloatElement):
        return None
    if not isinstance(value, FloatOperation):
        return float(value)
    left, right = known(value.left), known(value.right)
    return left / right if value.function == "divide" and left is not None and right else None


def bounds(value: Float) -> tuple[float, float] | None:
    """Return what VALUE is never below and never above, None where nothing is known of it."""
    if isinstance(value, FloatElement):
        return None
    if not isinstance(value, FloatOperation):
        return float(lower(value)), float(upper(value))
    left, right = bounds(value.left), bounds(value.right)
    if left is None or right is None:
        return None
    match value.function:
        case "add":
            return left[0] + right[0], left[1] + right[1]
        case "subtract":
            return left[0] - right[1], left[1] - right[0]
        case "multiply":
            corners = [a * b for a in left for b in right]
        case "divide":
            if right[0] <= 0 <= right[1]:
                return None
            corners = [a / b for a in left for b in right]
        case _:
            return left[0] - abs(left[0]) * 2**-20, left[1] + abs(left[1]) * 2**-20  # rounding to 24 bits moves less
    return min(corners), max(corners)


def float_text(value: Float) -> str:
    """Return a number as text."""
    if isinstance(value, FloatElement):
        return f"{quoted(value.input)[1:-1]}[{value.index}]"
    if not isinstance(value, FloatOperation):
        return f"({value})" if " " in str(value) else str(value)
    if value.function == "single":
        return float_text(value.left)
    if value.function == "divide" and not any(is_float(v) or is_symbolic(v) for v in (value.left, value.right)) and value.right:
        return f"{value.left / value.right:g}"  # type: ignore[operator]
    return f"({float_text(value.left)} {_SIGNS[value.function]} {float_text(value.right)})"

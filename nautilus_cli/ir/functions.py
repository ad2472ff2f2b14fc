"""Functions of symbolic integers that are no polynomials of them: atoms, or numbers where these are known."""

from __future__ import annotations

from ctypes import c_float
from math import ceil, floor, isfinite

from nautilus_cli.ir.dims import (
    Factor,
    Float,
    FloatElement,
    FloatOperation,
    Indicator,
    Make,
    Maximum,
    Named,
    Rounded,
    Symbolic,
    lower,
    upper,
)


def maximum(first: int, *others: int) -> int:
    """Return the greatest of integers, as an expression where that depends on the dimensions."""
    if _are_plain(first, others):
        return max(first, *others) if others else first
    every: list[int] = []
    for value in (first, *others):
        every.extend(operands(value))
    kept: list[int] = []
    for number, value in enumerate(every):
        rivals = [*kept, *every[number + 1 :]]
        if not any(lower(rival - value) >= 0 for rival in rivals):
            kept.append(value)
    if len(kept) == 1:
        return kept[0]
    some = next(value for value in kept if isinstance(value, Symbolic))  # of several numbers one is kept
    return some.of({((Maximum(tuple(sorted(kept, key=str))), 1),): 1})


def minimum(first: int, *others: int) -> int:
    """Return the least of integers, as an expression where that depends on the dimensions."""
    if _are_plain(first, others):
        return min(first, *others) if others else first
    return -maximum(-first, *(-value for value in others))


def _are_plain(first: int, others: tuple[int, ...]) -> bool:
    """Whether all of these are numbers: estimates ask for hundreds of thousands of least ones."""
    if isinstance(first, Symbolic):
        return False
    for value in others:  # noqa: SIM110 - a generator takes three times as long
        if isinstance(value, Symbolic):
            return False
    return True


def operands(value: int) -> tuple[int, ...]:
    """Return the operands of a bare maximum, else VALUE itself."""
    if isinstance(value, Symbolic) and len(value.terms) == 1:
        ((monomial, coefficient),) = value.terms
        if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0][0], Maximum) and monomial[0][1] == 1:
            return monomial[0][0].operands
    return (value,)


def indicator(value: int, *, is_zero: bool) -> int:
    """Return 1 where VALUE is zero (positive, where IS_ZERO is false), else 0; a number where that is known (see `ir/indicators.py`)."""
    low, high = lower(value), upper(value)
    if not isinstance(value, Symbolic):
        return int(value == 0 if is_zero else value > 0)
    if not is_zero and (low > 0 or high <= 0):
        return int(low > 0)
    match value.terms:
        case ((((Indicator(), 1),), 1),) if not is_zero:
            return value
    if is_zero and not value.can_be_zero():
        return 0
    compared = -value if is_zero and value.terms[-1][1] < 0 else value  # a - b is zero where b - a is
    return value.of({((Indicator(compared, is_zero), 1),): 1})


def named(name: str, value: int) -> int:
    """Return VALUE under a name, which no other expression has; a plain int as it is."""
    return value.of({((Named(name, value), 1),): 1}) if isinstance(value, Symbolic) else value


def factor(divisor: int) -> int:
    """Return the word by which kernels divide numbers of 31 bits by DIVISOR: a multiplier below, a shift above 32 bits.

    The quotient of n is (n + (n * multiplier >> 32)) >> shift. Divisors of more bits, and those that nothing is divided by, have 0.

    Source: Granlund and Montgomery, Division by Invariant Integers using Multiplication, PLDI 1994, figure 4.1.
    """
    if isinstance(divisor, Symbolic):
        return divisor.of({((Factor(divisor), 1),): 1})
    if not 0 < divisor < 2**31:
        return 0
    shift = (divisor - 1).bit_length()
    return shift << 32 | ((1 << 32) * ((1 << shift) - divisor) // divisor + 1)


def whole(number: Rounded, of: Make) -> int:
    """Return a rounded number as an integer: a plain one where no run decides it, else what OF makes of the atom."""
    known = _float(number.value)
    if known is not None and isfinite(known):
        return floor(known) if number.manner == "floor" else ceil(known) if number.manner == "ceil" else round(known)
    return of({((number, 1),): 1})


def _float(value: Float) -> float | None:
    """Return a number of double precision, None where it depends on a run or is none."""
    if not isinstance(value, FloatOperation):
        return None if isinstance(value, FloatElement | Symbolic) else float(value)
    left, right = _float(value.left), _float(value.right)
    if left is None or right is None or (value.function == "divide" and right == 0):
        return None
    match value.function:
        case "add":
            return left + right
        case "subtract":
            return left - right
        case "multiply":
            return left * right
        case "divide":
            return left / right
        case _:
            return c_float(left).value

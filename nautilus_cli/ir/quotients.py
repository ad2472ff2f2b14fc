"""Quotients rounded down: a polynomial where one is found, else an atom."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from nautilus_cli.ir.dims import Atom, Make, Monomial, Quotient, Symbolic, lower, same, upper
from nautilus_cli.ir.occurrences import atoms
from nautilus_cli.ir.terms import ratio, terms_of
from nautilus_cli.ir.undecided import UndecidedError

_MOST_STEPS = 64
"""Steps of a polynomial division before it is given up."""


def quotient(dividend: int, divisor: int) -> int:
    """Return the quotient rounded down."""
    if upper(divisor) < 0:
        dividend, divisor = -dividend, -divisor
    if lower(divisor) <= 0:
        if same(divisor, 0):
            raise ZeroDivisionError("integer division or modulo by zero")
        exact = exact_divmod(dividend, divisor) if lower(divisor) == 0 else None
        if exact is None:
            raise UndecidedError(divisor, "equals", 0)
        return exact[0]  # what it is for all others; by 0 nothing is divided
    if not isinstance(divisor, Symbolic):
        return _by_number(dividend, divisor)
    found = _polynomial(dividend, divisor)
    return found if found is not None else _atom_or_number(Quotient(dividend, divisor), divisor.of)


def divides(divisor: int, value: int) -> bool:
    """Whether VALUE is a multiple of DIVISOR whatever the dimensions are; of one that may be 0, for all others and 0 itself."""
    if isinstance(divisor, Symbolic) and divisor.low <= 0:
        return exact_divmod(value, divisor) is not None
    return same(value % divisor, 0)


def exact_divmod(dividend: int, divisor: int) -> tuple[int, int] | None:
    """Return quotient and remainder where both are polynomials, the remainder proven to lie in [0, DIVISOR); None where they are not.

    By a divisor that may be 0, what it divides without a remainder: that is right where it is 0, too.
    """
    if not isinstance(divisor, Symbolic):
        whole = dividend // divisor
        return None if _has_new_quotient(whole, dividend) else (whole, dividend - divisor * whole)
    found = _polynomial(dividend, divisor)
    if found is None:
        return None
    rest = dividend - found * divisor
    return None if divisor.low <= 0 and not same(rest, 0) else (found, rest)


def _by_number(dividend: int, divisor: int) -> int:
    """Divide term by term as far as coefficients are multiples; bring what is left to one form."""
    if not isinstance(dividend, Symbolic):
        return dividend // divisor
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, coefficient in dividend.terms:
        if not monomial or coefficient % divisor == 0:
            whole[monomial], left = divmod(coefficient, divisor)
        else:
            left = coefficient
        rest[monomial] = left
    outside, inside = dividend.of(whole), dividend.of(rest)
    if lower(inside) // divisor == upper(inside) // divisor:
        return outside + lower(inside) // divisor
    assert isinstance(inside, Symbolic)
    variable = [(monomial, coefficient) for monomial, coefficient in inside.terms if monomial]
    constant = dict(inside.terms).get((), 0)
    if variable[0][1] < 0:  # -(-a // b), the usual text of a quotient rounded up, has the form of (a + b - 1) // b
        return outside - (-inside + divisor - 1) // divisor
    common = gcd(divisor, *(coefficient for _, coefficient in variable))
    if common > 1:
        reduced = dividend.of({monomial: coefficient // common for monomial, coefficient in variable}) + constant // common
        return outside + reduced // (divisor // common)
    if len(variable) == 1 and variable[0][1] == 1 and len(variable[0][0]) == 1:
        atom, power = variable[0][0][0]
        if power == 1 and isinstance(atom, Quotient) and not isinstance(atom.divisor, Symbolic):
            return outside + (atom.dividend + constant * atom.divisor) // (atom.divisor * divisor)
    return outside + _atom_or_number(Quotient(inside, divisor), dividend.of)


def _polynomial(dividend: int, divisor: Symbolic) -> int | None:
    """Return the quotient where it is a polynomial: by long division whose rest lies in [0, DIVISOR)."""
    every = sorted({*_atoms(dividend), *_atoms(divisor)}, key=str)

    def degree(monomial: Monomial) -> tuple[int, ...]:
        powers = dict(monomial)
        return sum(powers.values()), *(powers.get(atom, 0) for atom in every)

    leading, coefficient = max(divisor.terms, key=lambda term: degree(term[0]))
    result, rest = 0, dividend
    for _ in range(_MOST_STEPS):
        if same(rest, 0) or (lower(rest) >= 0 and lower(divisor - rest) > 0):
            return result
        candidates = [term for term in terms_of(rest) or () if term[1] % coefficient == 0 and ratio(term[0], leading) is not None]
        if not candidates:
            return None
        monomial, multiple = max(candidates, key=lambda term: degree(term[0]))
        factor = ratio(monomial, leading)
        assert factor is not None
        step = divisor.of({factor: multiple // coefficient})
        result, rest = result + step, rest - step * divisor
    return None


def _has_new_quotient(value: int, source: int) -> bool:
    known = set(_atoms(source))
    return any(isinstance(atom, Quotient) and atom not in known for atom in _atoms(value))


def _atoms(value: int) -> Iterable[Atom]:
    return atoms(value) if isinstance(value, Symbolic) else ()


def _atom_or_number(atom: Quotient, of: Make) -> int:
    low, high = atom.bounds
    return low if low == high else of({((atom, 1),): 1})

"""Monomials and terms, of which polynomials are sums."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Iterable
from functools import lru_cache

from nautilus_cli.ir.dims import Atom, Indicator, Monomial, Symbol, Symbolic


def terms_of(value: object) -> Iterable[tuple[Monomial, int]] | None:
    """Return the terms of an integer, None of anything else."""
    if isinstance(value, Symbolic):
        return value.terms
    if type(value) is int:
        return (((), value),)
    return (((), operator.index(value)),) if isinstance(value, numbers.Integral) else None


def plain(value: int) -> int:
    """Return a symbolic or a Python integer for any integer, those of numpy included."""
    return value if isinstance(value, Symbolic) else operator.index(value)


def product(left: Monomial, right: Monomial) -> Monomial:
    """Return the product of two monomials."""
    if not left or not right:
        return left or right
    powers = dict(left)
    for atom, power in right:
        powers[atom] = 1 if isinstance(atom, Indicator) else powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: atom_text(item[0])))


def ratio(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """Return a monomial divided by another, None where it is no multiple of it."""
    powers = dict(monomial)
    for atom, power in divisor:
        left = powers.get(atom, 0) - power
        if left < 0:
            return None
        powers[atom] = left
    return tuple((atom, power) for atom, power in powers.items() if power)


def degree(monomial: Monomial) -> int:
    """Return how many atoms are multiplied."""
    return sum(power for _, power in monomial)


def monomial_text(monomial: Monomial) -> str:
    """Return a monomial as the text by which monomials are ordered."""
    return "*".join(f"{atom_text(atom)}^{power}" for atom, power in monomial)


@lru_cache(maxsize=1 << 14)
def atom_text(atom: Atom) -> str:
    """Return an atom as the text by which atoms are ordered."""
    return str(atom)


def term_text(monomial: Monomial, coefficient: int) -> str:
    """Return a term as text; a coefficient that a symbol's divisor divides undoes it."""
    pieces = []
    for atom, power in monomial:
        text = str(atom)
        if isinstance(atom, Symbol) and atom.divisor > 1:
            if coefficient % atom.divisor**power == 0:
                coefficient //= atom.divisor**power
                text = atom.name
            else:
                text = f"({text})"
        pieces += [text] * power
    return "*".join([*([str(coefficient)] if coefficient != 1 or not pieces else []), *pieces])

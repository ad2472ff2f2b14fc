"""Symbolic integers with other values for what they depend on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from nautilus_cli.ir.dims import (
    Atom,
    Factor,
    Float,
    FloatElement,
    FloatOperation,
    Indicator,
    Make,
    Maximum,
    Monomial,
    Named,
    Quotient,
    Rounded,
    Symbol,
    Symbolic,
)
from nautilus_cli.ir.functions import factor, indicator, maximum, named, whole
from nautilus_cli.ir.terms import product


def substitute(value: int, sizes: Mapping[str, int]) -> int:
    """Return VALUE with dimensions replaced by sizes, or by other expressions; those without a name in SIZES stay."""
    if not isinstance(value, Symbolic):
        return value
    total = 0
    for monomial, coefficient in value.terms:
        term = coefficient
        for atom, power in monomial:
            term = term * _replaced(atom, sizes, value.of) ** power
        total = total + term
    return total


def _replaced(atom: Atom, sizes: Mapping[str, int], of: Make) -> int:
    match atom:
        case Symbol():
            return sizes[atom.name] // atom.divisor if atom.name in sizes else of({((atom, 1),): 1})
        case Quotient():
            return substitute(atom.dividend, sizes) // substitute(atom.divisor, sizes)
        case Maximum():
            return maximum(*(substitute(operand, sizes) for operand in atom.operands))
        case Indicator():
            return indicator(substitute(atom.value, sizes), is_zero=atom.is_zero)
        case Named():
            return named(atom.name, substitute(atom.value, sizes))  # written out, a product of such would grow with the product of terms
        case Factor():
            return factor(substitute(atom.divisor, sizes))
        case Rounded():
            return whole(replace(atom, value=substitute_float(atom.value, sizes)), of)


def substitute_float(value: Float, sizes: Mapping[str, int]) -> Float:
    """Return a number of double precision with dimensions in it replaced as `substitute` does."""
    if isinstance(value, FloatOperation):
        return FloatOperation(value.function, substitute_float(value.left, sizes), substitute_float(value.right, sizes))
    return value if isinstance(value, FloatElement) else substitute(value, sizes)


def at_least_one(value: int, positive: Collection[Atom]) -> int:
    """Return VALUE where atoms are known to be POSITIVE: symbols of their names and bounds, from 1 on, stand for those that may be less."""
    if not isinstance(value, Symbolic):
        return value
    names = {atom: Symbol(str(atom), 1, max(1, atom.bounds[1])) for atom in positive if atom.bounds[0] < 1}
    if not names:
        return value
    total: dict[Monomial, int] = {}
    for monomial, coefficient in value.terms:
        larger: Monomial = ()
        for atom, power in monomial:
            larger = product(larger, ((names.get(atom, atom), power),))
        total[larger] = total.get(larger, 0) + coefficient
    return value.of(total)

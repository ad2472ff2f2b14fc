"""What a symbolic integer depends on: its atoms, and the symbols and elements in them, however deep."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from nautilus_cli.ir.dims import (
    Atom,
    Factor,
    Float,
    FloatElement,
    FloatOperation,
    Indicator,
    Maximum,
    Named,
    Quotient,
    Rounded,
    Symbol,
    Symbolic,
    Terms,
)
from nautilus_cli.ir.terms import terms_of


def atoms(value: Symbolic) -> Iterator[Atom]:
    """Yield the atoms of the outermost polynomial, each once."""
    yield from dict.fromkeys(atom for monomial, _ in value.terms for atom, _ in monomial)


def factors(value: int) -> frozenset[Atom]:
    """Return atoms each of which VALUE is a multiple of."""
    monomials = [{atom for atom, _ in monomial} for monomial, _ in terms_of(value) or ()]
    return frozenset(set.intersection(*monomials)) if monomials else frozenset()


def symbols(value: object) -> frozenset[Symbol]:
    """Return the named dimensions that VALUE depends on."""
    return _symbols(value.terms) if isinstance(value, Symbolic) else frozenset()


@lru_cache(maxsize=1 << 14)
def _symbols(terms: Terms) -> frozenset[Symbol]:
    found: set[Symbol] = set()
    for atom in dict.fromkeys(atom for monomial, _ in terms for atom, _ in monomial):
        match atom:
            case Symbol():
                found.add(atom)
            case Quotient():
                found |= symbols(atom.dividend) | symbols(atom.divisor)
            case Maximum():
                found = found.union(*map(symbols, atom.operands))
            case Indicator() | Named():
                found |= symbols(atom.value)
            case Factor():
                found |= symbols(atom.divisor)
            case Rounded():
                found = found.union(*map(symbols, integers_of(atom.value)))
    return frozenset(found)


def follows_from_values(value: int) -> bool:
    """Whether VALUE depends on more than dimensions: on elements of inputs, or on what a kernel gives."""
    if not isinstance(value, Symbolic):
        return False
    return any(_atom_follows_from_values(atom) for atom in atoms(value))


def _atom_follows_from_values(atom: Atom) -> bool:
    match atom:
        case Symbol():
            return atom.source is not None
        case Quotient():
            return follows_from_values(atom.dividend) or follows_from_values(atom.divisor)
        case Maximum():
            return any(map(follows_from_values, atom.operands))
        case Indicator() | Named():
            return follows_from_values(atom.value)
        case Factor():
            return follows_from_values(atom.divisor)
        case Rounded():
            return True


def integers_of(value: Float) -> Iterator[int]:
    """Yield the integers in a number of double precision."""
    if isinstance(value, FloatOperation):
        yield from integers_of(value.left)
        yield from integers_of(value.right)
    elif not isinstance(value, FloatElement):
        yield value


def float_elements(value: object) -> frozenset[FloatElement]:
    """Return the elements of float inputs that VALUE depends on."""
    found: frozenset[FloatElement] = frozenset()
    for atom in atoms(value) if isinstance(value, Symbolic) else ():
        match atom:
            case Quotient():
                found |= float_elements(atom.dividend) | float_elements(atom.divisor)
            case Maximum():
                found = found.union(*map(float_elements, atom.operands))
            case Indicator() | Named():
                found |= float_elements(atom.value)
            case Rounded():
                found |= _float_leaves(atom.value).union(*map(float_elements, integers_of(atom.value)))
    return found


def _float_leaves(value: Float) -> frozenset[FloatElement]:
    if isinstance(value, FloatOperation):
        return _float_leaves(value.left) | _float_leaves(value.right)
    return frozenset([value]) if isinstance(value, FloatElement) else frozenset()

"""Numbers that kernels give: which expressions depend on one, and what they can be at most.

The host plans by bounds that it knows before a run: buffers, grids and the shapes that callers allocate for. Kernels read the numbers
themselves from device memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from nautilus_cli.ir.binding import bind, expressions
from nautilus_cli.ir.control import bodies, own_attributes
from nautilus_cli.ir.dims import (
    Atom,
    Count,
    Factor,
    HostCount,
    Indicator,
    Maximum,
    Monomial,
    Named,
    Quotient,
    Rounded,
    Symbol,
    Symbolic,
    lower,
    upper,
)
from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.polynomial import Polynomial
from nautilus_cli.ir.types import DType


def counts_in(value: object) -> frozenset[Symbol]:
    """Return the counts on which an integer, or a tree of dataclasses and tuples, depends; not those that the host reads."""
    return frozenset(s for s in given_in(value) if not isinstance(s.source, HostCount))


def given_in(value: object) -> frozenset[Symbol]:
    """Return the numbers that kernels give on which an integer, or a tree of dataclasses and tuples, depends."""
    return frozenset(s for e in expressions(value) for s in symbols(e) if isinstance(s.source, Count))


def reads_in(value: object) -> frozenset[Symbol]:
    """Return the numbers among them that the host reads while the model runs."""
    return frozenset(s for s in given_in(value) if isinstance(s.source, HostCount))


def before_reads(value: int) -> int:
    """Return VALUE with 0 in place of the numbers that the host reads: what is known of it as long as it has read none."""
    reads = reads_in(value)
    return bind(value, {symbol.name: 0 for symbol in reads}) if reads else value


def counts_of(node: Node) -> frozenset[Symbol]:
    """Return the numbers of kernels that a node needs to know: those of its operands, its results and its attributes.

    Of a node that holds graphs they are those of the nodes in these, of which some may come from such a node.
    """
    found = given_in(own_attributes(node.attrs))
    for body in bodies(node.attrs):
        found = found.union(*map(counts_of, body.nodes))
    for value in (*node.operands(), *node.results()):
        found |= counts_of_value(value)
    return found


def counts_of_value(value: Value) -> frozenset[Symbol]:
    """Return the numbers of kernels that the shape of a value depends on, and what is known of its contents."""
    found = given_in(value.type.shape)
    return found if value.contents is None else found | given_in(tuple(value.contents.reshape(-1)))


def linear(value: int) -> tuple[Symbol, int, int] | None:
    """Return (count, factor, offset) where VALUE is a count times a number and plus one, None where it is made of it otherwise."""
    if not isinstance(value, Symbolic):
        return None
    match value.terms:
        case ((((Symbol(source=Count()) as symbol, 1),), factor),):
            found = symbol, factor, 0
        case (((), offset), (((Symbol(source=Count()) as symbol, 1),), factor)):
            found = symbol, factor, offset
        case _:
            return None
    return found if counts_in(value) else None


def ceiling(value: int) -> int:
    """Return an expression without counts that VALUE never exceeds, whatever they are."""
    if not counts_in(value):
        return value
    limit, most = _limit(value, is_upper=True), upper(value)
    return minimum(limit, most) if most < upper(limit) else limit  # n % 4 is 3 at most, which its terms do not show


def room(shape: Sequence[int], dtype: DType) -> int:
    """Return the bytes of a dense tensor, each of whose dimensions is what it can be at most.

    Whoever takes memory, fills it or copies it goes by this number. The ceiling of the number of bytes itself may be another one: of the
    sizes of a tensor the greatest product is not always the product of the greatest.
    """
    return prod(map(ceiling, shape)) * dtype.bytes


def _limit(value: int, *, is_upper: bool) -> int:
    if not isinstance(value, Symbolic):
        return value
    total = 0
    for monomial, coefficient in value.terms:
        total = total + coefficient * _monomial_limit(monomial, is_upper=is_upper == (coefficient > 0))
    return total


def _monomial_limit(monomial: Monomial, *, is_upper: bool) -> int:
    known = tuple(item for item in monomial if item[0].bounds[0] >= 0 and not counts_in(Polynomial.of({(item,): 1})))
    rest = tuple(item for item in monomial if item not in known)
    factor = Polynomial.of({known: 1})
    match rest:
        case ():
            return factor
        case ((atom, 1),):  # of either sign: what it is multiplied with has none
            return factor * _atom_limit(atom, is_upper=is_upper)
    if any(atom.bounds[0] < 0 for atom, _ in rest):
        product = Polynomial.of({rest: 1})
        return factor * (upper(product) if is_upper else lower(product))
    for atom, power in rest:
        limit = _atom_limit(atom, is_upper=is_upper)
        factor = factor * (limit if is_upper else maximum(0, limit)) ** power  # two limits below zero would be one above the product
    return factor


def _atom_limit(atom: Atom, *, is_upper: bool) -> int:
    plain = Polynomial.of({((atom, 1),): 1})
    if not counts_in(plain):
        return plain
    match atom:
        case Symbol(source=Count() as source):  # none that the host reads: `plain` depends on a count
            return source.bound if is_upper else atom.low
        case Quotient() if lower(atom.dividend) < 0 and counts_in(atom.divisor):
            return atom.bounds[1] if is_upper else atom.bounds[0]  # which divisor is the extreme one depends on the dividend's sign
        case Quotient():
            divisor = maximum(1, _limit(atom.divisor, is_upper=not is_upper))
            return _limit(atom.dividend, is_upper=is_upper) // divisor
        case Maximum():
            return maximum(*(_limit(operand, is_upper=is_upper) for operand in atom.operands))
        case Named():
            return _limit(atom.value, is_upper=is_upper)
        case Indicator() | Rounded() | Factor() | Symbol():
            return atom.bounds[1] if is_upper else atom.bounds[0]

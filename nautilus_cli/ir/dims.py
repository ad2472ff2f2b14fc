"""Symbolic integers: dimensions that are known by name and range until the model runs.

A `Symbolic` stands where an int stands: shape rules, index maps and the geometry of kernels compute with it by Python's own operators.
It is a polynomial with integer coefficients in atoms: named symbols, floor quotients, maxima and indicators. The form is canonical as far
as the rules below reach, so that equal expressions compare and hash equal; what has one value only is a plain int.

A comparison is decided by the bounds of the difference. One that holds for some values of the symbols and fails for others raises
`UndecidedError`: code that goes on either way asks `same`, or for `lower` and `upper`, instead.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from ctypes import c_float
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, gcd, isfinite
from typing import TYPE_CHECKING

from nautilus_cli.errors import ModelError

if TYPE_CHECKING:  # to the type checker a symbolic integer is an int, which is how the code that computes with it sees it
    _Integer = int
else:
    _Integer = object

_MOST_STEPS = 64
"""Steps of a polynomial division before it is given up."""

_MOST_RELAXED = 2
"""Quotients and maxima of a sum up to which bounds are looked for that hold without one of them: each may bring others in."""

_MOST_INDICATORS = 8
"""Indicators in a sum up to which its bounds are looked for case by case."""

_MOST_FACTORS = 24
"""Atoms of all terms together up to which closer bounds are looked for: what is expanded grows with their number."""


class UndecidedError(ModelError):
    """A comparison that holds for some values of the dimensions in their ranges and fails for others.

    Attributes:
        left, right: what was compared.
        relation: how, in words: `equals`, `is at most`, `is less than`.
    """

    def __init__(self, left: int, relation: str, right: int) -> None:
        ranges = ", ".join(f"{s.name} = {s.low}..{s.high}" for s in sorted(symbols(left) | symbols(right), key=_name))
        super().__init__(
            f"whether {left} {relation} {right} depends on the sizes with which the model runs ({ranges})",
            hint="A range in which it holds, or fails, throughout is right.",
        )
        self.left = left
        self.relation = relation
        self.right = right


@dataclass(frozen=True, slots=True)
class Element:
    """An element of an input, which the host reads when a run begins.

    Attributes:
        input: the input's name.
        index: of the element, in row-major order.
        saturates: whether a value outside the symbol's range stands for the nearest one in it; else it is an error of the run.
    """

    input: str
    index: int
    saturates: bool = False


@dataclass(frozen=True, slots=True)
class Count:
    """A number that a kernel writes while the model runs: how many elements are not zero, how many boxes are kept.

    Attributes:
        bound: the greatest that it can be, an expression of what is known before.
    """

    bound: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named integer: a dimension of an input, or what `source` says. As an atom it stands for its value divided by `divisor`.

    Attributes:
        name: as users see it.
        low: smallest value, a multiple of `divisor`.
        high: largest value, a multiple of `divisor`.
        divisor: of every value.
        source: where the value comes from; None for a dimension of an input.
    """

    name: str
    low: int
    high: int
    divisor: int = 1
    source: Element | Count | None = None

    @property
    def bounds(self) -> tuple[int, int]:
        """Least and greatest value of the atom."""
        return self.low // self.divisor, self.high // self.divisor

    def __str__(self) -> str:
        return self.name if self.divisor == 1 else f"{self.name}/{self.divisor}"


@dataclass(frozen=True, slots=True)
class Quotient:
    """A quotient rounded down that is no polynomial."""

    dividend: int
    divisor: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quotient) and same((self.dividend, self.divisor), (other.dividend, other.divisor))

    @property
    def bounds(self) -> tuple[int, int]:
        """Least and greatest value; the divisor is positive."""
        found = [a // b for a in (lower(self.dividend), upper(self.dividend)) for b in (lower(self.divisor), upper(self.divisor))]
        return min(found), max(found)

    def __str__(self) -> str:
        return f"floor({_grouped(self.dividend)}/{_grouped(self.divisor)})"


@dataclass(frozen=True, slots=True)
class Maximum:
    """The greatest of several integers of which none always is."""

    operands: tuple[int, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Maximum) and same(self.operands, other.operands)

    @property
    def bounds(self) -> tuple[int, int]:
        """Least and greatest value."""
        return max(map(lower, self.operands)), max(map(upper, self.operands))

    def __str__(self) -> str:
        return f"max({', '.join(map(str, self.operands))})"


@dataclass(frozen=True, slots=True)
class Indicator:
    """1 where an integer is zero (`is_zero`) or positive (else), 0 where it is not: equal to its own powers."""

    value: int
    is_zero: bool

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Indicator) and self.is_zero == other.is_zero and same(self.value, other.value)

    @property
    def bounds(self) -> tuple[int, int]:
        """Least and greatest value."""
        return 0, 1

    def __str__(self) -> str:
        return f"[{self.value} {'=' if self.is_zero else '>'} 0]"


@dataclass(frozen=True, slots=True)
class Named:
    """An expression that stands under a name, where written out it would be long; equal to what has its name and value."""

    name: str
    value: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and self.name == other.name and same(self.value, other.value)

    def __hash__(self) -> int:
        return hash((self.name, self.value))

    @property
    def bounds(self) -> tuple[int, int]:
        """Least and greatest value."""
        return lower(self.value), upper(self.value)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Factor:
    """What the division by an integer becomes a product with: `factor` of it."""

    divisor: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Factor) and same(self.divisor, other.divisor)

    def __hash__(self) -> int:
        return hash(("factor", self.divisor))

    @property
    def bounds(self) -> tuple[int, int]:
        """Least and greatest value: a shift up to 31 above 32 bits."""
        return 0, 1 << 37

    def __str__(self) -> str:
        return f"factor({self.divisor})"


@dataclass(frozen=True, slots=True)
class FloatElement:
    """An element of a float input, as `Rounded` reads it; of type f16, bf16, f32 or f64."""

    input: str
    index: int


@dataclass(frozen=True, slots=True)
class FloatOperation:
    """An operation of double precision: `add`, `subtract`, `multiply`, `divide`, or `single`, which rounds LEFT to f32.

    An operand is an integer (an expression of dimensions), an element, or a result.
    """

    function: str
    left: Float
    right: Float = 0


Float = int | FloatElement | FloatOperation


@dataclass(frozen=True, slots=True)
class Rounded:
    """A number of double precision that the host works out from elements of float inputs, rounded to an integer.

    Attributes:
        value: the number.
        manner: `floor`, `ceil` or `even` (to nearest, ties to even).
        low: least value; a run in which it is less, or no number, is an error.
        high: greatest value.
        name: what it is, for errors.
    """

    value: Float
    manner: str
    low: int
    high: int
    name: str

    @property
    def bounds(self) -> tuple[int, int]:
        """Least and greatest value."""
        return self.low, self.high

    def __str__(self) -> str:
        return self.name


Atom = Symbol | Quotient | Maximum | Indicator | Named | Rounded | Factor
Monomial = tuple[tuple[Atom, int], ...]
"""A product of powers, in the order of the atoms' text; the empty one is 1."""


class Symbolic(_Integer):
    """An integer that depends on named dimensions.

    Attributes:
        terms: monomials with their coefficients, none zero, in a fixed order.
        low, high: bounds of the value, not always the closest.
    """

    __slots__ = ("_hash", "high", "low", "terms")

    terms: tuple[tuple[Monomial, int], ...]
    low: int
    high: int
    _hash: int

    @staticmethod
    def of(terms: Mapping[Monomial, int]) -> int:
        """Return the sum of TERMS, as a plain int where it is one."""
        kept = {monomial: coefficient for monomial, coefficient in terms.items() if coefficient}
        if not kept.keys() - {()}:
            return kept.get((), 0)
        made = object.__new__(Symbolic)
        made.terms = tuple(sorted(kept.items(), key=lambda term: _text(term[0])))
        # Odd numbers: -1 and -2 have one hash, and expressions of which nobody knows whether they are equal must not meet in a table.
        made._hash = hash(tuple((monomial, 2 * coefficient + 1) for monomial, coefficient in made.terms))
        made.low, made.high = _bounds(made.terms)
        return made

    def __add__(self, other: int) -> int:
        found = _terms(other)
        if found is None:
            return NotImplemented
        total = dict(self.terms)
        for monomial, coefficient in found:
            total[monomial] = total.get(monomial, 0) + coefficient
        return Symbolic.of(total)

    __radd__ = __add__

    def __neg__(self) -> int:
        return Symbolic.of({monomial: -coefficient for monomial, coefficient in self.terms})

    def __pos__(self) -> int:
        return self

    def __sub__(self, other: int) -> int:
        return self + -_plain(other)

    def __rsub__(self, other: int) -> int:
        return -self + other

    def __mul__(self, other: int) -> int:
        found = _terms(other)
        if found is None:
            return NotImplemented
        total: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in found:
                monomial = _product(left, right)
                total[monomial] = total.get(monomial, 0) + a * b
        return Symbolic.of(total)

    __rmul__ = __mul__

    def __pow__(self, exponent: int, modulus: None = None) -> int:  # type: ignore[override]
        result = 1
        for _ in range(exponent):
            result = result * self
        return result

    def __floordiv__(self, other: int) -> int:
        return _quotient(self, _plain(other))

    def __rfloordiv__(self, other: int) -> int:
        return _quotient(_plain(other), self)

    def __mod__(self, other: int) -> int:
        return self - _plain(other) * (self // other)

    def __rmod__(self, other: int) -> int:
        return _plain(other) - self * (_plain(other) // self)

    def __divmod__(self, other: int) -> tuple[int, int]:
        return self // other, self % other

    def __rdivmod__(self, other: int) -> tuple[int, int]:
        return _plain(other) // self, _plain(other) % self

    def __abs__(self) -> int:
        return maximum(self, -self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Symbolic | numbers.Integral):
            return NotImplemented
        if same(self, other):
            return True
        difference = self - other
        if not isinstance(difference, Symbolic):
            return difference == 0
        if not difference.can_be_zero():
            return False
        raise UndecidedError(self, "equals", other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __lt__(self, other: int) -> bool:
        return self._is_below(other, 0, "is less than")

    def __le__(self, other: int) -> bool:
        return self._is_below(other, 1, "is at most")

    def __gt__(self, other: int) -> bool:
        return not self._is_below(other, 1, "is at most")

    def __ge__(self, other: int) -> bool:
        return not self._is_below(other, 0, "is less than")

    def __bool__(self) -> bool:
        return self != 0

    def __hash__(self) -> int:
        return self._hash

    def __index__(self) -> int:
        raise ModelError(f"the size {self} is only known when the model runs")

    __int__ = __trunc__ = __index__

    def __float__(self) -> float:
        raise ModelError(f"the size {self} is only known when the model runs")

    def __truediv__(self, other: object) -> float:
        return float(self)

    __rtruediv__ = __truediv__

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        text = ""
        for monomial, coefficient in sorted(self.terms, key=lambda term: not term[0]):
            piece = _term_text(monomial, abs(coefficient))
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} {piece}" if text else piece if coefficient > 0 else f"-{piece}"
        return text

    def can_be_zero(self) -> bool:
        """Whether bounds and divisors allow the value zero."""
        if self.low > 0 or self.high < 0:
            return False
        constant = dict(self.terms).get((), 0)
        common = gcd(*(coefficient for monomial, coefficient in self.terms if monomial))
        return constant % common == 0

    def _is_below(self, other: int, margin: int, relation: str) -> bool:
        """Decide self - other < MARGIN."""
        difference = self - other
        if upper(difference) < margin:
            return True
        if lower(difference) >= margin:
            return False
        raise UndecidedError(self, relation, other)


def element(source: Element, name: str, low: int, high: int) -> int:
    """Return the element of an input, an integer from LOW to HIGH; symbolic even where only one value is left, since it is checked."""
    return Symbolic.of({((Symbol(name, low, high, 1, source), 1),): 1})


def symbol(name: str, low: int, high: int, divisor: int = 1) -> int:
    """Return a named dimension with sizes LOW to HIGH, multiples of DIVISOR; a plain int where only one is left.

    Raises:
        ModelError: no size is left.
    """
    first, last = -(-low // divisor) * divisor, high // divisor * divisor
    if low < 0 or divisor < 1 or first > last:
        multiples = f" that is a multiple of {divisor}" if divisor != 1 else ""
        raise ModelError(f"dimension {name} has no size in {low}..{high}{multiples}")
    if first == last:
        return first
    return Symbolic.of({((Symbol(name, first, last, divisor), 1),): divisor})


def count(name: str, bound: int) -> int:
    """Return a number from 0 to BOUND that a kernel writes while the model runs; a plain 0 where there can be nothing to count."""
    if same(bound, 0):
        return 0
    return Symbolic.of({((Symbol(name, 0, upper(bound), 1, Count(bound)), 1),): 1})


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
    if is_zero and value.terms[-1][1] < 0:  # a - b is zero where b - a is
        value = -value
    return Symbolic.of({((Indicator(value, is_zero), 1),): 1})


def rounded(value: Float, manner: str, low: int, high: int, name: str) -> int:
    """Return a number that the host works out from elements of float inputs, as an integer: see `Rounded`."""
    known = _float(value)
    if known is not None and isfinite(known):
        return floor(known) if manner == "floor" else ceil(known) if manner == "ceil" else round(known)
    return Symbolic.of({((Rounded(value, manner, low, high, name), 1),): 1})


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


def named(name: str, value: int) -> int:
    """Return VALUE under a name, which no other expression has; a plain int as it is."""
    return Symbolic.of({((Named(name, value), 1),): 1}) if isinstance(value, Symbolic) else value


def factor(divisor: int) -> int:
    """Return the word by which kernels divide numbers of 31 bits by DIVISOR: a multiplier below, a shift above 32 bits.

    The quotient of n is (n + (n * multiplier >> 32)) >> shift. Divisors of more bits, and those that nothing is divided by, have 0.

    Source: Granlund and Montgomery, Division by Invariant Integers using Multiplication, PLDI 1994, figure 4.1.
    """
    if isinstance(divisor, Symbolic):
        return Symbolic.of({((Factor(divisor), 1),): 1})
    if not 0 < divisor < 2**31:
        return 0
    shift = (divisor - 1).bit_length()
    return shift << 32 | ((1 << 32) * ((1 << shift) - divisor) // divisor + 1)


def lower(value: int) -> int:
    """Return a bound that VALUE is never below."""
    return value.low if isinstance(value, Symbolic) else value


def upper(value: int) -> int:
    """Return a bound that VALUE is never above."""
    return value.high if isinstance(value, Symbolic) else value


def is_symbolic(value: object) -> bool:
    """Whether VALUE depends on a dimension that is not known yet."""
    return isinstance(value, Symbolic)


def same(left: object, right: object) -> bool:
    """Whether two integers are equal whatever the dimensions are; never undecided. Tuples are compared item by item."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, Symbolic) or isinstance(right, Symbolic):
        return left is right or (hash(left) == hash(right) and getattr(left, "terms", None) == getattr(right, "terms", ()))
    return left == right


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
        quotient = dividend // divisor
        return None if _has_new_quotient(quotient, dividend) else (quotient, dividend - divisor * quotient)
    found = _polynomial_quotient(dividend, divisor)
    if found is None:
        return None
    rest = dividend - found * divisor
    return None if divisor.low <= 0 and not same(rest, 0) else (found, rest)


def maximum(first: int, *others: int) -> int:
    """Return the greatest of integers, as an expression where that depends on the dimensions."""
    if not any(isinstance(value, Symbolic) for value in (first, *others)):
        return max(first, *others) if others else first
    operands: list[int] = []
    for value in (first, *others):
        operands.extend(_operands(value))
    kept: list[int] = []
    for number, value in enumerate(operands):
        rivals = [*kept, *operands[number + 1 :]]
        if not any(lower(rival - value) >= 0 for rival in rivals):
            kept.append(value)
    if len(kept) == 1:
        return kept[0]
    return Symbolic.of({((Maximum(tuple(sorted(kept, key=str))), 1),): 1})


def minimum(first: int, *others: int) -> int:
    """Return the least of integers, as an expression where that depends on the dimensions."""
    return -maximum(-first, *(-value for value in others))


def symbols(value: object) -> frozenset[Symbol]:
    """Return the named dimensions that VALUE depends on."""
    if not isinstance(value, Symbolic):
        return frozenset()
    found: set[Symbol] = set()
    for atom in atoms(value):
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


def atoms(value: Symbolic) -> Iterator[Atom]:
    """Yield the atoms of the outermost polynomial, each once."""
    yield from dict.fromkeys(atom for monomial, _ in value.terms for atom, _ in monomial)


def factors(value: int) -> frozenset[Atom]:
    """Return atoms each of which VALUE is a multiple of."""
    monomials = [{atom for atom, _ in monomial} for monomial, _ in _terms(value) or ()]
    return frozenset(set.intersection(*monomials)) if monomials else frozenset()


def at_least_one(value: int, positive: Collection[Atom]) -> int:
    """Return VALUE where atoms are known to be POSITIVE: symbols of their names and bounds, from 1 on, stand for those that may be less."""
    if not isinstance(value, Symbolic):
        return value
    names = {atom: Symbol(str(atom), 1, max(1, atom.bounds[1])) for atom in positive if atom.bounds[0] < 1}
    if not names:
        return value
    total: dict[Monomial, int] = {}
    for monomial, coefficient in value.terms:
        product: Monomial = ()
        for atom, power in monomial:
            product = _product(product, ((names.get(atom, atom), power),))
        total[product] = total.get(product, 0) + coefficient
    return Symbolic.of(total)


def substitute(value: int, sizes: Mapping[str, int]) -> int:
    """Return VALUE with dimensions replaced by sizes, or by other expressions; those without a name in SIZES stay."""
    if not isinstance(value, Symbolic):
        return value
    total = 0
    for monomial, coefficient in value.terms:
        term = coefficient
        for atom, power in monomial:
            term = term * _replaced(atom, sizes) ** power
        total = total + term
    return total


def _replaced(atom: Atom, sizes: Mapping[str, int]) -> int:
    match atom:
        case Symbol():
            return sizes[atom.name] // atom.divisor if atom.name in sizes else Symbolic.of({((atom, 1),): 1})
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
            return rounded(substitute_float(atom.value, sizes), atom.manner, atom.low, atom.high, atom.name)


def substitute_float(value: Float, sizes: Mapping[str, int]) -> Float:
    """Return a number of double precision with dimensions in it replaced as `substitute` does."""
    if isinstance(value, FloatOperation):
        return FloatOperation(value.function, substitute_float(value.left, sizes), substitute_float(value.right, sizes))
    return value if isinstance(value, FloatElement) else substitute(value, sizes)


def _terms(value: object) -> Iterable[tuple[Monomial, int]] | None:
    """Return the terms of an integer, None of anything else."""
    if isinstance(value, Symbolic):
        return value.terms
    return (((), operator.index(value)),) if isinstance(value, numbers.Integral) else None


def _plain(value: int) -> int:
    """Return a symbolic or a Python integer for any integer, those of numpy included."""
    return value if isinstance(value, Symbolic) else operator.index(value)


def _product(left: Monomial, right: Monomial) -> Monomial:
    powers = dict(left)
    for atom, power in right:
        powers[atom] = 1 if isinstance(atom, Indicator) else powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: _atom_text(item[0])))


@lru_cache(maxsize=1 << 16)
def _bounds(terms: tuple[tuple[Monomial, int], ...]) -> tuple[int, int]:
    """Return bounds of a sum: those of its terms added up, and where terms of both signs vary, the closer ones after a shift."""
    cases = _cases(terms)
    if cases:
        return min(map(lower, cases)), max(map(upper, cases))
    low, high = _sum_of_bounds(terms, _monomial_bounds)
    varying = [(monomial, coefficient) for monomial, coefficient in terms if monomial]
    if all(c > 0 for _, c in varying) or all(c < 0 for _, c in varying) or sum(_degree(m) for m, _ in varying) > _MOST_FACTORS:
        return low, high
    shifted_low, shifted_high = _sum_of_bounds(_shifted(terms).items(), _shifted_bounds)
    low, high = max(low, shifted_low), min(high, shifted_high)
    if sum(not isinstance(atom, Symbol) for monomial, _ in varying for atom, _ in monomial) > _MOST_RELAXED:
        return low, high
    for bound, divisor, is_lower in _relaxed(varying, dict(terms).get((), 0)):
        if is_lower:
            low = max(low, -(-lower(bound) // divisor))
        else:
            high = min(high, upper(bound) // divisor)
    return low, high


def _cases(terms: tuple[tuple[Monomial, int], ...]) -> list[int]:
    """Return what a sum with indicators is in each case of the first of them and of those that exclude it; nothing where there are none.

    In a case the symbol that is compared with a number has that number, or a shorter range.
    """
    found = list(dict.fromkeys(atom for monomial, _ in terms for atom, _ in monomial if isinstance(atom, Indicator)))
    if not found or len(found) > _MOST_INDICATORS:
        return []
    first = found[0]
    group = [first, *(other for other in found[1:] if first.is_zero and other.is_zero and _is_number(other.value - first.value))]
    cases = [_case(terms, group, holding) for holding in group]
    rest = _case(terms, group, None)
    return [case for case in (*cases, rest) if case is not None]


def _is_number(value: int) -> bool:
    return not isinstance(value, Symbolic)


def _case(terms: tuple[tuple[Monomial, int], ...], group: Sequence[Indicator], holding: Indicator | None) -> int | None:
    """Return a sum where of a GROUP of indicators one holds, or none; None where that cannot be."""
    left: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        if any(atom in group and atom != holding for atom, _ in monomial):
            continue
        rest = tuple(item for item in monomial if item[0] != holding)
        left[rest] = left.get(rest, 0) + coefficient
    value = Symbolic.of(left)
    compared = [found for one in ([holding] if holding else group) if (found := _edge(one)) is not None]
    if not compared:
        return value
    atom, sign, edge = compared[0]
    low, high = atom.low, atom.high
    if group[0].is_zero and holding is not None:
        low, high = max(low, edge), min(high, edge)
    elif group[0].is_zero:
        edges = {number for other, _, number in compared if other == atom}
        while low <= high and low in edges:
            low += 1
        while low <= high and high in edges:
            high -= 1
    elif (holding is not None) == (sign > 0):  # above the edge, or not below it
        low = max(low, edge + int(sign > 0))
    else:
        high = min(high, edge - int(sign < 0))
    if low > high:
        return None
    narrow = low if low == high else Symbolic.of({((Symbol(atom.name, low, high, 1, atom.source), 1),): 1})
    return substitute(value, {atom.name: narrow})


def _edge(compared: Indicator) -> tuple[Symbol, int, int] | None:
    """Return the symbol that an indicator compares with a number, its sign, and the number; None where it compares other things."""
    if not isinstance(compared.value, Symbolic):
        return None
    match compared.value.terms:
        case ((((Symbol(divisor=1) as atom, 1),), (1 | -1) as sign),):
            return atom, sign, 0
        case (((), offset), (((Symbol(divisor=1) as atom, 1),), (1 | -1) as sign)):
            return atom, sign, -offset * sign
    return None


def _relaxed(varying: list[tuple[Monomial, int]], constant: int) -> Iterator[tuple[int, int, bool]]:
    """Yield expressions without one of the quotients or maxima that bound the sum: (expression, divisor, whether from below).

    A maximum is at least each operand; a quotient by a number lies within less than one below the exact one.
    """
    for number, (monomial, coefficient) in enumerate(varying):
        if len(monomial) != 1 or monomial[0][1] != 1:
            continue
        atom = monomial[0][0]
        rest = Symbolic.of({(): constant, **dict(varying[:number]), **dict(varying[number + 1 :])})
        if isinstance(atom, Maximum):
            for operand in atom.operands:
                yield rest + coefficient * operand, 1, coefficient > 0
        elif isinstance(atom, Quotient) and not isinstance(atom.divisor, Symbolic):
            exact = atom.divisor * rest + coefficient * atom.dividend
            cut = abs(coefficient) * (atom.divisor - 1)
            yield exact - (cut if coefficient > 0 else 0), atom.divisor, True
            yield exact + (0 if coefficient > 0 else cut), atom.divisor, False


def _sum_of_bounds(terms: Iterable[tuple[Monomial, int]], bounds: Callable[[Monomial], tuple[int, int]]) -> tuple[int, int]:
    low = high = 0
    for monomial, coefficient in terms:
        least, greatest = bounds(monomial)
        low += coefficient * (least if coefficient > 0 else greatest)
        high += coefficient * (greatest if coefficient > 0 else least)
    return low, high


def _shifted(terms: Iterable[tuple[Monomial, int]]) -> dict[Monomial, int]:
    """Return the same sum written in what each atom exceeds its least value by: m*n - m with m, n >= 1 has no negative term then."""
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        product: dict[Monomial, int] = {(): coefficient}
        for atom in (atom for atom, power in monomial for _ in range(power)):
            least = atom.bounds[0]
            grown: dict[Monomial, int] = {}
            for inner, factor in product.items():
                grown[inner] = grown.get(inner, 0) + factor * least
                larger = _product(inner, ((atom, 1),))
                grown[larger] = grown.get(larger, 0) + factor
            product = grown
        for inner, factor in product.items():
            total[inner] = total.get(inner, 0) + factor
    return total


def _shifted_bounds(monomial: Monomial) -> tuple[int, int]:
    """Return bounds of a product of what atoms exceed their least values by."""
    high = 1
    for atom, power in monomial:
        least, greatest = atom.bounds
        high *= (greatest - least) ** power
    return (0 if monomial else 1), high


def _degree(monomial: Monomial) -> int:
    return sum(power for _, power in monomial)


def _monomial_bounds(monomial: Monomial) -> tuple[int, int]:
    low = high = 1
    for atom, power in _without_undone_quotients(monomial):
        least, greatest = atom.bounds
        corners = [least**power, greatest**power, *([0] if least < 0 < greatest else [])]
        products = [a * b for a in (low, high) for b in corners]
        low, high = min(products), max(products)
    return low, high


def _without_undone_quotients(monomial: Monomial) -> Monomial:
    """Replace a quotient times its divisor, or times what its divisor is the maximum of, by what lies between zero and its dividend."""
    for atom, power in monomial:
        if not isinstance(atom, Quotient) or power != 1 or lower(atom.dividend) < 0:
            continue
        for divisor in _operands(atom.divisor):
            if not isinstance(divisor, Symbolic) or len(divisor.terms) != 1 or lower(divisor) < 0:
                continue
            ((factors, coefficient),) = divisor.terms
            rest = _ratio(tuple(item for item in monomial if item[0] is not atom), factors)
            if coefficient == 1 and rest is not None:
                return (*_without_undone_quotients(rest), (Symbol("", 0, upper(atom.dividend)), 1))
    return monomial


def _operands(value: int) -> tuple[int, ...]:
    """Return the operands of a bare maximum, else VALUE itself."""
    if isinstance(value, Symbolic) and len(value.terms) == 1:
        ((monomial, coefficient),) = value.terms
        if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0][0], Maximum) and monomial[0][1] == 1:
            return monomial[0][0].operands
    return (value,)


def _quotient(dividend: int, divisor: int) -> int:
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
        return _quotient_by_number(dividend, divisor)
    found = _polynomial_quotient(dividend, divisor)
    return found if found is not None else _atom_or_number(Quotient(dividend, divisor))


def _quotient_by_number(dividend: int, divisor: int) -> int:
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
    outside, inside = Symbolic.of(whole), Symbolic.of(rest)
    if lower(inside) // divisor == upper(inside) // divisor:
        return outside + lower(inside) // divisor
    assert isinstance(inside, Symbolic)
    variable = [(monomial, coefficient) for monomial, coefficient in inside.terms if monomial]
    constant = dict(inside.terms).get((), 0)
    if variable[0][1] < 0:  # -(-a // b), the usual text of a quotient rounded up, has the form of (a + b - 1) // b
        return outside - (-inside + divisor - 1) // divisor
    common = gcd(divisor, *(coefficient for _, coefficient in variable))
    if common > 1:
        reduced = Symbolic.of({monomial: coefficient // common for monomial, coefficient in variable}) + constant // common
        return outside + reduced // (divisor // common)
    if len(variable) == 1 and variable[0][1] == 1 and len(variable[0][0]) == 1:
        atom, power = variable[0][0][0]
        if power == 1 and isinstance(atom, Quotient) and not isinstance(atom.divisor, Symbolic):
            return outside + (atom.dividend + constant * atom.divisor) // (atom.divisor * divisor)
    return outside + _atom_or_number(Quotient(inside, divisor))


def _polynomial_quotient(dividend: int, divisor: Symbolic) -> int | None:
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
        candidates = [term for term in _terms(rest) or () if term[1] % coefficient == 0 and _ratio(term[0], leading) is not None]
        if not candidates:
            return None
        monomial, multiple = max(candidates, key=lambda term: degree(term[0]))
        ratio = _ratio(monomial, leading)
        assert ratio is not None
        step = Symbolic.of({ratio: multiple // coefficient})
        result, rest = result + step, rest - step * divisor
    return None


def _ratio(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    powers = dict(monomial)
    for atom, power in divisor:
        left = powers.get(atom, 0) - power
        if left < 0:
            return None
        powers[atom] = left
    return tuple((atom, power) for atom, power in powers.items() if power)


def _has_new_quotient(value: int, source: int) -> bool:
    known = set(_atoms(source))
    return any(isinstance(atom, Quotient) and atom not in known for atom in _atoms(value))


def _atoms(value: int) -> Iterable[Atom]:
    return atoms(value) if isinstance(value, Symbolic) else ()


def _atom_or_number(atom: Atom) -> int:
    low, high = atom.bounds
    return low if low == high else Symbolic.of({((atom, 1),): 1})


def _text(monomial: Monomial) -> str:
    return "*".join(f"{_atom_text(atom)}^{power}" for atom, power in monomial)


@lru_cache(maxsize=1 << 14)
def _atom_text(atom: Atom) -> str:
    return str(atom)


def _term_text(monomial: Monomial, coefficient: int) -> str:
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


def _grouped(value: int) -> str:
    text = str(value)
    return f"({text})" if " " in text else text


def _name(symbol_: Symbol) -> str:
    return symbol_.name

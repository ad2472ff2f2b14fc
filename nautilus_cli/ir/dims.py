"""Symbolic integers: dimensions that are known by name and range until the model runs, and what they are made of.

A `Symbolic` stands where an int stands: shape rules, index maps and the geometry of kernels compute with it by Python's own operators.
It is a polynomial with integer coefficients in atoms: named symbols, floor quotients, maxima and indicators. The form is canonical as far
as the rules of `polynomial.py` and `quotients.py` reach, so that equal expressions compare and hash equal; what has one value only is a
plain int.

A comparison is decided by the bounds of the difference (`bounds.py`). One that holds for some values of the symbols and fails for others
raises `UndecidedError`: code that goes on either way asks `same`, or for `lower` and `upper`, instead.

Bounds and quotients, which `Polynomial` needs, lie below it: they make expressions by the `of` of those that they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import gcd
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # to the type checker a symbolic integer is an int, which is how the code that computes with it sees it
    _Integer = int
else:
    _Integer = object


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
class HostCount(Count):
    """A count whose bound is too great to plan for: the host waits for the number, and knows it from there on."""


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
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.name, self.low, self.high, self.divisor, self.source)))  # asked for again and again

    def __hash__(self) -> int:
        return self._hash

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
        return self is other or (isinstance(other, Named) and self.name == other.name and same(self.value, other.value))

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

Terms = tuple[tuple[Monomial, int], ...]
"""The terms of a sum: monomials with their coefficients."""

Make = Callable[[Mapping[Monomial, int]], int]
"""What makes an integer of terms: `Polynomial.of`."""


class Symbolic(_Integer):
    """An integer that depends on named dimensions: its data. Every one is a `polynomial.Polynomial`, which has the operators.

    Attributes:
        terms: monomials with their coefficients, none zero, in a fixed order.
        low, high: bounds of the value, not always the closest.
    """

    __slots__ = ("_hash", "high", "low", "terms")

    terms: Terms
    low: int
    high: int
    _hash: int

    @staticmethod
    def of(terms: Mapping[Monomial, int]) -> int:
        """Return the sum of TERMS, as a plain int where it is one; `Polynomial` says how."""
        raise NotImplementedError

    def can_be_zero(self) -> bool:
        """Whether bounds and divisors allow the value zero."""
        if self.low > 0 or self.high < 0:
            return False
        constant = dict(self.terms).get((), 0)
        common = gcd(*(coefficient for monomial, coefficient in self.terms if monomial))
        return constant % common == 0


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


def _grouped(value: int) -> str:
    text = str(value)
    return f"({text})" if " " in text else text

"""The arithmetic of symbolic integers: what Python's operators do with them."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from functools import lru_cache

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.bounds import bounds
from nautilus_cli.ir.dims import Monomial, Symbolic, lower, same, upper
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.overlong import MOST_CHARACTERS, MOST_FACTORS, MOST_PRODUCTS, OverlongError
from nautilus_cli.ir.quotients import quotient
from nautilus_cli.ir.terms import degree, monomial_text, plain, product, term_text, terms_of
from nautilus_cli.ir.undecided import UndecidedError


class Polynomial(Symbolic):
    """A symbolic integer with the operators of an int."""

    __slots__ = ()

    @staticmethod
    def of(terms: Mapping[Monomial, int]) -> int:
        """Return the sum of TERMS, as a plain int where it is one."""
        kept = frozenset([term for term in terms.items() if term[1]])
        if not kept:
            return 0
        if len(kept) == 1:
            ((monomial, coefficient),) = kept
            if not monomial:
                return coefficient
        return _made(kept)

    def __add__(self, other: int) -> int:
        found = terms_of(other)
        if found is None:
            return NotImplemented
        total = dict(self.terms)
        for monomial, coefficient in found:
            total[monomial] = total.get(monomial, 0) + coefficient
        return Polynomial.of(total)

    __radd__ = __add__

    def __neg__(self) -> int:
        return Polynomial.of({monomial: -coefficient for monomial, coefficient in self.terms})

    def __pos__(self) -> int:
        return self

    def __sub__(self, other: int) -> int:
        found = terms_of(other)
        if found is None:
            return NotImplemented
        total = dict(self.terms)
        for monomial, coefficient in found:
            total[monomial] = total.get(monomial, 0) - coefficient
        return Polynomial.of(total)

    def __rsub__(self, other: int) -> int:
        return -self + other

    def __mul__(self, other: int) -> int:
        found = terms_of(other)
        if found is None:
            return NotImplemented
        others = tuple(found)
        if len(self.terms) * len(others) > MOST_PRODUCTS:
            raise OverlongError
        total: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in others:
                monomial = product(left, right)
                total[monomial] = total.get(monomial, 0) + a * b
        return Polynomial.of(total)

    __rmul__ = __mul__

    def __pow__(self, exponent: int, modulus: None = None) -> int:  # type: ignore[override]
        result = 1
        for _ in range(exponent):
            result = result * self
        return result

    def __floordiv__(self, other: int) -> int:
        return quotient(self, plain(other))

    def __rfloordiv__(self, other: int) -> int:
        return quotient(plain(other), self)

    def __mod__(self, other: int) -> int:
        return self - plain(other) * (self // other)

    def __rmod__(self, other: int) -> int:
        return plain(other) - self * (plain(other) // self)

    def __divmod__(self, other: int) -> tuple[int, int]:
        return self // other, self % other

    def __rdivmod__(self, other: int) -> tuple[int, int]:
        return plain(other) // self, plain(other) % self

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
        written = ""
        for monomial, coefficient in sorted(self.terms, key=lambda term: not term[0]):
            piece = term_text(monomial, abs(coefficient))
            sign = "-" if coefficient < 0 else "+"
            written += f" {sign} {piece}" if written else piece if coefficient > 0 else f"-{piece}"
        return written

    def _is_below(self, other: int, margin: int, relation: str) -> bool:
        """Decide self - other < MARGIN."""
        difference = self - other
        if upper(difference) < margin:
            return True
        if lower(difference) >= margin:
            return False
        raise UndecidedError(self, relation, other)


@lru_cache(maxsize=1 << 16)
def _made(terms: frozenset[tuple[Monomial, int]]) -> Polynomial:
    """Return the polynomial of some terms: mostly one that was made before, since the same is asked of few dimensions again and again."""
    texts = {monomial: monomial_text(monomial) for monomial, _ in terms}
    if sum(map(len, texts.values())) > MOST_CHARACTERS or any(degree(monomial) > MOST_FACTORS for monomial in texts):
        raise OverlongError
    made = object.__new__(Polynomial)
    made.terms = tuple(sorted(terms, key=lambda term: texts[term[0]]))
    # Odd numbers: -1 and -2 have one hash, and expressions of which nobody knows whether they are equal must not meet in a table.
    made._hash = hash(tuple((monomial, 2 * coefficient + 1) for monomial, coefficient in made.terms))
    made.low, made.high = bounds(made.terms, Polynomial.of)
    return made

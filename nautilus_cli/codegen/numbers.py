"""Numbers in kernel text: those known at compile time, and those that a kernel reads from its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.counts import counts_in, linear
from nautilus_cli.ir.dims import Symbolic, lower, upper
from nautilus_cli.ir.functions import factor

_INT = 2**31
_MOST_MULTIPLE = 64
"""Divisors of a number are told to kernels up to this power of two: more than any vector is wide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRow:
    """A number as a type, with its template arguments.

    Attributes:
        form: Static; Scalar or LongScalar, an argument; Divisor, one with a factor; Loaded or LongLoaded, which an argument points to.
        numbers: the template arguments.
    """

    form: str
    numbers: tuple[int, ...]


class Scalars:
    """The integer arguments of a kernel: which expression stands in which slot."""

    def __init__(self, expressions: Sequence[int] = ()) -> None:
        self._slots = {expression: slot for slot, expression in enumerate(expressions)}

    def row(self, value: int) -> NumberRow:
        """Return VALUE as a type.

        Raises:
            InternalError: it depends on dimensions and is no argument of the kernel.
        """
        if not isinstance(value, Symbolic):
            return NumberRow(form="Static", numbers=(value,))
        if value not in self._slots:
            raise InternalError(f"{value} is no argument of the kernel")
        fits = lower(value) >= -_INT and upper(value) < _INT
        common = gcd(*(coefficient for _, coefficient in value.terms), _MOST_MULTIPLE)
        if not counts_in(value):
            return NumberRow(form="Scalar" if fits else "LongScalar", numbers=(self._slots[value], common))
        _, *of_count = linear(value) or (None, 1, 0)
        return NumberRow(form="Loaded" if fits else "LongLoaded", numbers=(self._slots[value], common, *of_count))

    def divisor(self, value: int) -> NumberRow:
        """Return VALUE as the type of a number that indices are divided by: its factor is an argument too."""
        number = self.row(value)
        return NumberRow(form="Divisor", numbers=(*number.numbers, self._slots[factor(value)])) if number.form == "Scalar" else number


NO_SCALARS = Scalars()
"""Of a kernel whose numbers are all known."""

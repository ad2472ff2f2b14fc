"""Sizes that a dimension may have when the model runs."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.errors import UsageError
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.names import quoted


@dataclass(frozen=True, slots=True)
class DimRange:
    """The sizes LOW to HIGH that are multiples of DIVISOR.

    Attributes:
        low: the smallest; 0 where tensors may be empty, as the past of a decoder is at its first step.
        high: the largest.
        divisor: of every size.
        points: sizes that kernels are chosen for; none for the largest.
    """

    low: int
    high: int
    divisor: int = 1
    points: tuple[int, ...] = ()

    def symbol(self, name: str) -> int:
        """Return the dimension NAME with these sizes, as a plain int where there is one only.

        Raises:
            UsageError: there is none.
        """
        if self.low < 0 or self.divisor < 1 or self.high // self.divisor * self.divisor < self.low:
            raise UsageError(f"no size lies in {self}", where=f"dimension {quoted(name)}", hint="A range is LOW..HIGH.")
        return symbol(quoted(name)[1:-1], self.low, self.high, self.divisor)

    def __str__(self) -> str:
        return f"{self.low}..{self.high}" + (f" (multiples of {self.divisor})" if self.divisor > 1 else "")


Size = int | DimRange
"""A dimension that the user gives: a size, or those that it may have."""

"""Symbolic integers of what only a run knows: dimensions, elements of inputs, numbers that kernels give."""

from __future__ import annotations

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import Count, Element, Float, HostCount, Rounded, Symbol, same, upper
from nautilus_cli.ir.functions import whole
from nautilus_cli.ir.polynomial import Polynomial


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
    return Polynomial.of({((Symbol(name, first, last, divisor), 1),): divisor})


def element(source: Element, name: str, low: int, high: int) -> int:
    """Return the element of an input, an integer from LOW to HIGH; symbolic even where only one value is left, since it is checked."""
    return Polynomial.of({((Symbol(name, low, high, 1, source), 1),): 1})


def count(name: str, bound: int) -> int:
    """Return a number from 0 to BOUND that a kernel writes while the model runs; a plain 0 where there can be nothing to count."""
    return _given(name, Count(bound))


def read(name: str, bound: int) -> int:
    """Return a number from 0 to BOUND that a kernel writes while the model runs, and the host reads then; a plain 0 likewise."""
    return _given(name, HostCount(bound))


def _given(name: str, source: Count) -> int:
    if same(source.bound, 0):
        return 0
    return Polynomial.of({((Symbol(name, 0, upper(source.bound), 1, source), 1),): 1})


def rounded(value: Float, manner: str, low: int, high: int, name: str) -> int:
    """Return a number that the host works out from elements of float inputs, as an integer: see `Rounded`."""
    return whole(Rounded(value, manner, low, high, name), Polynomial.of)

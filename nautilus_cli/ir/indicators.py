"""Cases as arithmetic: expressions that are 1 where something holds and 0 where it does not, and choices made of them.

A rule whose result depends on values that only a run knows computes with these in place of branches. On numbers they give numbers.
The bounds of a sum of them are looked for case by case (`bounds.py`), so that `chosen` has those of its alternatives.
"""

from __future__ import annotations

from collections.abc import Sequence

from nautilus_cli.ir.functions import indicator


def equal(left: int, right: int) -> int:
    """Return 1 where two integers are equal, else 0."""
    return indicator(left - right, is_zero=True)


def less(left: int, right: int) -> int:
    """Return 1 where LEFT < RIGHT, else 0."""
    return indicator(right - left, is_zero=False)


def at_most(left: int, right: int) -> int:
    """Return 1 where LEFT <= RIGHT, else 0."""
    return indicator(right - left + 1, is_zero=False)


def any_of(flags: Sequence[int]) -> int:
    """Return 1 where at least one of several indicators is 1, else 0: an indicator of its own, whatever they are made of."""
    return indicator(sum(flags), is_zero=False)


def chosen(condition: int, yes: int, no: int) -> int:
    """Return YES where CONDITION, an indicator, is 1, else NO."""
    return no + condition * (yes - no)


def selected(index: int, values: Sequence[int]) -> int:
    """Return the element of VALUES at INDEX, which is known to name one."""
    *others, last = values
    return last + sum(equal(index, i) * (value - last) for i, value in enumerate(others))


def from_front(axis: int, rank: int) -> int:
    """Return an axis or index from -RANK to RANK - 1 counted from the front."""
    return axis + rank * less(axis, 0)

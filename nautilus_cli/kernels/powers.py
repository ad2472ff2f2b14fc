"""Powers of two, which most numbers of schedules are."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import fields
from typing import Any


def is_power(number: int) -> bool:
    """Whether a number is a power of two."""
    return number > 0 and number & (number - 1) == 0


def powers(first: int, last: int) -> tuple[int, ...]:
    """Return the powers of two from FIRST, itself one, to LAST."""
    return tuple(first << i for i in range(max(0, (last // first).bit_length())))


def power_at_most(number: int) -> int:
    """Return the greatest power of two that is at most NUMBER; 1 where that is none."""
    return 1 << max(0, number.bit_length() - 1)


def power_at_least(number: int) -> int:
    """Return the least power of two that is not less than NUMBER."""
    return 1 << max(0, number - 1).bit_length()


def power_divisor(number: int, most: int) -> int:
    """Return the greatest power of two up to MOST, itself one, that divides NUMBER."""
    while most > 1 and number % most:
        most //= 2
    return most


def vector_divisor(columns: int, most: int) -> int:
    """Return how many neighbours of a row are taken together: the greatest power of two up to MOST, and 8, that divides COLUMNS."""
    return power_divisor(columns, max(1, min(8, most)))


def power_violations(schedule: Any, any_number: Container[str] = ()) -> tuple[str, ...]:
    """Return what is wrong with the first number of a schedule that is no power of two; empty where all are.

    Args:
        schedule: a dataclass of numbers, and of choices that are true or false.
        any_number: names of fields that may be any number from 1 on.
    """
    for field in fields(schedule):
        value = getattr(schedule, field.name)
        if not isinstance(value, bool) and (value < 1 or not (field.name in any_number or is_power(value))):
            return (f"{field.name} is {value}; it must be a power of two",)
    return ()

"""Powers of two, which most numbers of schedules are."""

from __future__ import annotations


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

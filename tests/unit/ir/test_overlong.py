"""Integers that grow without end: every step of what a hostile model does with a size is short, and so is what is said of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.overlong import MOST_FACTORS, OverlongError
from nautilus_cli.ir.undecided import UndecidedError

N, M = symbol("n", 0, 100), symbol("m", 1, 100)


def repeated(step: Callable[[int], int], size: int, times: int) -> int:
    for _ in range(times):
        size = step(size)
    return size


def test_powers() -> None:
    size = N
    for _ in range(MOST_FACTORS.bit_length() - 1):
        size = size * size
    with pytest.raises(OverlongError):
        size * size


def test_powers_of_sums() -> None:
    with pytest.raises(OverlongError):
        repeated(lambda size: size * size, N + M + symbol("k", 0, 9) + symbol("l", 0, 9), 8)


def test_maxima_and_quotients_within_each_other() -> None:
    with pytest.raises(OverlongError):
        repeated(lambda size: maximum((size + 2) // 3, size - 3) * M - size // 7, N, 40)


def test_what_is_said_of_a_long_one_is_short() -> None:
    size = N
    for number in range(100):
        size = size + symbol(f"a_long_name_{number}", 0, 9)
    with pytest.raises(UndecidedError) as caught:
        bool(size == 3)
    assert len(caught.value.message.split(" depends on ")[0]) < 400

"""What an undecided comparison says of the ranges that are right."""

from __future__ import annotations

import pytest

from nautilus_cli.ir.constructors import count, rounded, symbol
from nautilus_cli.ir.dims import FloatElement
from nautilus_cli.ir.undecided import UndecidedError

N = symbol("n", 64, 1024)


def asked(left: int, right: int) -> str:
    with pytest.raises(UndecidedError) as caught:
        bool(left == right)
    return str(caught.value)


def test_ranges_are_named_where_one_dimension_decides() -> None:
    assert asked((N + 320) // 512, 1).endswith(
        "throughout is right: it fails for n = 64..191, it holds for n = 192..703, it fails for n = 704..1024."
    )
    assert asked(symbol("m", 8, 64, 8), 16).endswith("it fails for m = 8, it holds for m = 16, it fails for m = 24..64.")


def test_they_are_not_where_that_says_little() -> None:
    for left, right in ((N, symbol("m", 1, 1024)), (N % 2, 0), (symbol("far", 1, 1 << 20), 5), (count("kept", 9), 3)):
        assert asked(left, right).endswith("throughout is right.")


def test_what_follows_from_a_float_has_no_range_to_name() -> None:
    size = rounded(FloatElement("scale", 0), "floor", -9, 9, "floor(scale[0])")
    with pytest.raises(UndecidedError, match=r"whether floor\(scale\[0\]\) is less than 0 depends on values that only a run knows\."):
        bool(size < 0)


def test_orders_are_worked_out_too() -> None:
    with pytest.raises(UndecidedError, match=r"it holds for n = 64\.\.99, it fails for n = 100\.\.1024"):
        bool(N < 100)
    with pytest.raises(UndecidedError, match=r"it holds for n = 64\.\.100, it fails for n = 101\.\.1024"):
        bool(N <= 100)

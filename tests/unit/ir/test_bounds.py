"""Bounds of symbolic integers, and the comparisons that they decide."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import lower, same, upper
from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.ir.undecided import UndecidedError
from tests.unit.ir.formulas import SIZES, SYMBOLS, Formula, formulas


@given(left=formulas(), right=formulas(), sizes=SIZES)
def test_a_decided_comparison_holds_for_every_size(left: Formula, right: Formula, sizes: dict[str, int]) -> None:
    for compare in (
        lambda v: left(v) == right(v),
        lambda v: left(v) != right(v),
        lambda v: left(v) < right(v),
        lambda v: left(v) <= right(v),
        lambda v: left(v) > right(v),
        lambda v: left(v) >= right(v),
    ):
        try:
            decided = compare(SYMBOLS)
        except UndecidedError:
            continue
        assert decided == compare(sizes)


def test_bounds_decide() -> None:
    n = symbol("n", 2, 64)
    assert n > 1 and n != 1 and not n < 2 and n <= 64 and n < 65
    assert n and 2 * n - 4 >= 0
    assert max(n, 1) is n and min(n, 0) == 0
    m = symbol("m", 1, 40)
    assert m * n - m > 0 and m * n >= n and n * n * m >= n * m


def test_a_crop_from_the_centre_keeps_its_size() -> None:
    size = symbol("s", 2, 4096)
    room = maximum(20, size)
    start = (room - size) // 2
    assert lower(room - size) == 0 and lower(start) == 0
    assert same(minimum(start + size, room) - minimum(start, room), size)


def test_what_all_terms_share_is_taken_out() -> None:
    """What an iteration leaves of a state is at most what there is room for: m*(n - 7) has a sign where m*n and 7*m do not tell it."""
    n, m = symbol("n", 0, 7), symbol("m", 0, 5)
    assert 2555 * m * n <= 17885 * m
    assert upper(m * m * n - 7 * m * m) == 0 and lower(m * m * n - 7 * m * m) == -175


def test_what_a_division_by_a_dimension_leaves_lies_below_it() -> None:
    n, m, k = symbol("n", 0, 20), symbol("m", 1, 9), symbol("k", 0, 4)
    left, moved = n % m, (n - 8) % m
    assert left >= 0 and left < m and left <= n and upper(left) == 8
    assert moved >= 0 and moved < m and upper(moved) == 8
    assert n % (m + 1) < m + 1 and upper(n % (m + 1)) == 9
    assert k * left >= 0 and k * left <= k * (m - 1) and upper(5 * k * left) == 160
    assert m - left >= 1 and n + m - left >= n + 1
    assert n * (n % 3) >= 0 and n * (n % 3) <= 2 * n and upper((n % 3) * k) == 8


def test_parts_of_a_sum_and_what_is_multiplied_with_one_atom_are_bounded_by_themselves() -> None:
    """As many rows as an iteration adds, times the iterations that there are at most."""
    n, k = symbol("n", 0, 7), symbol("k", 0, 100)
    added, times = minimum(2, n), maximum(n % 4, 1)
    assert lower(4 * (k % 4) + 4 * added * times) == 0
    assert lower(4 * n + 4 * added * times - 4 * added) == 0


@pytest.mark.parametrize(
    "compare",
    [
        lambda n, m: n == 1,
        lambda n, m: n != m,
        lambda n, m: n < m,
        lambda n, m: n >= 64,
        lambda n, m: bool(n - 1),
        lambda n, m: max(n, m),
        lambda n, m: 4 // (n - 1),
    ],
)
def test_what_depends_on_sizes_is_an_error_that_names_them(compare: Callable[[int, int], object]) -> None:
    with pytest.raises(UndecidedError, match=r"n = 1\.\.64"):
        compare(symbol("n", 1, 64), symbol("m", 1, 512))

"""Quotients of symbolic integers, and what divides them."""

from __future__ import annotations

from math import prod

from hypothesis import assume, given

from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import lower, same
from nautilus_cli.ir.quotients import divides
from tests.unit.ir.formulas import SYMBOLS, Formula, formulas


@given(left=formulas(), divisor=formulas())
def test_what_was_multiplied_divides_again(left: Formula, divisor: Formula) -> None:
    a, d = left(SYMBOLS), divisor(SYMBOLS)
    assume(lower(d) > 0)
    assert same(a * d // d, a)
    assert same(a * d % d, 0)


def test_quotients_rounded_up_have_one_form() -> None:
    n = SYMBOLS["b"]
    assert same(-(-n // 16), (n + 15) // 16)
    assert same((n // 2) // 3, n // 6)
    assert same((4 * n + 2) // 8, n // 2)
    assert same((n * 6 + 5) // 3, 2 * n + 1)


def test_a_known_divisor_makes_quotients_exact() -> None:
    n = symbol("n", 8, 512, 8)
    assert same(n % 8, 0)
    assert same(n // 8 * 8, n)
    assert divides(4, n)
    assert not divides(16, n)
    assert (n == 12) is False


def test_a_reshape_finds_its_open_dimension() -> None:
    n, m = symbol("n", 1, 64), symbol("m", 1, 512)
    half = (m - 1) // 2 + 1
    assert same(n * 12 * half * half // (n * half), 12 * half)
    assert same(prod([n, m, 64]) // prod([n, 64]), m)

"""Symbolic integers against plain ones: arithmetic, one form of what is equal, and their text."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import Symbolic, is_symbolic, lower, same, upper
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.substitution import substitute
from tests.unit.ir.formulas import SIZES, SYMBOLS, Formula, formulas


@given(formula=formulas(), sizes=SIZES)
def test_expressions_have_the_values_of_plain_integers(formula: Formula, sizes: dict[str, int]) -> None:
    expression = formula(SYMBOLS)
    value = formula(sizes)
    assert substitute(expression, sizes) == value
    assert lower(expression) <= value <= upper(expression)


@given(left=formulas(), right=formulas(), factor=formulas())
def test_equal_expressions_have_one_form(left: Formula, right: Formula, factor: Formula) -> None:
    a, b, f = left(SYMBOLS), right(SYMBOLS), factor(SYMBOLS)
    for one, other in ((a + b, b + a), (f * (a + b), b * f + f * a), (a - b, -(b - a)), (a + b - b, a)):
        assert same(one, other)
        assert hash(one) == hash(other)


def test_one_size_is_a_number() -> None:
    assert symbol("n", 3, 3) == 3 and not is_symbolic(symbol("n", 9, 20, 16))
    with pytest.raises(ModelError, match=r"no size in 1\.\.7 that is a multiple of 8"):
        symbol("n", 1, 7, 8)


@pytest.mark.parametrize("use", [int, float, range, lambda n: [0] * n, lambda n: np.zeros(n), lambda n: n / 2])
def test_no_number_is_made_of_a_size_that_is_not_known(use: Callable[[int], object]) -> None:
    with pytest.raises(ModelError, match="only known when the model runs"):
        use(symbol("n", 1, 64))


def test_sets_and_tables_never_compare_what_differs() -> None:
    n = symbol("n", 1, 64)
    assert len({n, 1, n * 1, n + 1}) == 3
    assert {n + 1: "next"}[1 + n] == "next"
    assert same((n, (2, n)), (n, (2, n + 0))) and not same((n,), (1,)) and not same((n,), (n, n))


def test_numpy_moves_and_adds_them() -> None:
    n = symbol("n", 1, 64)
    array = np.array([n, 3], dtype=object)
    assert same(int_of(np.prod(array)), 3 * n)
    assert same(int_of((array + np.int64(2))[0]), n + 2)
    assert same(np.int64(3) * n, 3 * n)


def int_of(value: object) -> int:
    assert isinstance(value, Symbolic)
    return value


def test_text_reads_as_arithmetic() -> None:
    n, m = symbol("n", 1, 64), symbol("m", 8, 512, 8)
    assert str(64 * n * m - 2) == "64*m*n - 2"
    assert str((n + 1) // 2) == "floor((n + 1)/2)"
    assert str(m // 8 + 1) == "(m/8) + 1"
    assert {s.name for s in symbols((n + 1) // 2 * m)} == {"n", "m"}

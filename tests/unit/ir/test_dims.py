"""Symbolic integers against plain ones."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.constructors import element, rounded, symbol
from nautilus_cli.ir.dims import Element, FloatElement, FloatOperation, Symbolic, is_symbolic, lower, same, upper
from nautilus_cli.ir.functions import factor, indicator, maximum, minimum, named
from nautilus_cli.ir.occurrences import follows_from_values, symbols
from nautilus_cli.ir.quotients import divides
from nautilus_cli.ir.substitution import substitute
from nautilus_cli.ir.undecided import UndecidedError

RANGES = {"a": (1, 6, 1), "b": (2, 40, 1), "c": (0, 24, 8)}
SYMBOLS = {name: symbol(name, *bounds) for name, bounds in RANGES.items()}
SIZES = st.fixed_dictionaries({name: st.sampled_from(range(low, high + 1, step)) for name, (low, high, step) in RANGES.items()})

Formula = Callable[[dict[str, int]], int]
"""From the values of the names to a number; the same formula runs on symbols and on sizes."""


def formulas() -> st.SearchStrategy[Formula]:
    names = st.sampled_from(sorted(RANGES)).map(lambda name: lambda values: values[name])
    numbers = st.integers(-9, 9).map(lambda number: lambda values: number)

    def larger(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        positive = st.sampled_from([1, 2, 3, 4, 8, 12])
        return st.one_of(
            st.tuples(inner, inner).map(lambda p: lambda v: p[0](v) + p[1](v)),
            st.tuples(inner, inner).map(lambda p: lambda v: p[0](v) - p[1](v)),
            st.tuples(inner, inner).map(lambda p: lambda v: p[0](v) * p[1](v)),
            st.tuples(inner, positive).map(lambda p: lambda v: p[0](v) // p[1]),
            st.tuples(inner, positive).map(lambda p: lambda v: p[0](v) % p[1]),
            st.tuples(inner, positive).map(lambda p: lambda v: -(-p[0](v) // p[1])),
            st.tuples(inner, st.sampled_from(["a", "b"])).map(lambda p: lambda v: p[0](v) // v[p[1]]),
            st.tuples(inner, st.sampled_from(["a", "b"])).map(lambda p: lambda v: p[0](v) % v[p[1]]),
            st.tuples(inner, inner).map(lambda p: lambda v: maximum(p[0](v), p[1](v))),
            st.tuples(inner, inner).map(lambda p: lambda v: minimum(p[0](v), p[1](v))),
        )

    return st.recursive(st.one_of(names, numbers), larger, max_leaves=6)


@given(formula=formulas(), sizes=SIZES)
def test_expressions_have_the_values_of_plain_integers(formula: Formula, sizes: dict[str, int]) -> None:
    expression = formula(SYMBOLS)
    value = formula(sizes)
    assert substitute(expression, sizes) == value
    assert lower(expression) <= value <= upper(expression)


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


@given(left=formulas(), right=formulas(), factor=formulas())
def test_equal_expressions_have_one_form(left: Formula, right: Formula, factor: Formula) -> None:
    a, b, f = left(SYMBOLS), right(SYMBOLS), factor(SYMBOLS)
    for one, other in ((a + b, b + a), (f * (a + b), b * f + f * a), (a - b, -(b - a)), (a + b - b, a)):
        assert same(one, other)
        assert hash(one) == hash(other)


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


def test_a_crop_from_the_centre_keeps_its_size() -> None:
    size = symbol("s", 2, 4096)
    room = maximum(20, size)
    start = (room - size) // 2
    assert lower(room - size) == 0 and lower(start) == 0
    assert same(minimum(start + size, room) - minimum(start, room), size)


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


def test_bounds_decide() -> None:
    n = symbol("n", 2, 64)
    assert n > 1 and n != 1 and not n < 2 and n <= 64 and n < 65
    assert n and 2 * n - 4 >= 0
    assert max(n, 1) is n and min(n, 0) == 0
    m = symbol("m", 1, 40)
    assert m * n - m > 0 and m * n >= n and n * n * m >= n * m


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


@pytest.mark.parametrize("use", [int, float, range, lambda n: [0] * n, lambda n: np.zeros(n), lambda n: n / 2])
def test_no_number_is_made_of_a_size_that_is_not_known(use: Callable[[int], object]) -> None:
    with pytest.raises(ModelError, match="only known when the model runs"):
        use(symbol("n", 1, 64))


def test_one_size_is_a_number() -> None:
    assert symbol("n", 3, 3) == 3 and not is_symbolic(symbol("n", 9, 20, 16))
    with pytest.raises(ModelError, match=r"no size in 1\.\.7 that is a multiple of 8"):
        symbol("n", 1, 7, 8)


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


def test_a_dimension_can_become_another() -> None:
    n, m = symbol("n", 1, 64), symbol("m", 1, 64)
    assert same(substitute((m + 1) // 2 * n, {"m": n}), (n + 1) // 2 * n)


@given(st.integers(1, 2**31 - 1), st.integers(0, 2**31 - 1))
@example(1, 2**31 - 1)
@example(2**31 - 1, 2**31 - 1)
@example(2**30 + 1, 2**31 - 1)
def test_a_factor_divides(divisor: int, dividend: int) -> None:
    word = factor(divisor)
    multiplier, shift = word % 2**32, word >> 32
    high = dividend * multiplier >> 32
    assert shift < 32 and dividend + high < 2**32
    assert (dividend + high) >> shift == dividend // divisor


def test_a_factor_of_a_dimension_is_worked_out_later() -> None:
    n = symbol("n", 1, 64)
    assert substitute(factor(3 * n + 1), {"n": 5}) == factor(16)
    assert same(factor(n), factor(n)) and symbols(factor(n)) == symbols(n)
    assert factor(0) == factor(2**31) == 0


def test_what_follows_from_values() -> None:
    n, m = SYMBOLS["a"], SYMBOLS["b"]
    count = element(Element("k", 0), "k[0]", 0, 9)
    scaled = rounded(FloatOperation("multiply", n, FloatElement("scales", 1)), "floor", 0, 9, "a size")
    for value in (
        count,
        n + count,
        maximum(n, count),
        (n + count) // 2,
        n * scaled,
        indicator(count - n, is_zero=True),
        named("it", count),
    ):
        assert follows_from_values(value)
    assert not any(map(follows_from_values, (3, n, maximum(n, m), (n + 1) // m, named("it", n))))


def test_numbers_of_double_precision_are_worked_out_where_they_are_known() -> None:
    """As the host does: 10 times the float32 below 0.7 is 7 in float32, and less in double precision."""
    numerator, denominator = float(np.float32(0.7)).as_integer_ratio()
    product = FloatOperation("multiply", SYMBOLS["a"], FloatOperation("divide", numerator, denominator))
    assert substitute(rounded(product, "floor", 0, 9, "a"), {"a": 10}) == 6
    assert substitute(rounded(FloatOperation("single", product), "floor", 0, 9, "a"), {"a": 10}) == 7
    assert substitute(rounded(product, "ceil", 0, 9, "a"), {"a": 2}) == 2
    assert rounded(FloatOperation("divide", 5, 2), "even", 0, 9, "b") == 2
    assert is_symbolic(rounded(FloatOperation("divide", 1, 0), "floor", 0, 9, "none"))

"""Indicators: their value for every value of the symbols, and bounds that hold for all."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from nautilus_cli.ir.constructors import element, symbol
from nautilus_cli.ir.dims import Element, is_symbolic, lower, same, upper
from nautilus_cli.ir.functions import maximum, named
from nautilus_cli.ir.indicators import any_of, at_most, chosen, equal, from_front, less, selected
from nautilus_cli.ir.substitution import substitute

Function = Callable[[int, int], int]

LOW, HIGH, MOST = -3, 4, 5


def axis(name: str = "axes[0]", rank: int = 3) -> int:
    return element(Element("axes", 0), name, -rank, rank - 1)


def test_numbers_give_numbers() -> None:
    assert (equal(2, 2), equal(2, 3), less(1, 2), less(2, 2), at_most(2, 2), any_of([0, 1, 1]), any_of([])) == (1, 0, 1, 0, 1, 1, 0)
    assert (chosen(1, 5, 6), selected(1, [7, 8, 9]), from_front(-1, 4)) == (5, 8, 3)


def test_an_axis_counts_from_the_front() -> None:
    found = from_front(axis(), 3)
    assert (lower(found), upper(found)) == (0, 2)
    assert [substitute(found, {"axes[0]": value}) for value in range(-3, 3)] == [0, 1, 2, 0, 1, 2]


def test_a_choice_has_the_bounds_of_its_alternatives() -> None:
    found = selected(from_front(axis(), 3), [40, 5, 6])
    assert (lower(found), upper(found)) == (5, 40)
    assert [substitute(found, {"axes[0]": value}) for value in (-3, 1, -1)] == [40, 5, 6]


def test_a_dimension_split_by_an_indicator_is_whole() -> None:
    """The two factors of a dimension that may be reduced: their product is known to be the dimension."""
    size = symbol("d", 1, 64)
    flag = any_of([equal(axis(), 1), equal(axis("axes[1]"), 1)])
    kept, reduced = size - (size - 1) * flag, 1 + (size - 1) * flag
    assert same(kept * reduced, size)
    assert (lower(kept), upper(kept), lower(reduced), upper(reduced)) == (1, 64, 1, 64)


def test_a_quotient_times_its_divisor_is_bounded_by_the_dividend() -> None:
    part = named("part", element(Element("shape", 0), "shape[0]", 0, 1000))
    found = part * (24 // maximum(1, part))
    assert (lower(found), upper(found)) == (0, 24)


def made(choose: random.Random, depth: int) -> Function:
    """A random function of two integers, which computes on numbers and on symbols alike."""
    if depth == 0 or choose.random() < 0.1:
        number = choose.randrange(LOW, HIGH)
        leaves: Sequence[Function] = (lambda p, q: p, lambda p, q: q, lambda p, q: number)
        return choose.choice(leaves)
    a, b = made(choose, depth - 1), made(choose, depth - 1)
    inner: Sequence[Function] = (
        lambda p, q: a(p, q) + b(p, q),
        lambda p, q: a(p, q) - b(p, q),
        lambda p, q: a(p, q) * b(p, q),
        lambda p, q: equal(a(p, q), b(p, q)),
        lambda p, q: less(a(p, q), b(p, q)),
        lambda p, q: chosen(at_most(a(p, q), b(p, q)), a(p, q), b(p, q)),
        lambda p, q: maximum(a(p, q), b(p, q)),
        lambda p, q: a(p, q) // maximum(1, b(p, q)) * b(p, q),
    )
    return choose.choice(inner)


@pytest.mark.parametrize("seed", range(300))
def test_random_expressions(seed: int) -> None:
    function = made(random.Random(seed), 3)
    expression = function(element(Element("x", 0), "p", LOW, HIGH), element(Element("x", 1), "q", 0, MOST))
    values = {(p, q): function(p, q) for p in range(LOW, HIGH + 1) for q in range(MOST + 1)}
    assert all(substitute(expression, {"p": p, "q": q}) == value for (p, q), value in values.items())
    assert lower(expression) <= min(values.values()) and upper(expression) >= max(values.values())
    assert is_symbolic(expression) or len(set(values.values())) == 1

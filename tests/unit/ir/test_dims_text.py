"""Symbolic integers as text: any expression reads back, whatever its dimensions are called."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import Count, Element, HostCount, Symbol, Symbolic, same
from nautilus_cli.ir.dims_text import in_order, parse_size, parse_symbol, size_text, symbol_text
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.occurrences import symbols

NAMES = ["n", "past length + 1", "x[2]", "floor", "max", "it's", '"', "a/8", "5", "\n", ""]


@st.composite
def expressions(draw: Any) -> int:
    """Sums, products, quotients and maxima of a few dimensions."""
    dims = [symbol(name, 8, 64, draw(st.sampled_from([1, 2, 8]))) for name in draw(st.permutations(NAMES))[:3]]

    def one(depth: int) -> int:
        if depth == 0:
            return draw(st.sampled_from(dims) | st.integers(-5, 9))
        left, right = one(depth - 1), one(draw(st.integers(0, depth - 1)))
        kind = draw(st.sampled_from("+-*/m"))
        if kind == "/":
            return left // draw(st.integers(1, 6))
        return {"+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right, "m": lambda: maximum(left, right)}[kind]()

    return one(draw(st.integers(1, 3)))


@given(expressions())
def test_any_expression_reads_back(size: int) -> None:
    known = {s.name: s for s in symbols(size)}
    assert same(parse_size(size_text(size), known), size)


def test_exact_text() -> None:
    n, odd, wide = symbol("n", 0, 9), symbol("x[2]", 1, 8), symbol("w", 32, 512, 32)
    assert size_text(2 * n + odd // 3 - 1) == "floor('x[2]'/3) + 2*n - 1"
    assert size_text(wide // 32) == "(w/32)"
    assert size_text(wide * n) == "n*w"
    assert size_text(7) == "7"


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (Symbol("batch", 1, 64), "'batch' = 1..64"),
        (Symbol("w", 32, 512, 32), "'w' = 32..512/32"),
        (Symbol("n[0]", -3, 10, 1, Element("n", 0)), "'n[0]' = -3..10 of 'n'[0]"),
        (Symbol("k", 1, 5, 1, Element("it's", 4, saturates=True)), "'k' = 1..5 of \"it's\"[4] saturating"),
        (Symbol("kept", 0, 90, 1, Count(10 * symbol("n", 0, 9))), "'kept' = 0..90 counted 10*n"),
        (Symbol("kept", 0, 90, 1, HostCount(10 * symbol("n", 0, 9))), "'kept' = 0..90 read 10*n"),
    ],
)
def test_what_a_symbol_is_reads_back(found: Symbol, text: str) -> None:
    assert symbol_text(found) == text
    assert parse_symbol(text, {"n": Symbol("n", 0, 9)}) == found


def test_a_bound_stands_behind_what_it_speaks_of() -> None:
    z = symbol("z", 0, 9)
    (base,) = symbols(z)
    kept = Symbol("a", 0, 9, 1, Count(z))
    assert in_order([kept]) == [base, kept]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m", "dimension 'm' is not known"),
        ("n +", "ends too early"),
        ("n n", "'n' is left over"),
        ("floor(n)", "expected '/'"),
        ("(n/2)", "'n' is a multiple of 1"),
        ("?", "is no size"),
    ],
)
def test_malformed_text_is_refused(text: str, message: str) -> None:
    (n,) = symbols(symbol("n", 0, 9))
    with pytest.raises(InternalError, match=message):
        parse_size(text, {"n": n})
    assert isinstance(symbol("n", 0, 9), Symbolic)

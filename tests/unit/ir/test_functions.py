"""Functions of symbolic integers that are no polynomials: factors, and numbers of double precision."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from nautilus_cli.ir.constructors import rounded, symbol
from nautilus_cli.ir.dims import FloatOperation, is_symbolic, same
from nautilus_cli.ir.functions import factor
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.substitution import substitute
from tests.unit.ir.formulas import SYMBOLS


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


def test_numbers_of_double_precision_are_worked_out_where_they_are_known() -> None:
    """As the host does: 10 times the float32 below 0.7 is 7 in float32, and less in double precision."""
    numerator, denominator = float(np.float32(0.7)).as_integer_ratio()
    product = FloatOperation("multiply", SYMBOLS["a"], FloatOperation("divide", numerator, denominator))
    assert substitute(rounded(product, "floor", 0, 9, "a"), {"a": 10}) == 6
    assert substitute(rounded(FloatOperation("single", product), "floor", 0, 9, "a"), {"a": 10}) == 7
    assert substitute(rounded(product, "ceil", 0, 9, "a"), {"a": 2}) == 2
    assert rounded(FloatOperation("divide", 5, 2), "even", 0, 9, "b") == 2
    assert is_symbolic(rounded(FloatOperation("divide", 1, 0), "floor", 0, 9, "none"))

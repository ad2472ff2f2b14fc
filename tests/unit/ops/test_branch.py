"""Branches: what is a result of a node that holds graphs."""

from __future__ import annotations

import pytest

from nautilus_cli.errors import InternalError, ModelError
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.ops.branch import fits, never_exceeds, require_fits


def test_a_result_begins_the_larger_of_two() -> None:
    """Whatever its size is made of: of a long sum, bounds alone do not say that it is at most a maximum of itself."""
    n, m, k = symbol("n", 1, 9), symbol("m", 0, 9), symbol("k", 2, 7)
    size = (maximum(n, k) - maximum(m, 4)) * (n - m * m + 3) * (k - n) * (maximum(k, m) + n) + n * m * k
    most = maximum(size, n * n * 40)
    assert fits(TensorType(F32, (size,)), TensorType(F32, (most,)))
    assert fits(TensorType(F32, (n * n * 40,)), TensorType(F32, (most,)))
    assert not fits(TensorType(F32, (most,)), TensorType(F32, (size,)))
    assert not fits(TensorType(I64, (size,)), TensorType(F32, (most,)))
    assert not fits(TensorType(F32, (size + 1,)), TensorType(F32, (most,)))


def test_a_result_begins_a_product_of_maxima() -> None:
    """A state that is turned in each iteration: n by m, or m by n, in what the greater of both squared takes."""
    n, m = symbol("n", 1, 9), symbol("m", 1, 12)
    room = TensorType(F32, (maximum(n, m) * maximum(n, m),))
    assert fits(TensorType(F32, (n * m,)), room) and fits(TensorType(F32, (n * n,)), room)
    more = TensorType(F32, ((maximum(n, m) + 2) * maximum(n + 1, m),))
    assert fits(TensorType(F32, (n * m,)), more) and not fits(TensorType(F32, ((m + 3) * m,)), more)
    assert not fits(TensorType(F32, (n * m + 1,)), room) and not fits(TensorType(F32, (2 * n * m,)), room)


def test_two_differences_that_may_be_negative_are_not_below_what_is_left_of_them() -> None:
    """1 and 1 are both 4 below 5: 16 do not fit where nothing is."""
    n, m = symbol("n", 1, 9), symbol("m", 1, 9)
    left = maximum(n - 5, 0) * maximum(m - 5, 0)
    assert not never_exceeds((n - 5) * (m - 5), left)
    assert never_exceeds((n - 5) * 3, maximum(n - 5, 0) * maximum(m, 3))
    many = left
    for number in range(40):  # of which there are more combinations than anyone tries
        many = many * maximum(symbol(f"s{number}", 1, 9) - 5, 0)
    assert not never_exceeds(n, many)


def test_what_cannot_be_told_is_a_refusal() -> None:
    n, m = symbol("n", 1, 9), symbol("m", 1, 9)
    with pytest.raises(ModelError, match=r"whether f32\[n\*n\] has room in f32\[m\] cannot be told"):
        require_fits(TensorType(F32, (n * n,)), TensorType(F32, (m,)))
    with pytest.raises(InternalError):
        require_fits(TensorType(I64, (m,)), TensorType(F32, (m,)))

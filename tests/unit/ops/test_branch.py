"""Branches: what is a result of a node that holds graphs."""

from __future__ import annotations

from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.ops.branch import fits


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

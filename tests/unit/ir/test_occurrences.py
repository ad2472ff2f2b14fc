"""What symbolic integers depend on, and other values in its place."""

from __future__ import annotations

from nautilus_cli.ir.constructors import element, rounded, symbol
from nautilus_cli.ir.dims import Element, FloatElement, FloatOperation, same
from nautilus_cli.ir.functions import indicator, maximum, named
from nautilus_cli.ir.occurrences import follows_from_values
from nautilus_cli.ir.substitution import substitute
from tests.unit.ir.formulas import SYMBOLS


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


def test_a_dimension_can_become_another() -> None:
    n, m = symbol("n", 1, 64), symbol("m", 1, 64)
    assert same(substitute((m + 1) // 2 * n, {"m": n}), (n + 1) // 2 * n)

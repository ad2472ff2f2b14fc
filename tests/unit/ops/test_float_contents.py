"""Numbers of floating point that the host works out: as kernels compute them, whatever the sizes are."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import element, symbol
from nautilus_cli.ir.dims import Element, FloatElement, FloatOperation, lower, upper
from nautilus_cli.ir.floats import bounds, float_text, known, of_float
from nautilus_cli.ir.substitution import substitute
from nautilus_cli.ir.types import F16, F32, F64, I64, DType
from nautilus_cli.ops.float_contents import computed, to_integer

N = symbol("n", 1, 40)
K = element(Element("k", 0), "k[0]", -50, 50)


def worked_out(name: str, *operands: object, sizes: dict[str, int], source: DType = F32, target: DType = F32) -> float:
    """Return what an operator gives for sizes, as a whole number of 2^-20."""
    (found,) = computed(name, [operands], source, target) or [None]  # type: ignore[list-item]
    assert found is not None
    scaled = to_integer(FloatOperation("multiply", found, 1 << 20), "even")
    return bind((scaled,), sizes)[0] / (1 << 20)


@pytest.mark.parametrize(("name", "function"), [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide)])
def test_operations_round_as_float32_does(name: str, function: np.ufunc) -> None:
    factor = of_float(float(np.float32(0.7)))
    for n in (1, 3, 10, 40):
        wanted = function(np.float32(n), np.float32(0.7))
        assert abs(worked_out(name, N, factor, sizes={"n": n}) - float(wanted)) <= 2**-20
        exact = to_integer(FloatOperation("multiply", computed(name, [(N, factor)], F32, F32)[0], 1), "floor")  # type: ignore[index]
        assert substitute(exact, {"n": n}) == int(np.floor(wanted))


def test_casts_cut_towards_zero() -> None:
    half = FloatOperation("divide", K, 2)
    (found,) = computed("Cast", [(half,)], F32, I64) or []
    for k in (-50, -3, -1, 0, 1, 7, 50):
        assert substitute(found, {"k[0]": k}) == int(k / 2)  # type: ignore[arg-type]


def test_bounds_hold() -> None:
    values = (FloatOperation("divide", N, 3), FloatOperation("subtract", K, FloatOperation("multiply", N, N)), FloatOperation("single", K))
    for value in values:
        low, high = bounds(value)  # type: ignore[misc]
        whole = to_integer(value, "floor")
        for n in (1, 7, 40):
            for k in (-50, 0, 50):
                found = substitute(whole, {"n": n, "k[0]": k})
                assert low - 1 <= found <= high and lower(whole) <= found <= upper(whole)
    assert bounds(FloatElement("s", 0)) is None and bounds(FloatOperation("divide", 1, K)) is None


def test_what_the_host_does_not_compute() -> None:
    scale = FloatElement("s", 1)
    assert computed("Mul", [(scale, 2)], F16, F16) is None
    assert computed("Sqrt", [(scale,)], F32, F32) is None
    assert computed("Cast", [(scale,)], F32, F16) is None
    assert computed("Neg", [(scale,)], F64, F64) == [FloatOperation("subtract", 0, scale)]
    for number in (float("nan"), float("inf"), 1e-30, 1e300):
        with pytest.raises(ModelError, match="not a number that the host can work with"):
            of_float(number)


def test_numbers_as_text() -> None:
    assert float_text(FloatOperation("single", FloatOperation("multiply", N, of_float(1.5)))) == "(n * 1.5)"
    assert float_text(FloatOperation("subtract", FloatElement("scales", 2), N + 1)) == "(scales[2] - (n + 1))"
    assert known(of_float(0.75)) == 0.75 and known(N) is None and known(FloatElement("s", 0)) is None

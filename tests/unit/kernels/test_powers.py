from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from nautilus_cli.kernels.powers import is_power, power_at_least, power_at_most, power_divisor, power_violations, powers

numbers = st.integers(1, 1 << 20)


@given(numbers)
def test_powers_enclose_a_number(number: int) -> None:
    below, above = power_at_most(number), power_at_least(number)
    assert is_power(below) and is_power(above)
    assert below <= number <= above and (below == above) == is_power(number)
    assert above <= 2 * below


@given(numbers, st.sampled_from(powers(1, 64)))
def test_the_greatest_power_that_divides_a_number(number: int, most: int) -> None:
    found = power_divisor(number, most)
    assert number % found == 0 and found <= most
    assert found == most or number % (2 * found)


def test_what_is_no_power() -> None:
    assert not any(map(is_power, (-2, 0, 3, 12)))
    assert powers(8, 64) == (8, 16, 32, 64) and powers(8, 7) == ()
    assert power_divisor(0, 8) == 8  # every number divides 0


@dataclass(frozen=True)
class Numbers:
    threads: int = 64
    stages: int = 3
    swaps: bool = False


def test_the_first_number_that_is_no_power_is_told() -> None:
    assert power_violations(Numbers(), ("stages",)) == ()
    assert power_violations(Numbers()) == ("stages is 3; it must be a power of two",)
    assert power_violations(Numbers(stages=0), ("stages",)) == ("stages is 0; it must be a power of two",)
    assert power_violations(Numbers(threads=-2, stages=0)) == ("threads is -2; it must be a power of two",)

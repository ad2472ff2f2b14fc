"""What counts as equal, and what a comparison says."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.numerics import EXACT, Tolerance, compare

LOOSE = Tolerance(rtol=0.1, atol=0.5)


def f32(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def test_equal_tensors_match_exactly():
    result = compare(f32(1, -2, 0), f32(1, -2, 0), EXACT)
    assert result.is_match
    assert (result.max_abs, result.max_rel, result.failures) == (0, 0, 0)
    assert result.cosine == pytest.approx(1)


@pytest.mark.parametrize(
    ("actual", "expected", "fails"),
    [
        (100.4, 100.0, False),  # within both
        (105.0, 100.0, False),  # beyond atol only
        (0.4, 0.1, False),  # beyond rtol only
        (120.0, 100.0, True),  # beyond both
        (0.7, 0.1, True),  # beyond both, small
    ],
)
def test_an_element_fails_only_beyond_both_tolerances(actual: float, expected: float, fails: bool):
    assert compare(f32(actual), f32(expected), LOOSE).failures == int(fails)


def test_nan_equals_nan_and_infinity_its_own_sign():
    inf, nan = math.inf, math.nan
    result = compare(f32(nan, inf, -inf, inf, nan, 1.0), f32(nan, inf, -inf, -inf, 1.0, inf), LOOSE)
    assert result.nonfinite_mismatches == 3
    assert result.failures == 3
    assert (result.actual_nan, result.expected_nan) == (2, 1)
    assert (result.actual_inf, result.expected_inf) == (3, 4)
    assert result.max_abs == 0  # over elements finite in both


def test_worst_is_the_element_furthest_beyond_its_tolerance():
    expected = np.full((2, 3), 100.0, dtype=np.float32)
    expected[1, 2] = 1.0
    actual = expected.copy()
    actual[0, 1] += 11  # the greater error, but only 1.1 times what is allowed
    actual[1, 2] += 5  # ten times what is allowed
    result = compare(actual, expected, LOOSE)
    assert result.worst == (1, 2)
    assert (result.worst_actual, result.worst_expected) == (6.0, 1.0)
    assert result.max_abs == pytest.approx(11)
    assert result.max_rel == pytest.approx(5)


def test_a_mismatch_of_nan_is_worse_than_any_error():
    result = compare(f32(1e30, math.nan), f32(0, 0), LOOSE)
    assert result.worst == (1,)


def test_integers_are_exact_at_the_ends_of_their_range():
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    result = compare(np.array([low, high, high]), np.array([high, high, high - 1]), EXACT)
    assert result.failures == 2
    assert result.max_abs == float(2**64 - 1)
    assert result.worst == (0,)


def test_integers_honour_an_explicit_tolerance():
    result = compare(np.array([10, 12], dtype=np.int8), np.array([10, 10], dtype=np.int8), Tolerance(rtol=0.0, atol=1.0))
    assert result.failures == 1


def test_booleans():
    result = compare(np.array([True, False, True]), np.array([True, True, True]), EXACT)
    assert result.failures == 1
    assert result.worst_actual is False


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_other_float_types(dtype: type):
    expected = np.array([1, 2, math.inf], dtype=dtype)
    actual = np.array([1, 3, math.inf], dtype=dtype)
    assert compare(actual, expected, LOOSE).failures == 1


def test_large_values_do_not_overflow_the_cosine():
    values = np.array([1e300, -1e300], dtype=np.float64)
    assert compare(values, values, EXACT).cosine == pytest.approx(1)


def test_cosine_of_a_zero_tensor():
    assert compare(f32(0, 0), f32(0, 0), EXACT).cosine == 1
    assert math.isnan(compare(f32(1, 0), f32(0, 0), EXACT).cosine)
    assert compare(f32(1, 0), f32(0, 1), EXACT).cosine == 0


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2)])
def test_empty_tensors_match(shape: tuple[int, ...]):
    result = compare(np.zeros(shape, np.float32), np.zeros(shape, np.float32), EXACT)
    assert result.is_match
    assert result.worst is None
    assert str(result) == "empty"


def test_scalars():
    result = compare(np.float32(2).reshape(()), np.float32(1).reshape(()), EXACT)
    assert result.worst == ()
    assert "2.0 for 1.0" in str(result)


def test_shapes_and_kinds_must_agree():
    with pytest.raises(ValueError, match="shape"):
        compare(f32(1), f32(1, 2), EXACT)
    with pytest.raises(ValueError, match="element type"):
        compare(f32(1), np.array([1]), EXACT)


@settings(max_examples=50)
@given(
    st.lists(st.floats(width=32), min_size=1, max_size=20),
    st.lists(st.floats(width=32), min_size=1, max_size=20),
    st.floats(0, 1),
    st.floats(0, 10),
)
def test_failures_are_as_the_definition_says(actual: list[float], expected: list[float], rtol: float, atol: float):
    count = min(len(actual), len(expected))
    a, b = np.array(actual[:count], np.float32), np.array(expected[:count], np.float32)

    def fails(x: float, y: float) -> bool:
        if math.isnan(x) or math.isnan(y) or math.isinf(x) or math.isinf(y):
            return not (x == y or (math.isnan(x) and math.isnan(y)))
        return abs(x - y) > atol and abs(x - y) > rtol * abs(y)

    result = compare(a, b, Tolerance(rtol=rtol, atol=atol))
    assert result.failures == sum(fails(float(x), float(y)) for x, y in zip(a, b, strict=True))

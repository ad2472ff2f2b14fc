"""Derived tolerances: wide enough for what is right, too narrow for what is wrong."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from nautilus_cli.ir.types import BF16, F16, F32, F64, I64
from nautilus_cli.numerics import EXACT, compare, derived
from nautilus_cli.numerics.tolerance import confidence, magnitude, step_deviation, unit_roundoff

LENGTHS = [1, 7, 64, 1000, 4096]


def operands(k: int, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(k)
    a, b = rng.standard_normal((48, k)), rng.standard_normal((k, 40))
    return a.astype(dtype), b.astype(dtype)


def sequential(a: np.ndarray, b: np.ndarray, accumulate: type) -> np.ndarray:
    """A product that rounds after every term, as a loop over k does."""
    total = np.zeros((a.shape[0], b.shape[1]), accumulate)
    for i in range(a.shape[1]):
        total = (total + (a[:, i, None].astype(accumulate) * b[None, i, :].astype(accumulate))).astype(accumulate)
    return total


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64)


def to_tf32(x: np.ndarray) -> np.ndarray:
    bits = (x.view(np.uint32).astype(np.uint64) + 0x1000) & 0xFFFFE000
    return bits.astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("k", LENGTHS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_sequential_product_passes(k: int, dtype: type):
    a, b = operands(k, dtype)
    expected = exact(a, b).astype(dtype)
    assert compare(sequential(a, b, np.float32).astype(dtype), expected, derived(expected, terms=k)).is_match


@pytest.mark.parametrize("k", LENGTHS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_sum_of_positive_terms_passes(k: int, dtype: type):
    a = np.abs(operands(k, dtype)[0])
    ones = np.ones((k, 1), dtype)
    expected = exact(a, ones).astype(dtype)
    assert compare(sequential(a, ones, np.float32).astype(dtype), expected, derived(expected, terms=k)).is_match


@pytest.mark.parametrize("k", [7, 64, 1000, 4096])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_product_that_lacks_its_last_term_fails(k: int, dtype: type):
    a, b = operands(k, dtype)
    expected = exact(a, b).astype(dtype)
    assert not compare(exact(a[:, :-1], b[:-1]).astype(dtype), expected, derived(expected, terms=k)).is_match


@pytest.mark.parametrize("k", [64, 1000, 4096])
def test_inputs_rounded_to_tf32_fail_strict_fp32(k: int):
    a, b = operands(k, np.float32)
    expected = exact(a, b).astype(np.float32)
    assert not compare(exact(to_tf32(a), to_tf32(b)).astype(np.float32), expected, derived(expected, terms=k)).is_match


@pytest.mark.parametrize("k", [64, 1000, 4096])
def test_an_fp16_accumulator_fails(k: int):
    a, b = operands(k, np.float16)
    expected = exact(a, b).astype(np.float16)
    assert not compare(sequential(a, b, np.float16), expected, derived(expected, terms=k)).is_match


def test_the_tanh_form_of_gelu_fails_for_the_exact_one_in_fp32():
    x = np.linspace(-4, 4, 1001)
    expected = np.array([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x]).astype(np.float32)
    tanh = (0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))).astype(np.float32)
    assert not compare(tanh, expected, derived(expected)).is_match


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_neighbouring_values_pass(dtype: type):
    """Two right computations may round a value on the border to either side."""
    expected = np.linspace(0.5, 2, 100).astype(dtype)
    above = (
        expected.astype(np.float64) * (1 + 2 * unit_roundoff({"float16": F16, "bfloat16": BF16, "float32": F32}[expected.dtype.name]))
    ).astype(dtype)
    assert compare(above, expected, derived(expected)).is_match


@pytest.mark.parametrize("array", [np.arange(3), np.array([True]), np.arange(3, dtype=np.uint8)])
def test_integers_and_booleans_are_exact(array: np.ndarray):
    assert derived(array, terms=100) == EXACT


def test_a_wider_reference_keeps_the_tolerance_of_the_storage_type():
    reference = np.linspace(-1, 1, 100)
    assert derived(reference, storage=F16).rtol == pytest.approx(derived(reference.astype(np.float16)).rtol, rel=1e-3)


def test_growth():
    base = step_deviation(F32, terms=100)
    assert step_deviation(F32, terms=10_000) == pytest.approx(10 * base, rel=0.02)
    assert step_deviation(F16, terms=100) == pytest.approx(unit_roundoff(F16) / math.sqrt(3), rel=0.01)
    assert step_deviation(F16, terms=100, accumulate=F16) > 4 * step_deviation(F16, terms=100)
    reference = np.ones(10, np.float32)
    assert derived(reference, depth=4).rtol == pytest.approx(2 * derived(reference).rtol)
    assert confidence(10**6) > confidence(10) > 1


def test_scale_replaces_the_root_mean_square():
    reference = np.full(4, 1e-3, np.float32)
    plain, scaled = derived(reference), derived(reference, scale=2.0)
    assert plain.atol == pytest.approx(1e-3 * plain.rtol)
    assert scaled.atol == pytest.approx(2 * scaled.rtol)


def test_subnormal_results_may_be_flushed_in_fp32_but_not_in_fp16():
    assert compare(np.zeros(2, np.float32), np.full(2, 1e-39, np.float32), derived(np.full(2, 1e-39, np.float32))).is_match
    tiny = np.full(2, 5e-5, np.float16)
    assert not compare(np.zeros(2, np.float16), tiny, derived(tiny)).is_match


def test_magnitude_ignores_what_is_not_finite_and_does_not_overflow():
    assert magnitude(np.array([3.0, math.nan, -3.0, math.inf])) == pytest.approx(3)
    assert magnitude(np.array([1e300, 1e300])) == pytest.approx(1e300)
    assert magnitude(np.array([math.nan])) == 0
    assert magnitude(np.zeros(3)) == 0


def test_unit_roundoffs():
    assert unit_roundoff(F16) == np.finfo(np.float16).eps / 2
    assert unit_roundoff(F32) == np.finfo(np.float32).eps / 2
    assert unit_roundoff(F64) == np.finfo(np.float64).eps / 2
    assert unit_roundoff(BF16) == float(ml_dtypes.finfo(ml_dtypes.bfloat16).eps) / 2
    assert unit_roundoff(I64) == 0

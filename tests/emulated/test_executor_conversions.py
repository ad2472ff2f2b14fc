"""The emulated twins of conversions and arithmetic agree with IEEE: numpy, ml_dtypes, and what PTX says of its instructions."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tests.emulated.executor import Image, Mode

CANONICAL_NAN = 0x7FFF  # of both 16-bit types. Source: PTX ISA, cvt: "the output NaN is canonical"
EVERY_BIT_PATTERN = np.arange(1 << 16, dtype=np.uint16)


@pytest.fixture
def image(executor_image: Image) -> Image:
    executor_image.configure(Mode(threads=2))
    return executor_image


def convert(image: Image, name: str, source: np.ndarray, dtype: np.dtype | type) -> np.ndarray:
    out = np.full(source.size * np.dtype(dtype).itemsize, 0xA5, np.uint8).view(dtype)
    blocks = -(-source.size // 256)
    image.launch(name, source, out, grid=(blocks, 1, 1), block=(256, 1, 1), scalars=(source.size,))
    return out


def interesting_floats() -> np.ndarray:
    """Random bit patterns, every 16-bit float, and around each midpoint between neighbouring halfs and bfloat16s."""
    rng = np.random.default_rng(0)
    random_bits = rng.integers(0, 1 << 32, 1_000_000, dtype=np.uint32).view(np.float32)
    in_half_range = rng.standard_normal(1_000_000).astype(np.float32) * np.exp2(rng.integers(-28, 18, 1_000_000)).astype(np.float32)
    halfs = EVERY_BIT_PATTERN.view(np.float16).astype(np.float32)
    midpoints = np.concatenate(
        [
            (EVERY_BIT_PATTERN.astype(np.uint32) << 16 | 0x8000).view(np.float32),  # of bfloat16
            (halfs.view(np.uint32) + 0x1000).view(np.float32),  # of normal halfs
            ((2 * np.arange(1025) + 1) * 2.0**-25).astype(np.float32),  # of subnormal halfs
        ]
    )
    with np.errstate(invalid="ignore"):  # some midpoints are NaNs
        around = [midpoints, np.nextafter(midpoints, np.float32(np.inf)), np.nextafter(midpoints, np.float32(-np.inf))]
    limits = np.array([65504, 65519.996, 65520, 65536, 3.3895314e38, 3.3961775e38, 2.0**-24, 2.0**-25, 2.0**-26, 1e-45], np.float32)
    with np.errstate(over="ignore"):
        return np.concatenate([random_bits, in_half_range, halfs, *around, limits, -limits])


def check_bits(actual: np.ndarray, expected: np.ndarray) -> None:
    bits = np.dtype(f"u{actual.itemsize}")
    is_nan = np.isnan(expected.astype(np.float32))
    assert np.array_equal(np.isnan(actual.astype(np.float32)), is_nan)
    assert np.array_equal(actual.view(bits)[~is_nan], expected.view(bits)[~is_nan])


def test_every_half_to_float(image: Image) -> None:
    check_bits(convert(image, "f32_from_f16", EVERY_BIT_PATTERN, np.float32), EVERY_BIT_PATTERN.view(np.float16).astype(np.float32))


def test_every_bfloat16_to_float(image: Image) -> None:
    expected = EVERY_BIT_PATTERN.view(ml_dtypes.bfloat16).astype(np.float32)
    check_bits(convert(image, "f32_from_bf16", EVERY_BIT_PATTERN, np.float32), expected)


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize(("name", "dtype"), [("f16_from_f32", np.float16), ("bf16_from_f32", ml_dtypes.bfloat16)])
def test_float_rounds_to_nearest_even(image: Image, name: str, dtype: type) -> None:
    x = interesting_floats()
    out = convert(image, name, x, dtype)
    with np.errstate(invalid="ignore"):
        check_bits(out, x.astype(dtype))
    assert (out.view(np.uint16)[np.isnan(x)] == CANONICAL_NAN).all()


@pytest.mark.parametrize(("there", "back"), [("f32_from_f16", "f16_from_f32"), ("f32_from_bf16", "bf16_from_f32")])
def test_there_and_back_is_the_identity(image: Image, there: str, back: str) -> None:
    floats = convert(image, there, EVERY_BIT_PATTERN, np.float32)
    again = convert(image, back, floats, np.uint16)
    is_number = ~np.isnan(floats)
    assert np.array_equal(again[is_number], EVERY_BIT_PATTERN[is_number])


@pytest.mark.parametrize(("name", "dtype"), [("i32_from_f32", np.int32), ("i64_from_f32", np.int64)])
def test_float_to_integer_truncates_and_saturates(image: Image, name: str, dtype: type) -> None:
    x = interesting_floats()
    out = convert(image, name, x, dtype)
    limits = np.iinfo(dtype)
    inside = np.abs(x) < np.float32(2.0 ** (limits.bits - 1))
    assert np.array_equal(out[inside], np.trunc(x[inside]).astype(dtype))
    assert (out[x >= 2.0 ** (limits.bits - 1)] == limits.max).all() and (out[x <= -(2.0 ** (limits.bits - 1))] == limits.min).all()
    # Source: PTX ISA, cvt: NaN gives zero, and the highest bit alone where the destination has 64 bits.
    assert (out[np.isnan(x)] == (0 if dtype is np.int32 else limits.min)).all()


def test_float_to_narrow_integers_keeps_the_low_bits(image: Image) -> None:
    x = np.array([0, 1.9, -1.9, 255, 256, 300.5, -1, -200], np.float32)
    assert convert(image, "u8_from_f32", x, np.uint8).tolist() == [0, 1, 255, 255, 0, 44, 255, 56]
    assert convert(image, "u32_from_f32", np.array([-1, 2.0**31, 4e9, 2.0**32], np.float32), np.uint32).tolist() == [
        2**32 - 1,
        2**31,
        4 * 10**9,
        0,
    ]


def test_float_to_bool(image: Image) -> None:
    x = np.array([0, -0.0, 1, -1, 1e-45, np.nan, np.inf], np.float32)
    assert np.array_equal(convert(image, "bool_from_f32", x, np.bool_), x.astype(np.bool_))


def test_integers_to_half_through_float(image: Image) -> None:
    x = np.array([0, 1, 2049, 2051, -65504, 65519, 65520, 2**53 + 1], np.int64)
    with np.errstate(over="ignore"):
        assert np.array_equal(convert(image, "f16_from_i64", x, np.float16), x.astype(np.float32).astype(np.float16))


def test_mathematics(image: Image) -> None:
    special = [0.0, -0.0, 1.5, -1.5, 2.5, 0.5, -0.5, 1e-40, 3.7e10, 8388609.0, np.inf, -np.inf, np.nan]
    x, y = (values.ravel().astype(np.float32) for values in np.meshgrid(special, special))
    out = np.zeros((16, x.size), np.float32)
    image.launch("mathematics", x, y, out, grid=(1, 1, 1), block=(256, 1, 1), scalars=(x.size,))
    with np.errstate(all="ignore"):
        away_from_zero = np.copysign(np.floor(np.abs(x.astype(np.float64)) + 0.5), x).astype(np.float32)
        expected = [np.fmax(x, y), np.fmin(x, y), np.maximum(x, y), np.minimum(x, y), np.rint(x), away_from_zero, np.trunc(x), np.floor(x)]
        expected += [np.ceil(x), np.sqrt(x), np.array([fused(a, b) for a, b in zip(x, y, strict=True)]), np.abs(x), np.copysign(x, y)]
        expected += [np.isnan(x).astype(np.float32), np.isinf(x).astype(np.float32), np.fmod(x, y)]
    for row, (actual, right) in enumerate(zip(out, expected, strict=True)):
        assert np.array_equal(actual, right.astype(np.float32), equal_nan=True), f"row {row}"


def fused(a: np.float32, b: np.float32) -> np.float32:
    """Return a * b + a with one rounding."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return np.float32(float(a) * float(b) + float(a))
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(a))
    rounded = np.float32(float(exact))  # twice rounded: right unless double is exactly between two floats, then nudge
    if Fraction(float(np.float64(float(exact)))) != exact and is_midpoint(float(exact)):
        rounded = np.float32(np.nextafter(float(exact), math.inf if exact > Fraction(float(exact)) else -math.inf))
    return rounded


def is_midpoint(value: float) -> bool:
    return int(np.float64(value).view(np.uint64)) & 0x1FFFFFFF == 0x10000000


def test_integer_instructions(image: Image) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 1 << 32, 256, dtype=np.uint32) for _ in range(2))
    out = np.zeros((256, 4), np.uint32)
    image.launch("integers", a, b, out, grid=(1, 1, 1), block=(256, 1, 1))
    for (high, high64, ones, zeros), x, y in zip(out.tolist(), a.tolist(), b.tolist(), strict=True):
        shifted = x >> min(y % 33, 31)
        assert (high, high64) == (x * y >> 32, (x << 32) * y >> 64 & 0xFFFFFFFF)
        assert (ones, zeros) == (x.bit_count(), 32 - shifted.bit_length())

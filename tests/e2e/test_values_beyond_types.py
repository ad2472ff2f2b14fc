"""Values of inputs from which a model works out sizes, where a type holds less than that: wrong sizes are no result."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.errors import UsageError
from nautilus_cli.ir.ranges import DimRange
from tests.e2e.test_open_edges import POISONED, compiled

HIGHEST, LOWEST = 2**63 - 1, -(2**63)

# What is worked out of `a`, an int64, and gives where a slice of ten elements ends; with the same in numpy, which wraps around.
GRAPHS = {
    "cast": ("b = Cast <to = 6> (a) end = Cast <to = 7> (b)", lambda a: a.astype(np.int32).astype(np.int64)),
    "negative": ("end = Neg (a)", lambda a: -a),
    "sum": ("k = Constant <value = int64[1] {5}> () end = Add (a, k)", lambda a: a + 5),
    "far": ("k = Constant <value = int64[1] {8589934592}> () end = Add (a, k)", lambda a: a + 2**33),
    "product": ("k = Constant <value = int64[1] {3}> () end = Mul (a, k)", lambda a: a * 3),
    "greatest": (
        "k = Constant <value = int64[1] {-1099511627776}> () m = Max (a, k) end = Sub (m, k)",
        lambda a: np.maximum(a, -(2**40)) + 2**40,
    ),
    "choice": (
        """k = Constant <value = int64[1] {1099511627776}> () three = Constant <value = int64[1] {3}> ()
           far = Greater (a, k) end = Where (far, three, a)""",
        lambda a: np.where(a > 2**40, 3, a),
    ),
    "remainder": ("k = Constant <value = int64[1] {8589934592}> () end = Mod (a, k)", lambda a: a % 2**33),
}
VALUES = (4, -3, 0, 2**31 + 5, -(2**31) - 5, 2**32 + 3, 2**41, -(2**50), HIGHEST, HIGHEST - 2, LOWEST, LOWEST + 3)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_size_is_what_the_type_makes_of_it_or_an_error(name: str, tmp_path: Path) -> None:
    lines, in_numpy = GRAPHS[name]
    path = compiled(
        f"g (float[10] x, int64[1] a) => (float[n] y) {{ zero = Constant <value = int64[1] {{0}}> () {lines} y = Slice (x, zero, end) }}",
        tmp_path,
    )
    x = np.arange(10, dtype=np.float32)
    refused = []
    with nautilus_cli.load(path, emulator=POISONED) as library:
        for value in VALUES:
            a = np.array([value])
            with np.errstate(over="ignore"):
                (end,) = in_numpy(a)
            try:
                found = library(x=x, a=a)["y"]
            except UsageError as error:
                refused.append((value, f"input 'a' holds {value} in element 0" in str(error)))
            else:
                np.testing.assert_array_equal(found, x[:end], err_msg=str(value))
    assert all(names_it for _, names_it in refused)
    assert not {4, -3, 0} & {value for value, _ in refused}


def test_arithmetic_of_values_of_either_sign(tmp_path: Path) -> None:
    """Quotients go towards zero, remainders have the divisor's sign, and comparisons choose."""
    text = """g (float[10] x, int64[1] a, int64[1] b)
        => (float[k] half, float[l] magnitude, float[m] rest, float[n] lesser, float[o] same) {
      zero = Constant <value = int64[1] {0}> ()
      two = Constant <value = int64[1] {2}> ()
      minus = Constant <value = int64[1] {-3}> ()
      quotient = Div (a, two)
      half = Slice (x, zero, quotient)
      size = Abs (a)
      magnitude = Slice (x, zero, size)
      remainder = Mod (a, minus)
      rest = Slice (x, zero, remainder)
      is_less = LessOrEqual (a, b)
      chosen = Where (is_less, a, b)
      lesser = Slice (x, zero, chosen)
      is_same = Equal (a, b)
      other = Where (is_same, two, minus)
      same = Slice (x, zero, other)
    }"""
    x = np.arange(10, dtype=np.float32)
    with nautilus_cli.load(compiled(text, tmp_path), emulator=POISONED) as library:
        for a, b in ((7, 3), (-7, 3), (-7, -7), (0, 0), (-1, 2), (6, 9), (-12, -14)):
            found = library(x=x, a=np.array([a]), b=np.array([b]))
            ends = {"half": int(a / 2), "magnitude": abs(a), "rest": a % -3, "lesser": min(a, b), "same": 2 if a == b else -3}
            for name, end in ends.items():
                np.testing.assert_array_equal(found[name], x[:end], err_msg=f"{name} of {a}, {b}")


def test_a_difference_of_bytes_wraps_around(tmp_path: Path) -> None:
    text = """g (float[300] x, uint8[1] a, uint8[1] b) => (float[n] y) {
      zero = Constant <value = int64[1] {0}> ()
      rest = Sub (a, b)
      end = Cast <to = 7> (rest)
      y = Slice (x, zero, end)
    }"""
    x = np.arange(300, dtype=np.float32)
    with nautilus_cli.load(compiled(text, tmp_path), emulator=POISONED) as library:
        for a, b in ((200, 3), (3, 3)):
            np.testing.assert_array_equal(library(x=x, a=np.uint8([a]), b=np.uint8([b]))["y"], x[: a - b])
        with pytest.raises(UsageError, match="a number of type u8: -1, where 0 to 255 are right"):
            library(x=x, a=np.uint8([2]), b=np.uint8([3]))


def test_values_that_are_data_too_wrap_around(tmp_path: Path) -> None:
    """Nothing is asked of a number that decides no size, though its inputs decide others."""
    text = """g (float[10] x, int32[1] a) => (float[n] y, int32[1] hashed) {
      zero = Constant <value = int64[1] {0}> ()
      factor = Constant <value = int32[1] {1000003}> ()
      hashed = Mul (a, factor)
      end = Cast <to = 7> (a)
      y = Slice (x, zero, end)
    }"""
    x = np.arange(10, dtype=np.float32)
    with nautilus_cli.load(compiled(text, tmp_path), emulator=POISONED) as library:
        for value in (3, 2**31 - 1, -5):
            a = np.array([value], np.int32)
            found = library(x=x, a=a)
            with np.errstate(over="ignore"):
                np.testing.assert_array_equal(found["hashed"], a * np.int32(1000003))
            np.testing.assert_array_equal(found["y"], x[:value])


def test_numbers_of_dimensions_beyond_their_type_wrap_around(tmp_path: Path) -> None:
    """As data; and where the host could not compute with them, also as sizes."""
    far, half = 2**61, 2**29
    path = compiled(
        f"""g (float[n] x) => (int64[1] product, int64[1] back, int64[1] farther, int32[1] narrow, float[r] sized) {{
          k = Constant <value = int64[1] {{{far}}}> () h = Constant <value = int32[1] {{{half}}}> ()
          s = Shape (x) t = Cast <to = 6> (s)
          product = Mul (s, k) back = Div (product, k)
          squared = Mul (product, k) farther = Sub (squared, s)
          scaled = Mul (t, h) narrow = Div (scaled, h)
          size = Abs (back) sized = ConstantOfShape (size)
        }}""",
        tmp_path,
        dims={"n": DimRange(0, 16)},
    )
    with nautilus_cli.load(path, emulator=POISONED) as library:
        for n in (0, 3, 7, 16):
            s, t = np.array([n]), np.array([n], np.int32)
            with np.errstate(over="ignore"):
                product, scaled = s * far, t * np.int32(half)
                expected = [product, (product / far).astype(np.int64), product * far - s, (scaled / half).astype(np.int32)]
            found = library(x=np.zeros(n, np.float32))
            for array, wanted in zip(found.values(), expected, strict=False):
                np.testing.assert_array_equal(array, wanted)
            assert found["sized"].shape == (abs(int(expected[1][0])),)


def test_a_size_of_dimensions_beyond_its_type_is_an_error(tmp_path: Path) -> None:
    path = compiled(
        f"""g (float[n] x) => (float[r] y) {{
          h = Constant <value = int32[1] {{{2**29}}}> ()
          s = Shape (x) t = Cast <to = 6> (s) scaled = Mul (t, h) back = Div (scaled, h) size = Cast <to = 7> (back)
          y = ConstantOfShape (size)
        }}""",
        tmp_path,
        dims={"n": DimRange(0, 16)},
    )
    with nautilus_cli.load(path, emulator=POISONED) as library:
        assert library(x=np.zeros(3, np.float32))["y"].shape == (3,)
        with pytest.raises(UsageError, match=rf"a number of type i32: {7 * 2**29}, where -{2**31} to {2**31 - 1} are right"):
            library(x=np.zeros(7, np.float32))
        assert library(x=np.zeros(2, np.float32))["y"].shape == (2,)

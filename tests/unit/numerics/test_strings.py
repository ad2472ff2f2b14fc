"""Strings as code points, and the tables of upper and lower case, held against Python's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nautilus_cli.errors import UsageError
from nautilus_cli.numerics.letter_case import CODE_POINTS, converted, tables
from nautilus_cli.numerics.strings import code_points, is_text, strings

words = st.lists(st.text(st.characters(exclude_characters="\0"), max_size=6), max_size=5)


@given(words)
def test_code_points_are_the_strings(found: list[str]) -> None:
    array = np.array(found, object)
    points = code_points(array, 7, "x")
    assert points.shape == (len(found), 7)
    assert points.dtype == np.uint32
    assert [[ord(c) for c in word] for word in found] == [row[row != 0].tolist() for row in points]
    assert strings(points).tolist() == found


def test_numpy_and_python_strings_are_one() -> None:
    assert np.array_equal(code_points(np.array(["ab", "c"]), 3, "x"), code_points(np.array(["ab", "c"], object), 3, "x"))


@pytest.mark.parametrize("array", [np.array(["a"]), np.array(["a"], object), np.zeros((0,), object)])
def test_is_text(array: np.ndarray) -> None:
    assert is_text(array)


@pytest.mark.parametrize("array", [np.zeros(2), np.array([b"a"]), np.array([1, "a"], object), "a", None])
def test_is_no_text(array: object) -> None:
    assert not is_text(array)


def test_a_string_that_is_too_long() -> None:
    with pytest.raises(UsageError, match=r"x: holds a string of 4 code points; the library takes up to 3.*last dimension of 4"):
        code_points(np.array(["abcd"], object), 3, "x")


def test_a_zero_within_a_string() -> None:
    with pytest.raises(UsageError, match="the code point 0"):
        code_points(np.array(["a\0b"], object), 3, "x")


@pytest.mark.parametrize("case", ["LOWER", "UPPER"])
def test_every_code_point_has_its_simple_case(case: str) -> None:
    convert = str.lower if case == "LOWER" else str.upper
    every = np.arange(CODE_POINTS, dtype=np.uint32)
    single = [ord(found) if len(found := convert(chr(code))) == 1 else code for code in range(CODE_POINTS)]
    assert np.array_equal(converted(every, case), np.array(single, np.uint32))
    assert sum(table.nbytes for table in tables(case)) < 64 * 1024


def test_what_is_beyond_unicode_stays() -> None:
    beyond = np.array([CODE_POINTS, CODE_POINTS + 65, 2**31 - 1], np.int64)
    assert np.array_equal(converted(beyond, "UPPER"), beyond)

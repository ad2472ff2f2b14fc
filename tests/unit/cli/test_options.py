"""How option values are read: names may hold the separators, and what cannot be meant is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nautilus_cli.cli.options import binding, byte_count, dimension, open_shape, shape, tolerance, value_range
from nautilus_cli.ir.ranges import DimRange

names = st.text(min_size=1)
dims = st.lists(st.integers(0, 10**6), max_size=6)


@pytest.mark.parametrize(
    ("value", "name", "dims"),
    [
        ("x=1x3x224x224", "x", (1, 3, 224, 224)),
        ("x:1x3x224x224", "x", (1, 3, 224, 224)),
        ("input.1=1x3", "input.1", (1, 3)),
        ("input:0=1x3", "input:0", (1, 3)),
        ("input:0:1x3", "input:0", (1, 3)),
        ("a=b=4", "a=b", (4,)),
        ("a=b:4", "a=b", (4,)),
        ("tokens=7", "tokens", (7,)),
        ("scalar=", "scalar", ()),
        ("none=0x4", "none", (0, 4)),
        ("2x3=1x2", "2x3", (1, 2)),
    ],
)
def test_shapes(value: str, name: str, dims: tuple[int, ...]) -> None:
    assert shape(value) == (name, dims)


@pytest.mark.parametrize(
    ("value", "name", "dims"),
    [
        ("x=1..64x3x224x224", "x", (DimRange(1, 64), 3, 224, 224)),
        ("ids:1..8x8..512/8", "ids", (DimRange(1, 8), DimRange(8, 512, 8))),
        ("a=b=1..2", "a=b", (DimRange(1, 2),)),
        ("x=1x3", "x", (1, 3)),
        ("scalar=", "scalar", ()),
    ],
)
def test_shapes_with_ranges(value: str, name: str, dims: tuple[int | DimRange, ...]) -> None:
    assert open_shape(value) == (name, dims)


@pytest.mark.parametrize(
    ("value", "name", "found"),
    [
        ("batch=1..64", "batch", DimRange(1, 64)),
        ("seq=8..512/8", "seq", DimRange(8, 512, 8)),
        ("seq=1..512@128,256", "seq", DimRange(1, 512, 1, (128, 256))),
        ("a=b=8..16/8@8", "a=b", DimRange(8, 16, 8, (8,))),
    ],
)
def test_dimensions(value: str, name: str, found: DimRange) -> None:
    assert dimension(value) == (name, found)


@pytest.mark.parametrize("value", ["x=1..", "x=..3x4", "x=1..2..3", "x=1-64", "x=1..64/", "=1..2"])
def test_what_is_no_shape_with_ranges(value: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a shape"):
        open_shape(value)


@pytest.mark.parametrize(
    ("value", "told"), [("batch=64", "is not a dimension"), ("batch", "is not a dim"), ("s=1..9@10", "10, which is not in")]
)
def test_what_is_no_dimension(value: str, told: str) -> None:
    with pytest.raises(click.BadParameter, match=told):
        dimension(value)


@given(names, dims, st.sampled_from("=:"))
def test_every_name_can_have_a_shape(name: str, dims: list[int], separator: str) -> None:
    assert shape(f"{name}{separator}{'x'.join(map(str, dims))}") == (name, tuple(dims))


@given(names, st.integers(-(10**6), 10**6), st.floats(0, 1e6))
def test_every_name_can_have_a_range(name: str, low: int, width: float) -> None:
    assert value_range(f"{name}={low}..{low + width!r}") == (name, (low, low + width))


@given(names, st.text(st.characters(exclude_characters="="), min_size=1))
def test_every_name_can_be_bound(name: str, value: str) -> None:
    assert binding(f"{name}={value}") == (name, value)


@given(names, st.floats(0, 1e6))
def test_every_output_can_have_a_tolerance(name: str, value: float) -> None:
    assert tolerance(f"{name}={value!r}") == (name, value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("ids=0..30521", ("ids", (0.0, 30521.0))),
        ("x=-1..1", ("x", (-1.0, 1.0))),
        ("x=-1.5..-.5", ("x", (-1.5, -0.5))),
        ("x=1e-3..1E3", ("x", (0.001, 1000.0))),
        ("a=b=2..2", ("a=b", (2.0, 2.0))),
    ],
)
def test_ranges(value: str, expected: tuple[str, tuple[float, float]]) -> None:
    assert value_range(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [("1e-3", (None, 0.001)), ("0", (None, 0.0)), ("y=0.5", ("y", 0.5)), ("a=b=1", ("a=b", 1.0))]
)
def test_tolerances(value: str, expected: tuple[str | None, float]) -> None:
    assert tolerance(value) == expected


@pytest.mark.parametrize(
    ("read", "value", "advice"),
    [
        (shape, "x", "Write NAME=1x3x224x224"),
        (shape, "=1x3", "Write NAME=1x3x224x224"),
        (shape, "x=1x", "Write NAME=1x3x224x224"),
        (shape, "x=1xbatch", "Write NAME=1x3x224x224"),
        (shape, "x=1,3", "Write NAME=1x3x224x224"),
        (shape, "x=-1x3", "Write NAME=1x3x224x224"),
        (binding, "sr", "Write NAME=VALUE"),
        (binding, "sr=", "Write NAME=VALUE"),
        (value_range, "x=0", "Write NAME=LOW..HIGH"),
        (value_range, "x=a..b", "Write NAME=LOW..HIGH"),
        (value_range, "x=2..1", "empty range"),
        (value_range, "x=0..1e999", "without an end"),
        (tolerance, "-1", "Write 1e-3"),
        (tolerance, "nan", "Write 1e-3"),
        (tolerance, "1e999", "Write 1e-3"),
        (tolerance, "y=", "Write 1e-3"),
    ],
)
def test_what_cannot_be_meant_is_refused(read: Callable[[str], Any], value: str, advice: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        read(value)
    assert value in caught.value.message
    assert advice in caught.value.message


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ("0", 0),
        ("1500000", 1_500_000),
        ("12B", 12),
        ("1kB", 1000),
        ("1.5MB", 1_500_000),
        ("2GB", 2 * 10**9),
        ("1KiB", 1024),
        ("1.5 MiB", 3 * 2**19),
        ("1GiB", 2**30),
        ("3tib", 3 * 2**40),
        ("9007199254740993", 2**53 + 1),
    ],
)
def test_sizes(value: str, count: int) -> None:
    assert byte_count(value) == count


@pytest.mark.parametrize("value", ["", "GiB", "-1", "1G", "1 k", "1XB", "1GiB2", "1e9", "nan", "1,5MB"])
def test_what_is_no_size(value: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a size. Write bytes"):
        byte_count(value)

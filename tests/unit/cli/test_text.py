"""Text and JSON of results."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nautilus_cli.cli.text import counted, printable, size, table, to_json


@given(st.text())
def test_printable_text_is_printable(text: str) -> None:
    assert printable(text).isprintable()


@given(st.text().filter(str.isprintable))
def test_printable_text_stays(text: str) -> None:
    assert printable(text) == text


def test_numbers_are_flush_right() -> None:
    assert table(("name", "count"), (("a", "5"), ("long", "1000"))) == "name  count\na         5\nlong   1000"
    assert table(("name", "count"), ()) == "name  count"


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (2_500_000, "2.5 MB"), (10**10, "10.0 GB")]
)
def test_sizes(count: int, text: str) -> None:
    assert size(count) == text


def test_json_is_sorted_and_finite() -> None:
    data = {"b": (1, 2.5, math.nan), "a": Path("x"), "c": {"d": -math.inf, "e": True}}
    assert json.loads(to_json(data)) == {"a": "x", "b": [1, 2.5, None], "c": {"d": None, "e": True}}
    assert list(json.loads(to_json(data))) == ["a", "b", "c"]


def test_counts_are_grammatical() -> None:
    assert [counted(n, noun) for n, noun in ((1, "kernel"), (0, "kernel"), (1, "launch"), (2, "launch"))] == [
        "1 kernel",
        "0 kernels",
        "1 launch",
        "2 launches",
    ]

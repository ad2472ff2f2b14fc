"""nautilus cache: what is there, and what went."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from nautilus_cli import driver

from .conftest import Run

KINDS = (SimpleNamespace(name="cubin", entries=2, bytes=2000), SimpleNamespace(name="object", entries=1, bytes=500))
FOUND = SimpleNamespace(folder=Path("cache"), kinds=KINDS, measurements=7, measurement_bytes=100, bytes=2600)


def test_info(run: Run, answer) -> None:
    answer("cache_info", FOUND)
    assert [line.split() for line in run("cache", "info").out.splitlines()] == [
        ["cache:", "2.6", "kB"],
        ["kind", "entries", "size"],
        ["cubin", "2", "2.0", "kB"],
        ["object", "1", "500", "bytes"],
        ["measurements", "7", "100", "bytes"],
    ]


@pytest.mark.parametrize(
    ("arguments", "tuning", "said"),
    [([], False, "cache: removed 3 entries, 2.6 kB"), (["--tuning"], True, "cache: removed 3 entries and 7 measurements, 2.6 kB")],
)
def test_clear(arguments: list[str], tuning: bool, said: str, run: Run, answer) -> None:
    calls = answer("clear_cache", FOUND)
    assert run("cache", "clear", *arguments).out.strip() == said
    assert calls == [driver.CacheOptions(tuning=tuning)]


@pytest.mark.parametrize("name", ["info", "clear"])
def test_json(name: str, run: Run, answer) -> None:
    for function in ("cache_info", "clear_cache"):
        answer(function, FOUND)
    data = json.loads(run("cache", name, "--json").out)
    assert (data["folder"], data["bytes"], data["measurements"]) == ("cache", 2600, 7)
    assert data["kinds"][1] == {"name": "object", "entries": 1, "bytes": 500}


def test_what_there_is_none_of(run: Run) -> None:
    assert "No such command 'clean'" in run("cache", "clean").err

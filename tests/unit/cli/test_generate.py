"""nautilus generate: options as driver takes them, ids on a line."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nautilus_cli import driver

from .conftest import Run


def result(**changes: Any) -> SimpleNamespace:
    found = {"target": "sm_90a", "device": "H200", "is_emulated": False, "tokens": (5, 17), "first_ms": 12.5, "later_ms": 1.25}
    return SimpleNamespace(**{**found, **changes})


def test_options_reach_driver(run: Run, answer) -> None:
    calls = answer("generate", result())
    words = ["libm.so", "--prompt", "15,27,3", "--tokens", "20", "--stop", "2", "--device", "1", "--emulated"]
    assert run("generate", *words).code == 0
    assert calls == [driver.GenerateOptions(library=Path("libm.so"), prompt=(15, 27, 3), tokens=20, stop=2, device=1, place="emulated")]


def test_ids_and_times(run: Run, answer) -> None:
    answer("generate", result())
    assert run("generate", "libm.so", "--prompt", "1").out == (
        "5,17\nfirst token after 12.5 ms, then 1.25 ms a token; on H200, target sm_90a\n"
    )
    answer("generate", result(tokens=(5,), later_ms=None, is_emulated=True))
    assert "12.5 ms; on H200, target sm_90a (emulated: not a speed)" in run("generate", "libm.so", "--prompt", "1").out


def test_json(run: Run, answer) -> None:
    answer("generate", result())
    data = json.loads(run("generate", "libm.so", "--prompt", "1", "--json").out)
    assert (data["tokens"], data["first_ms"], data["later_ms"], data["emulated"]) == ([5, 17], 12.5, 1.25, False)


@pytest.mark.parametrize("prompt", ["", "a", "1,,2", "-1", "1 2"])
def test_what_is_no_prompt_is_refused(prompt: str, run: Run) -> None:
    done = run("generate", "libm.so", "--prompt", prompt)
    assert done.code == 2 and "is no list of token ids. Write 15,27,3." in done.err

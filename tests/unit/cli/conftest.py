"""Runs the command line in this process, with results of driver made up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nautilus_cli import driver
from nautilus_cli.cli.main import main


@dataclass(frozen=True)
class Outcome:
    """What a run gave."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `nautilus` with the given arguments."""

    def run_once(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = main(arguments)
        said = capsys.readouterr()
        return Outcome(code, said.out, said.err)

    return run_once


def comparison(**changes: Any) -> SimpleNamespace:
    """A comparison that matches, unless changed."""
    found: dict[str, Any] = dict(  # noqa: C408
        elements=1000,
        tolerance=SimpleNamespace(rtol=1e-4, atol=1e-6),
        max_abs=1.25e-6,
        max_rel=3.5e-5,
        cosine=0.99999999,
        actual_nan=0,
        expected_nan=0,
        actual_inf=0,
        expected_inf=0,
        failures=0,
        is_match=True,
    )
    return SimpleNamespace(**{**found, **changes})


def failing(**changes: Any) -> SimpleNamespace:
    """A comparison that fails."""
    return comparison(failures=3, is_match=False, max_abs=0.5, **changes)


def verification(**comparisons: Any) -> SimpleNamespace:
    found = comparisons or {"y": comparison()}
    return SimpleNamespace(
        target="emulated", reference="onnxruntime 1.2.3", comparisons=found, notes=(), cases=(), groups=(), fault=None, more_targets=()
    )


def compiled_target(name: str) -> SimpleNamespace:
    return SimpleNamespace(target=name, kernels=3, launches=5, arena_bytes=4096)


def compilation(**changes: Any) -> SimpleNamespace:
    """A compilation, verified unless changed."""
    made: dict[str, Any] = dict(  # noqa: C408
        library=Path("libm.so"),
        manifest=Path("libm.json"),
        weights=None,
        targets=(compiled_target("emulated"),),
        library_bytes=1_250_000,
        weight_bytes=600_000,
        notes=("No GPU here, so the target is emulated.",),
        verification=verification(),
    )
    return SimpleNamespace(**{**made, **changes})


class Calls(list[Any]):
    """The options that a made-up driver function was called with."""


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Any], Calls]:
    """Return a function that makes `driver.NAME` return (or raise) something, and records its options."""

    def replace(name: str, result: Any) -> Calls:
        calls = Calls()

        def function(options: Any, *, progress: Any) -> Any:
            progress("stage", 1, 2)
            calls.append(options)
            if isinstance(result, BaseException):
                raise result
            return result

        monkeypatch.setattr(driver, name, function, raising=False)
        return calls

    return replace

"""Whole runs of Nautilus: one cache for all tests of a session, so that equal kernels are compiled once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.commands import Caller
from tests.e2e.networks import perceptron, saved
from tests.support.fixtures import gpu_library_path, host, image, library_path

__all__ = ["gpu_library_path", "host", "image", "library_path"]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of compiled code that every test here uses; the processes of pytest-xdist share it."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "nautilus-cache"


@pytest.fixture(autouse=True)
def _environment(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile into that cache, in this process and in those that it starts."""
    monkeypatch.setenv("NAUTILUS_CACHE_DIR", os.fspath(cache))


@pytest.fixture
def nautilus(capfd: pytest.CaptureFixture[str]) -> Caller:
    """Runs the command line in this process."""
    return Caller(capfd)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A small network in a file."""
    return saved(perceptron(), tmp_path / "model.onnx")


@pytest.fixture
def library(model: Path, nautilus: Caller) -> Path:
    """Its library, which was compared with nothing."""
    path = model.with_name("libmodel.so")
    nautilus("compile", model, "-o", path, "--target", "emulated", "--no-verify").done()
    return path


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly that the wheel was not tried."""
    for report in terminalreporter.stats.get("skipped", []):
        if "test_wheel" in report.nodeid:
            terminalreporter.section("THE WHEEL WAS NOT TRIED", sep="!", red=True, bold=True)
            terminalreporter.line(str(report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr))
            return

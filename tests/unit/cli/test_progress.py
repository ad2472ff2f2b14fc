"""Progress: shown on a terminal, after the delay, and gone at the end. The timer is the test's own, so no test waits."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest

from nautilus_cli.cli.progress import DELAY_S, ProgressLine
from nautilus_cli.cli.settings import Settings


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Timer:
    """A timer that rings when told."""

    def __init__(self) -> None:
        self.ring: Callable[[], None] | None = None
        self.delay_s = 0.0
        self.cancelled = False

    def __call__(self, delay_s: float, function: Callable[[], None]) -> Callable[[], None]:
        self.delay_s, self.ring = delay_s, function
        return self._cancel

    def _cancel(self) -> None:
        self.cancelled = True


def test_it_appears_after_the_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, timer = Terminal(), Timer()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with ProgressLine(Settings(), timer) as progress:
        progress("compiling kernels", 3, 12)
        assert terminal.getvalue() == ""
        assert timer.ring
        assert timer.delay_s == DELAY_S
        timer.ring()
        progress("verifying \x1b[2J", 0, 1)
    said = terminal.getvalue()
    assert "compiling kernels 3/12" in said
    assert "verifying \\x1b[2J" in said
    assert timer.cancelled


def test_work_that_ends_sooner_shows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, timer = Terminal(), Timer()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressLine(Settings(), timer) as progress:
        progress("compiling kernels", 3, 12)
    assert timer.ring
    timer.ring()  # a timer that rang just as it was cancelled
    assert terminal.getvalue() == ""


@pytest.mark.parametrize(("settings", "stream"), [(Settings(quiet=True), Terminal()), (Settings(), io.StringIO())])
def test_neither_quiet_nor_off_a_terminal(settings: Settings, stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    timer = Timer()
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressLine(settings, timer) as progress:
        progress("compiling kernels", 3, 12)
    assert timer.ring is None
    assert stream.getvalue() == ""


def test_it_is_gone_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    timer = Timer()
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(ValueError, match="no"), ProgressLine(Settings(), timer):
        raise ValueError("no")
    assert timer.cancelled

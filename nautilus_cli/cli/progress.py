"""Progress on stderr: a line that appears after a second, on a terminal only."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from nautilus_cli.cli.settings import Settings
from nautilus_cli.cli.text import printable

DELAY_S = 1.0
"""What is done sooner needs no progress."""


class ProgressLine:
    """Shows the stage of work, how much of it is done, and for how long it has been going on.

    Args:
        settings: says whether anything is shown.
        start_timer: calls a function after some seconds, and returns what cancels that; a test passes its own.
    """

    def __init__(self, settings: Settings, start_timer: Callable[[float, Callable[[], None]], Callable[[], None]] | None = None) -> None:
        self._wanted = not settings.quiet and sys.stderr.isatty()
        self._start_timer = start_timer or _start_timer
        self._lock = threading.Lock()
        self._state: tuple[str, int, int] = ("", 0, 0)
        self._display: Any = None
        self._ended = False

    def __enter__(self) -> Self:
        self._cancel = self._start_timer(DELAY_S, self._show) if self._wanted else lambda: None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._cancel()
        with self._lock:
            self._ended = True
            if self._display:
                self._display.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Say what is being done; see driver.Progress."""
        with self._lock:
            self._state = (stage, done, total)
            self._update()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._ended:
                return
            columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
            self._display = Progress(*columns, console=Console(stderr=True), transient=True)
            self._display.add_task("")
            self._update()
            self._display.start()

    def _update(self) -> None:
        if self._display:
            stage, done, total = self._state
            count = f" {done}/{total}" if total > 1 else ""
            self._display.update(self._display.task_ids[0], description=printable(stage) + count)


def _start_timer(delay_s: float, function: Callable[[], None]) -> Callable[[], None]:
    timer = threading.Timer(delay_s, function)
    timer.daemon = True
    timer.start()
    return timer.cancel

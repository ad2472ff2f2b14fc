"""The command line, called in this process or in one of its own, and what an error must look like."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from nautilus_cli.cli.main import main
from tests.support.alive import MIGHT_HANG_S

ROOT = Path(__file__).resolve().parents[2]

COMMAND = (sys.executable, "-m", "nautilus_cli.cli")

_UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave."""

    code: int
    out: str
    err: str

    def done(self) -> Outcome:
        """Return this, after checking that all went well."""
        assert self.code == 0, self.err
        return self

    def refused(self, code: int) -> str:
        """Return the error, after checking that it is one paragraph with this exit code and nothing else."""
        assert self.code == code, self.err or self.out
        assert self.out == ""
        assert self.err.startswith("error: ")
        assert self.err.endswith("\n")
        said = self.err.removesuffix("\n")
        assert "\n" not in said, "more than one paragraph"
        assert not _UNPRINTABLE.search(said)
        assert "Traceback" not in said
        assert len(said) < 1000, "a paragraph that nobody reads"
        return said.removeprefix("error: ")


class Caller:
    """Runs the command line in this process; what C++ code writes is captured too."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, *arguments: str | os.PathLike[str]) -> Outcome:
        self._capture.readouterr()
        code = main([os.fspath(argument) for argument in arguments])
        said = self._capture.readouterr()
        return Outcome(code, said.out, said.err)


def start(*arguments: str | os.PathLike[str], cwd: Path, **environment: str) -> subprocess.Popen[str]:
    """Start the command line in a process group of its own, as a shell does."""
    return subprocess.Popen(
        [*COMMAND, *map(os.fspath, arguments)],
        cwd=cwd,
        env=child_environment(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_hear_interrupts,
    )


MOST_PRESSES = 3


def _hear_interrupts() -> None:
    """A shell starts what it puts in the background deaf to Ctrl-C, and children inherit that; at a terminal nobody is."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def finished(process: subprocess.Popen[str], seconds: float = MIGHT_HANG_S) -> Outcome:
    """Wait for a process.

    CPython ends by SIGINT itself where the interrupt came in the middle of `exec` of a text, as dataclasses do while modules are imported,
    even if it was handled; a shell shows both ways as 130.
    """
    out, err = process.communicate(timeout=seconds)
    code = 128 + signal.SIGINT if process.returncode == -signal.SIGINT else process.returncode
    return Outcome(code, out, err)


def interrupted(process: subprocess.Popen[str], *, is_group: bool = False) -> Outcome:
    """Interrupt a process and wait for it.

    An interrupt can be lost once: CPython forgets what comes in a destructor, and numpy.random what comes while Cython registers its
    generators, in the import at its first use. Then Ctrl-C is pressed again, as a person would; a command that does not hear it in all of
    its work goes on for ever.
    """
    for _ in range(MOST_PRESSES):
        if is_group:
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return finished(process, MIGHT_HANG_S / 20)
    process.kill()
    raise AssertionError(f"it goes on, interrupted {MOST_PRESSES} times; it said: {process.communicate()[1]}")


def run(*arguments: str | os.PathLike[str], cwd: Path, **environment: str) -> Outcome:
    """Run the command line in a process of its own."""
    return finished(start(*arguments, cwd=cwd, **environment))


def child_environment(changes: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with changes, so that the project is found from any folder."""
    return {**os.environ, "PYTHONPATH": os.fspath(ROOT), **changes}

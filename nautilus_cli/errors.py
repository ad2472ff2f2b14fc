"""The error tree: one class an exit code; every message says what, where, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar

_LONGEST_NAME = 80


class NautilusError(Exception):
    """An error meant for the user: shown as one paragraph, never as a traceback.

    Args:
        message: what was found, in a sentence without the place.
        where: the node, tensor, file or option it concerns.
        hint: what would be right, or what to run next.
    """

    exit_code: ClassVar[int] = 70

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self._hint = hint

    @property
    def hint(self) -> str | None:
        """What would be right, or what to run next."""
        return self._hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        if not self.hint:
            return f"{place}{self.message}"
        return f"{place}{self.message}{'' if self.message.endswith(('.', '!', '?')) else '.'} {self.hint}"


class UsageError(NautilusError):
    """An option or argument that cannot be meant as given."""

    exit_code = 2


class NotServedError(UsageError):
    """Inputs that lead a run where its library does not go: into a loop that goes on for too long, or a branch that cannot be."""


class ModelError(NautilusError):
    """A model that is invalid, or that uses what is not supported."""

    exit_code = 3


class ToolchainError(NautilusError):
    """A compiler that is missing or that refused generated code."""

    exit_code = 4


class DeviceError(NautilusError):
    """A driver or device that is missing, unfit, or that failed."""

    exit_code = 5


class VerificationError(NautilusError):
    """Outputs that differ from the reference by more than the tolerance."""

    exit_code = 6


class FileError(NautilusError):
    """A file that cannot be read or written, or that is not what it should be."""

    exit_code = 7


class InternalError(NautilusError):
    """A broken invariant of Nautilus itself."""

    exit_code = 70


class Interrupted(NautilusError):
    """The user stopped the command."""

    exit_code = 130


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a sentence that lists the known names nearest to NAME, or all of them when few."""
    known = sorted(known)
    # Of an endless name nothing is near, and looking would take forever.
    close = (get_close_matches(name, known, n=3, cutoff=0.5) if len(name) <= _LONGEST_NAME else []) or known[:8]
    return f"Known: {', '.join(map(shortened, close))}." if close else "None is known."


def shortened(text: str, longest: int = _LONGEST_NAME) -> str:
    """Return TEXT, cut where it is longer than a message should be."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"

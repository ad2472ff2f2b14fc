"""Names from outside, made fit for a message."""

from __future__ import annotations

_LONGEST = 80


def quoted(name: str) -> str:
    """Return a name in quotes, control characters escaped and an endless one cut."""
    return repr(name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…")

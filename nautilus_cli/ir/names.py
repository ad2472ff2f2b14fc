"""Names from outside, made fit for a message."""

from __future__ import annotations

from nautilus_cli.errors import shortened


def quoted(name: str) -> str:
    """Return a name in quotes, control characters escaped and an endless one cut."""
    return repr(shortened(name))

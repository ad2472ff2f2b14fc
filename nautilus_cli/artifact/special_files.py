"""Files that are none to read as a whole or to put another in the place of: pipes, sockets and devices."""

from __future__ import annotations

import stat
from pathlib import Path

from nautilus_cli.errors import FileError


def refuse_special(path: Path, what: str, *, follow: bool = True, hint: str | None = None) -> None:
    """Refuse a pipe, a socket or a device: reading it may wait forever, and a rename onto it replaces it.

    Args:
        path: the path; what is not there, or cannot be asked of, is none of these.
        what: what is refused, as the error begins.
        follow: whether a link is what it leads to. A rename replaces the link itself.
        hint: what to do instead.

    Raises:
        FileError: it is one.
    """
    try:
        mode = (path.stat() if follow else path.lstat()).st_mode
    except (OSError, ValueError):  # ValueError: a null byte in the path
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
        raise FileError(f"{what}: it is a pipe, a socket or a device", where=str(path), hint=hint)

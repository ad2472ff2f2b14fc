"""Files that are none to read as a whole or to put another in the place of: pipes, sockets and devices."""

from __future__ import annotations

import stat
from pathlib import Path

WHAT = "it is a pipe, a socket or a device"
"""What errors say of them."""


def is_special(path: Path, *, follow: bool = True) -> bool:
    """Whether a path is that of a pipe, a socket or a device: reading it may wait forever, and a rename onto it replaces it.

    Args:
        path: the path; what is not there, or cannot be asked of, is none.
        follow: whether a link is what it leads to. A rename replaces the link itself.
    """
    try:
        mode = (path.stat() if follow else path.lstat()).st_mode
    except (OSError, ValueError):  # ValueError: a null byte in the path
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))

"""Processes and threads as /proc shows them, which changes while it is read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

MIGHT_HANG_S = 1200
"""Longer than anything takes on the slowest machine: what has not come until then never comes."""


def stat(pid: int) -> tuple[str, int, int] | None:
    """Return a process's state, its parent and when it was started, None where there is none."""
    with suppress(FileNotFoundError, ProcessLookupError):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return fields[0], int(fields[1]), int(fields[19])
    return None


def is_alive(pid: int, since: int | None = None) -> bool:
    """Return whether a process has not ended; one that ended and that nobody has asked for has.

    Args:
        pid: its number.
        since: when it was started; another one may have its number by now.
    """
    found = stat(pid)
    return found is not None and found[0] not in "ZX" and since in (None, found[2])


def children(pid: int) -> dict[int, int]:
    """Return the processes that a process has started and not waited for, with when each was started."""
    found: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and (of := stat(int(folder.name))) and of[1] == pid:
            found[int(folder.name)] = of[2]
    return found


def os_threads() -> set[str]:
    """Return the threads of this process. One that was joined is still there for a moment."""
    return set(os.listdir("/proc/self/task"))


def resident_bytes() -> int:
    """Return the resident memory of this process, counted page by page: where there are many cores, statm is off by megabytes."""
    try:
        line = next(line for line in Path("/proc/self/smaps_rollup").read_text().splitlines() if line.startswith("Rss:"))
    except FileNotFoundError:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return int(line.split()[1]) * 1024


def comes(condition: Callable[[], bool], seconds: float = MIGHT_HANG_S) -> bool:
    """Wait for a condition; return whether it has come about."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return condition()
        time.sleep(0.01)
    return True

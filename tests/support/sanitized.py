"""Programs under sanitizers, at addresses that suit these."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

UNSUITED = "unexpected memory mapping"
"""What ThreadSanitizer says, at random, where addresses are drawn from more than it has room for."""

_ADDR_NO_RANDOMIZE = 0x0040000  # sys/personality.h; a container may forbid it
_LIBC = ctypes.CDLL(None)


def _draw_no_addresses() -> None:
    _LIBC.personality(_ADDR_NO_RANDOMIZE)


def run(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program. If addresses are drawn all the same, and do not suit the sanitizer, others may."""
    for _ in range(20):
        done = subprocess.run(command, capture_output=True, text=True, env=environment, preexec_fn=_draw_no_addresses)
        if UNSUITED not in done.stderr:
            break
    return done

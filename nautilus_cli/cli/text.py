"""Results as text and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def printable(text: str) -> str:
    """Return TEXT with what could drive a terminal, or break a line, written as an escape; names in a model may hold anything."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an aligned table; columns of numbers are flush right.

    Shapes:
        rows: each as long as columns.
    """
    cells = [[printable(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    right = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(columns))]
    lines = ("  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def counted(number: int, noun: str) -> str:
    """Return a number of things, for example `1 launch` or `3 launches`."""
    plural = "es" if noun.endswith(("ch", "s")) else "s"
    return f"{number} {noun}{'' if number == 1 else plural}"


def size(count_bytes: int) -> str:
    """Return a size for people, for example `1.5 MB` (10^6 bytes)."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count_bytes >= factor:
            return f"{count_bytes / factor:.1f} {unit}"
    return f"{count_bytes} bytes"


def to_json(data: Any) -> str:
    """Return DATA as JSON with sorted keys; a number that is not finite is null, since JSON has none."""
    return json.dumps(_plain(data), indent=2, sort_keys=True, allow_nan=False)


def _plain(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(name): _plain(value) for name, value in data.items()}
    if isinstance(data, Sequence) and not isinstance(data, str):
        return [_plain(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return str(data) if isinstance(data, Path) else data

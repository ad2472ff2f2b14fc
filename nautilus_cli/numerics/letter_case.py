"""Upper and lower case of single code points, as tables that a device can look up.

A code point whose other case is several characters keeps its own (ß has no single capital), as the C library's towlower and towupper have
it. Source: the Unicode Character Database, simple case mappings, as Python's `unicodedata` version holds them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

CODE_POINTS = 0x110000
PAGE = 256
"""Code points of a page: most pages have no letters of two cases, and share one."""


@cache
def tables(case: str) -> tuple[np.ndarray, np.ndarray]:
    """Return, for `LOWER` or `UPPER`, which page of the second table each PAGE code points have, and what to add to each of a page.

    Both are int32; the last entry of the first is the page of whatever lies beyond Unicode, which stays as it is.
    """
    convert: Callable[[str], str] = str.lower if case == "LOWER" else str.upper
    added = np.zeros(CODE_POINTS, np.int32)
    for code in range(CODE_POINTS):
        other = convert(chr(code))
        if len(other) == 1:
            added[code] = ord(other) - code
    pages = added.reshape(-1, PAGE)
    distinct, number = np.unique(np.concatenate([pages, np.zeros((1, PAGE), np.int32)]), axis=0, return_inverse=True)
    return number.reshape(-1).astype(np.int32), distinct.reshape(-1)


def converted(points: np.ndarray, case: str) -> np.ndarray:
    """Return code points in another case, as the tables have it."""
    pages, added = tables(case)
    codes = points.astype(np.int64)
    page = pages[np.minimum(codes // PAGE, pages.size - 1)]
    found: np.ndarray = (codes + added[page * PAGE + codes % PAGE]).astype(points.dtype)
    return found

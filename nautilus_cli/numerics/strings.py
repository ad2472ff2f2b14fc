"""Text as numbers: a tensor of strings of up to WIDTH code points is a tensor of uint32 with one more dimension.

A string that is shorter ends in zeros, as in numpy's type `<U`, of which this is the memory. Source: numpy, "Data type objects": UCS-4.
"""

from __future__ import annotations

import numpy as np

from nautilus_cli.errors import UsageError

DEFAULT_WIDTH = 64
"""Code points of a string where nobody says how many."""


def is_text(array: object) -> bool:
    """Whether an array holds strings: numpy's own, or Python's in an array of objects, as onnxruntime has them."""
    return isinstance(array, np.ndarray) and (
        array.dtype.kind == "U" or (array.dtype == object and all(isinstance(s, str) for s in array.flat))
    )


def code_points(array: np.ndarray, width: int, where: str) -> np.ndarray:
    """Return strings [...] as uint32 [..., WIDTH].

    Args:
        array: strings.
        width: how many code points a string may have.
        where: what the strings are, for errors.

    Raises:
        UsageError: a string has more, or holds the code point 0, which ends one.
    """
    for text in array.flat:
        if len(text) > width:
            raise UsageError(
                f"holds a string of {len(text)} code points; the library takes up to {width}",
                where=where,
                hint=f"Compile with --shape and a last dimension of {len(text)}, the most code points of a string.",
            )
        if "\0" in text:
            raise UsageError("holds a string with the code point 0, which marks the end of one", where=where)
    if width == 0:
        return np.zeros((*array.shape, 0), np.uint32)
    fixed = np.ascontiguousarray(array.astype(f"<U{width}"))
    return fixed.reshape(-1).view(np.uint32).reshape(*array.shape, width)


def strings(points: np.ndarray) -> np.ndarray:
    """Return uint32 [..., width] as strings [...] in an array of objects, as onnxruntime gives them."""
    width = points.shape[-1]
    found = np.empty(points.shape[:-1], object)
    if width == 0:
        found[...] = ""
        return found
    found[...] = np.ascontiguousarray(points).reshape(-1).view(f"<U{width}").reshape(points.shape[:-1])
    return found

"""How the numpy truths compute: 16-bit floats in float32, everything else in its own type."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.types import dtype_of


def widened(array: np.ndarray) -> np.ndarray:
    """Return the array in the type in which kernels compute it."""
    return array.astype(dtype_of(array).compute.numpy, copy=False)


def stored(array: np.ndarray | np.generic, like: np.ndarray) -> np.ndarray:
    """Return the array rounded to the element type of LIKE."""
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(like.dtype, copy=False)

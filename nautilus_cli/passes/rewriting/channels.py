"""Constants that hold one number a channel, and rounding of folded ones."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import dtype_of
from nautilus_cli.numerics.tolerance import unit_roundoff


def per_channel(value: Value | None, channels: int, rank: int) -> np.ndarray | None:
    """Return the numbers of a constant that broadcasts along every dimension but the second of a tensor of RANK; None for any other.

    Shapes:
        result: [channels], float64.
    """
    if value is None or value.constant is None:
        return None
    shape = value.type.static
    padded = (1,) * (rank - len(shape)) + shape
    if len(padded) != rank or any(d != 1 for i, d in enumerate(padded) if i != 1) or padded[1] not in (1, channels):
        return None
    return np.broadcast_to(value.constant.reshape(-1).astype(np.float64), (channels,))


def as_channel_shape(numbers: np.ndarray, rank: int, dtype: np.dtype) -> np.ndarray:
    """Return [channels] numbers shaped to broadcast over a tensor of RANK."""
    return numbers.reshape((1, -1) + (1,) * (rank - 2)).astype(dtype)


def is_overflow(numbers: np.ndarray, dtype: np.dtype) -> bool:
    """Whether a finite number becomes an infinity in an element type."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool((np.isfinite(numbers) & ~np.isfinite(numbers.astype(dtype))).any())


def rounded(numbers: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """Return NUMBERS, in float64, rounded to an element type; None where it cannot hold them.

    One overflows, or they are so small as a whole that rounding takes more of them than it does of numbers in the normal range.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        result = numbers.astype(dtype)
        lost = float(np.linalg.norm(result.astype(np.float64) - numbers))
        is_close = lost <= 2 * unit_roundoff(dtype_of(dtype)) * float(np.linalg.norm(numbers))
    return result if is_close else None

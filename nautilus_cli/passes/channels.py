"""Constants that hold one number a channel."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.graph import Value


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

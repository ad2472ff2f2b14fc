"""Test data: drawn from a name, so that a case is the same in every process."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from nautilus_cli.ir.types import DType


def random(name: str, shape: Sequence[int], dtype: DType) -> np.ndarray:
    """Return data drawn from the name: normal floats, integers over the type's range, coin flips."""
    generator = np.random.default_rng(crc32(name.encode()))
    if dtype.is_float:
        return generator.standard_normal(tuple(shape)).astype(dtype.numpy)
    if dtype.kind == "bool":
        return generator.random(tuple(shape)) < 0.5
    limits = np.iinfo(dtype.numpy)
    return generator.integers(limits.min, limits.max, tuple(shape), dtype.numpy, endpoint=True)

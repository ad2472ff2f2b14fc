"""Strategies that draw operands, shapes and axes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

FLOATS = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)

MovedTypes = st.sampled_from([np.float32, np.float16, np.int64, np.uint8, np.bool_])


def shapes(low: int = 0, high: int = 4, *, sizes: st.SearchStrategy[int] | None = None) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes with rank from LOW to HIGH; now and then a dimension is empty."""
    return st.lists(st.sampled_from([1, 2, 3, 4, 5, 7, 1, 2, 3, 0]) if sizes is None else sizes, min_size=low, max_size=high).map(tuple)


def full_shapes(low: int = 0, high: int = 4) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes without empty dimensions."""
    return shapes(low, high, sizes=st.integers(1, 5))


@st.composite
def broadcastable(draw: st.DrawFn, count: int) -> list[tuple[int, ...]]:
    """Shapes that broadcast together."""
    target = draw(shapes())
    found = []
    for _ in range(count):
        kept = target[draw(st.integers(0, len(target))) :]
        found.append(tuple(1 if draw(st.booleans()) else d for d in kept))
    return found


@st.composite
def axes_of(draw: st.DrawFn, rank: int) -> tuple[int, ...]:
    """Some different axes, from the front or the back, in any order."""
    chosen = draw(st.permutations(range(rank)))[: draw(st.integers(0, rank))]
    return tuple(a - rank if draw(st.booleans()) else a for a in chosen)


def seeds() -> st.SearchStrategy[np.random.Generator]:
    """Generators; what they draw shrinks to nothing, but repeats."""
    return st.integers(0, 2**16).map(np.random.default_rng)


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: object) -> np.ndarray:
    """Values of moderate size of any element type."""
    kind = np.dtype(dtype)  # type: ignore[call-overload]
    if kind.kind == "b":
        return rng.random(shape) < 0.5
    if kind.kind in "iu":
        return rng.integers(0 if kind.kind == "u" else -20, 20, shape).astype(kind)
    return np.asarray(rng.standard_normal(shape)).astype(kind)

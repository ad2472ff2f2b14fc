"""What a matrix product is measured on, and how far its results are from float64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.types import DType
from nautilus_cli.lowering.single.lone_product import LoneProduct, stride

_CHECKED_ROWS = 32
"""Of the results; all of a large product would take longer to compute in float64 than to measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductOperands:
    """What a product is measured on.

    Attributes:
        a: [m, k].
        b: [n, k].
        weights: copies of B, flat, each with what lies between it and the next.
    """

    a: np.ndarray
    b: np.ndarray
    weights: np.ndarray

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        """What a session takes."""
        return {"a": self.a.reshape(-1), "b": self.weights}

    def error(self, results: np.ndarray) -> float:
        """Return the norm of some rows' error over theirs, of the first of the results [m, n] that lie behind each other."""
        m, n = len(self.a), len(self.b)
        rows = np.unique(np.linspace(0, m - 1, _CHECKED_ROWS).astype(int))
        expected = self.a[rows].astype(np.float64) @ self.b.astype(np.float64).T
        found = results[: m * n].reshape(m, n)[rows].astype(np.float64)
        return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def drawn_operands(product: LoneProduct, copies: int, seed: int) -> ProductOperands:
    """Return random operands, with so many copies of B."""
    p, random = product, np.random.default_rng(seed)
    a, b = _drawn(random, p.m * p.k, p.dtype), _drawn(random, p.n * p.k, p.dtype)
    weights = np.tile(_padded(b, stride(p, p.n * p.k)), copies)
    return ProductOperands(a=a.reshape(p.m, p.k), b=b.reshape(p.n, p.k), weights=weights)


def _drawn(random: np.random.Generator, elements: int, dtype: DType) -> np.ndarray:
    """Return normal numbers; never zeros, on which a GPU runs faster than on data."""
    return random.standard_normal(elements, np.float32).astype(dtype.numpy)


def _padded(array: np.ndarray, elements: int) -> np.ndarray:
    return np.concatenate([array, np.zeros(elements - array.size, array.dtype)])

"""What every problem of a matrix product begins with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Extents:
    """A batched product of an [m, k] and a [k, n] matrix.

    Attributes:
        batch: number of products.
        m: rows of A and of the result.
        n: columns of B and of the result.
        k: length of the sums.
        a_k_last: whether k, not m, is A's last coordinate, along which it is loaded in vectors.
        b_k_last: whether k, not n, is B's last coordinate.
    """

    batch: int
    m: int
    n: int
    k: int
    a_k_last: bool
    b_k_last: bool

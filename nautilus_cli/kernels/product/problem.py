"""What a product is to the main loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nautilus_cli.kernels.extents import Extents


@dataclass(frozen=True, slots=True, kw_only=True)
class Product(Extents):
    """A batched product of an [m, k] and a [k, n] matrix, as the main loop sees it.

    Attributes:
        a_run: elements along A's last coordinate that vectors must divide.
        b_run: the same of B.
        a_bytes: of a stored element of A.
        b_bytes: of a stored element of B.
        sum_bytes: of an accumulator.
        is_straight: whether both operands are only loaded, as the type of the sums, from places at fixed distances; only ranks schedules.
        a_work: what is computed of an element of A wherever it is loaded, in additions; only ranks schedules.
        is_paired: whether two neighbouring sums make one result, so that a thread needs both.
    """

    a_run: int
    b_run: int
    a_bytes: int
    b_bytes: int
    sum_bytes: int
    is_straight: bool = False
    a_work: int = 0
    is_paired: bool = False


def product_of(problem: Any, *, is_straight: bool = False) -> Product:
    """Return a product of two matrices as the main loop sees it.

    Args:
        problem: that of a gemm family: its fields of these names, `a_storage`, `b_storage` and `accumulate`.
        is_straight: as `Product` has it.
    """
    return Product(
        batch=problem.batch,
        m=problem.m,
        n=problem.n,
        k=problem.k,
        a_k_last=problem.a_k_last,
        b_k_last=problem.b_k_last,
        a_run=problem.k if problem.a_k_last else problem.m,
        b_run=problem.k if problem.b_k_last else problem.n,
        a_bytes=problem.a_storage.bytes,
        b_bytes=problem.b_storage.bytes,
        sum_bytes=problem.accumulate.bytes,
        is_straight=is_straight,
        a_work=problem.a_work,
        is_paired=problem.is_paired,
    )

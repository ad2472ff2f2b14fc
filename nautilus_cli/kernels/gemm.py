"""Matrix products without tensor cores: batch × [m, k] × [k, n], any orientation of both operands."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.ir.types import F32, DType
from nautilus_cli.kernels import product
from nautilus_cli.kernels.extents import Extents
from nautilus_cli.kernels.product import Product, Schedule, product_of
from nautilus_cli.kernels.product_family import ProductFamily
from nautilus_cli.targets.base import Target

__all__ = ["FAMILY", "Problem", "Schedule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(Extents):
    """A batched matrix product; k = 0 gives zeros.

    Functors: `A` at (batch, m, k), or (batch, k, m) where `a_k_last` is false; `B` at (batch, n, k), or (batch, k, n) where `b_k_last` is
    false; `Epilogue` at (batch, m, n), whose parameter 0 is the sum.

    Attributes:
        accumulate: type of the sums.
        a_storage: type of A's elements in memory; only sizes vectors.
        b_storage: type of B's elements in memory; only sizes vectors.
        is_straight: whether both functors only load, as `accumulate`, from places at fixed distances; only ranks schedules.
        a_work: what is computed of an element of A wherever it is loaded, in additions; only ranks schedules.
        is_paired: whether two neighbouring columns of B make one result, as two products of A: `n` counts columns of B, `Epilogue` is at
            (batch, m, n / 2) and has two sums, parameters 0 and 1.
    """

    accumulate: DType
    a_storage: DType = F32
    b_storage: DType = F32
    is_straight: bool = False
    a_work: int = 0
    is_paired: bool = False

    @property
    def product(self) -> Product:
        """The problem as the main loop sees it."""
        return product_of(self, is_straight=self.is_straight)


class GemmFamily(ProductFamily[Product, Schedule]):
    """The family of products without tensor cores."""

    __slots__ = ()

    def open_ns(self, problem: Problem, schedule: Schedule, target: Target) -> int:
        """Return about what `estimated_us` says, in nanoseconds, as an expression of the sizes."""
        return product.open_ns(problem.product, schedule, target)


FAMILY = GemmFamily(name="gemm", rules=product, problem_type=Problem, schedule_type=Schedule, reaches_by_functors=True)

"""Matrix products with few rows, as in decoding: batch × [m, k] × [k, n], bound by how fast B comes from memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.types import BF16, F16, F32, DType
from nautilus_cli.kernels import skinny_product
from nautilus_cli.kernels.extents import Extents
from nautilus_cli.kernels.product import product_of
from nautilus_cli.kernels.product_family import ProductFamily
from nautilus_cli.kernels.skinny_product import Schedule, SkinnyProduct
from nautilus_cli.targets.base import Target

__all__ = ["FAMILY", "MOST_ROWS", "MOST_ROWS_F32", "GemmSkinnyFamily", "Problem", "Schedule", "most_rows"]

MOST_ROWS = 64
"""Rows of A beyond which other families are asked alone: B would be read again, or sums not fit."""
MOST_ROWS_F32 = 8
"""The same of f32, which threads multiply: with 16 rows they are what takes the time, and gemm is as fast (H200)."""


_TOO_MANY_NS = 10**6
"""What each row more counts where a kernel is chosen among all."""


def most_rows(multiply: DType) -> int:
    """Return the rows of A beyond which other families are asked alone."""
    return MOST_ROWS_F32 if multiply == F32 else MOST_ROWS


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(Extents):
    """A batched matrix product; k = 0 gives zeros.

    Functors as those of the gemm family: `A` at (batch, m, k), or (batch, k, m) where `a_k_last` is false; `B` at (batch, n, k), or
    (batch, k, n) where `b_k_last` is false; `Epilogue` at (batch, m, n), whose parameter 0 is the sum, in float. Without tensor cores
    operands are multiplied as float; with them, both are rounded to `multiply` first.

    Attributes:
        multiply: type of both operands: F16, BF16 or F32.
        accumulate: type of the sums, F32.
        b_is_constant: whether no kernel writes B, so that it can be brought before earlier kernels have finished.
        a_storage: type of A's elements in memory; only sizes vectors.
        b_storage: type of B's elements in memory; only sizes vectors.
        a_work: what is computed of an element of A wherever it is loaded, in additions; only ranks schedules.
        is_paired: as that of gemm.
    """

    multiply: DType
    accumulate: DType = F32
    b_is_constant: bool = False
    a_storage: DType = F16
    b_storage: DType = F16
    a_work: int = 0
    is_paired: bool = False

    @property
    def product(self) -> SkinnyProduct:
        """The problem as the main loop sees it."""
        shape = product_of(self)
        if not self.a_k_last:
            shape = replace(shape, a_run=1)  # A comes along k: element by element where m is last
        return SkinnyProduct(shape=shape, may_use_tensor_cores=self.multiply.bytes == 2)


class GemmSkinnyFamily(ProductFamily[SkinnyProduct, Schedule]):
    """The family of products with few rows."""

    __slots__ = ()

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        reasons = []
        if problem.multiply not in (F16, BF16, F32):
            reasons.append(f"operands of {problem.multiply}; f16, bf16 and f32 are multiplied here")
        if problem.accumulate != F32:
            reasons.append(f"sums of {problem.accumulate}; they are f32 here")
        return (*reasons, *super().violations(problem, schedule, target))

    def choose(self, problem: Problem, target: Target) -> Schedule:
        """Return the legal schedule of least estimated time; that of the most rows where there are more."""
        return super().choose(replace(problem, m=min(problem.m, most_rows(problem.multiply))), target)

    def for_all_sizes(self, problem: Problem, schedule: Schedule, target: Target) -> Schedule:
        """Return the schedule with what was chosen for one size undone: rows of A in shared memory as the greatest depth needs them."""
        return skinny_product.for_all_sizes(problem.product, schedule, target)

    def estimated_us(self, problem: Problem, schedule: Schedule, target: Target) -> float:
        """Return the time on a GPU by the analytic model, in microseconds; where there are more than the most rows, others are faster."""
        if problem.m > most_rows(problem.multiply):
            return inf
        return super().estimated_us(problem, schedule, target)

    def open_ns(self, problem: Problem, schedule: Schedule, target: Target) -> int:
        """Return the same in nanoseconds, as an expression of the sizes."""
        too_many = maximum(0, problem.m - most_rows(problem.multiply))
        return skinny_product.open_ns(problem.product, schedule, target) + too_many * _TOO_MANY_NS


FAMILY = GemmSkinnyFamily(name="gemm_skinny", rules=skinny_product, problem_type=Problem, schedule_type=Schedule)

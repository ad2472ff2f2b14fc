"""Matrix products on tensor cores by mma.sync: batch × [m, k] × [k, n], any orientation of both operands, any extents."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.ir.types import BF16, F16, F32, DType
from nautilus_cli.kernels import mma_product
from nautilus_cli.kernels.extents import Extents
from nautilus_cli.kernels.mma_product import MmaProduct, Schedule
from nautilus_cli.kernels.product import product_of
from nautilus_cli.kernels.product_family import ProductFamily
from nautilus_cli.targets.base import Target

__all__ = ["FAMILY", "GemmMmaFamily", "Problem", "Schedule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(Extents):
    """A batched matrix product; k = 0 gives zeros.

    Functors as those of the gemm family: `A` at (batch, m, k), or (batch, k, m) where `a_k_last` is false; `B` at (batch, n, k), or
    (batch, k, n) where `b_k_last` is false; `Epilogue` at (batch, m, n), whose parameter 0 is the sum, in float. A functor that only loads
    elements of type `multiply`, in vectors of 4, 8 or 16 bytes, is copied asynchronously; any other computes on the way, and its values are
    rounded to `multiply`.

    Attributes:
        multiply: type of the elements that tensor cores multiply: F16, BF16, or F32, which they take as tf32.
        terms: 1; or 3, for F32, where each element is the sum of two of tf32 and only the product of the smaller ones is left out.
        accumulate: type of the sums, F32.
        b_is_constant: whether no kernel writes B, so that it can be brought before earlier kernels have finished.
        a_storage: type of A's elements in memory; only sizes vectors.
        b_storage: type of B's elements in memory; only sizes vectors.
        a_work: what is computed of an element of A wherever it is loaded, in additions; only ranks schedules.
        is_paired: as that of gemm.
        part_columns: where it is not 0, the functor `Statistics` is handed the mean and the sum of squared deviations of every so many
            neighbouring results of a row, which `Epilogue` returns, as parameters 0 and 1 at (batch, m, part).
        moment_parts: where it is not 0, `Epilogue` is handed the mean and the variance of the row of A too, as its last parameters. They
            are joined of so many parts of the row, of `moment_columns` each: the functor `Moments` at (batch, m, value) only loads the
            mean and the sum of squared deviations of each in turn, in float.
        moment_columns: of such a part.
    """

    multiply: DType
    terms: int = 1
    accumulate: DType = F32
    b_is_constant: bool = False
    a_storage: DType = F16
    b_storage: DType = F16
    a_work: int = 0
    is_paired: bool = False
    part_columns: int = 0
    moment_parts: int = 0
    moment_columns: int = 0

    @property
    def product(self) -> MmaProduct:
        """The problem as the main loop sees it."""
        return MmaProduct(
            shape=product_of(self),
            element_bytes=self.multiply.bytes,
            terms=self.terms,
            part_columns=self.part_columns,
            moment_parts=self.moment_parts,
        )


class GemmMmaFamily(ProductFamily[MmaProduct, Schedule]):
    """The mma.sync matrix-product family."""

    __slots__ = ()

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        reasons = []
        if problem.multiply not in (F16, BF16, F32):
            reasons.append(f"tensor cores do not multiply {problem.multiply} here")
        if problem.terms != 1 and (problem.terms != 3 or problem.multiply != F32):
            reasons.append(f"{problem.terms} terms of {problem.multiply}; 1, or 3 of f32, are written")
        if problem.accumulate != F32:
            reasons.append(f"sums of {problem.accumulate}; tensor cores add up in f32")
        return (*reasons, *super().violations(problem, schedule, target))


FAMILY = GemmMmaFamily(
    name="gemm_mma", rules=mma_product, problem_type=Problem, schedule_type=Schedule, optional_functors=("Statistics", "Moments")
)

"""Matrix products as problems: one of the gemm family, and those of the other families that compute the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nautilus_cli.ir import dims
from nautilus_cli.ir.expression import IndexedLoad
from nautilus_cli.ir.types import BF16, F16, F32, DType
from nautilus_cli.kernels import gemm, gemm_mma, gemm_skinny, gemm_wgmma
from nautilus_cli.lowering.building.lowered import Functors, Lowered, main_storage
from nautilus_cli.lowering.building.operands import Operand
from nautilus_cli.lowering.building.slots import Slots, Status

_TF32_MODES = ((F32, "3xtf32"), (F32, "tf32"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A batched matrix product of two operands.

    Attributes:
        batch: number of products.
        m: rows of A and of the result.
        n: columns of B, and of the result unless that is paired.
        k: length of the sums.
        a: the left operand.
        b: the right one, by its columns.
        accumulate: type of the sums.
        is_paired: whether two neighbouring columns of B make one result.
        moments: fields of the problems of tensor-core families that say what moments are left or taken; such products are theirs alone.
    """

    batch: int
    m: int
    n: int
    k: int
    a: Operand
    b: Operand
    accumulate: DType
    is_paired: bool = False
    moments: Mapping[str, int] = field(default_factory=dict)

    def lowered(self, rest: Functors, slots: Slots, fp32_mode: str) -> Lowered:
        """Return the product as a kernel without a schedule; where indices find an operand, its last pointer is the status word.

        Args:
            rest: the functors beside A and B.
            slots: the kernel's pointers.
            fp32_mode: how products of f32 are multiplied, as `Lowering` has it.
        """
        functors = (("A", self.a.expression), ("B", self.b.expression), *rest)
        if any(isinstance(step, IndexedLoad) for one in (self.a, self.b) for step in one.expression.steps):
            slots.number(Status())
        on_tensor_cores = self._on_tensor_cores(functors, fp32_mode)
        if self.moments:
            (family, problem), *others = on_tensor_cores
            return Lowered(family=family, problem=problem, functors=functors, slots=slots, alternatives=tuple(others))
        problem = gemm.Problem(
            **self._fields(),
            b_storage=self._b_storage,
            accumulate=self.accumulate,
            is_straight=self.a.is_straight(self.accumulate) and self.b.is_straight(self.accumulate),
        )
        alternatives = (*self._of_few_rows(), *on_tensor_cores)
        return Lowered(family="gemm", problem=problem, functors=functors, slots=slots, alternatives=alternatives)

    def _of_few_rows(self) -> tuple[tuple[str, Any], ...]:
        """Return (family, problem) of few rows; floats of 32 bits are multiplied as such in every mode: memory is what takes the time."""
        multiply = self._multiplied
        if multiply not in (F16, BF16, F32) or dims.lower(self.m) > gemm_skinny.most_rows(multiply):
            return ()
        found = gemm_skinny.Problem(**self._fields(), b_storage=self._b_storage, multiply=multiply, b_is_constant=self.b.is_constant)
        return (("gemm_skinny", found),)

    def _on_tensor_cores(self, functors: Functors, fp32_mode: str) -> tuple[tuple[str, Any], ...]:
        """Return (family, problem) of those on tensor cores; bulk copies may not be able to bring the operands."""
        multiply = self._multiplied
        if multiply not in (F16, BF16) and (multiply, fp32_mode) not in _TF32_MODES:
            return ()
        terms = 3 if multiply == F32 and fp32_mode == "3xtf32" else 1
        fields = {**self._fields(), **self.moments, "multiply": multiply, "terms": terms, "b_is_constant": self.b.is_constant}
        by_bulk_copies = gemm_wgmma.FAMILY.fitted(gemm_wgmma.Problem(**fields), dict(functors))
        return ("gemm_mma", gemm_mma.Problem(**fields, b_storage=self._b_storage)), ("gemm_wgmma", by_bulk_copies)

    @property
    def _multiplied(self) -> DType | None:
        """The type of both operands, where sums of it are in float; else None."""
        return self.a.dtype if self.a.dtype == self.b.dtype and self.accumulate == F32 else None

    @property
    def _b_storage(self) -> DType:
        return main_storage(self.b.expression, self.b.dtype)

    def _fields(self) -> dict[str, Any]:
        """Return the fields that the problems of all families have."""
        return {
            "batch": self.batch,
            "m": self.m,
            "n": self.n,
            "k": self.k,
            "a_k_last": self.a.is_k_last,
            "b_k_last": self.b.is_k_last,
            "a_storage": main_storage(self.a.expression, self.a.dtype),
            "a_work": self.a.work,
            "is_paired": self.is_paired,
        }

"""Matrix products on tensor cores by wgmma: batch × [m, k] × [k, n], any orientation of 16-bit operands. sm_90a alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.expression import AnyLoad, Expression, IndexedLoad, RowProgram, Step
from nautilus_cli.ir.types import BF16, F16, F32, DType
from nautilus_cli.kernels import boxes, wgmma_product
from nautilus_cli.kernels.base import KernelRequest, TensorMap
from nautilus_cli.kernels.extents import Extents
from nautilus_cli.kernels.product_family import ProductFamily
from nautilus_cli.kernels.wgmma_product import Loaded, Schedule, WgmmaProduct
from nautilus_cli.targets.base import Target

__all__ = ["FAMILY", "GemmWgmmaFamily", "Problem", "Schedule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(Extents):
    """A batched matrix product; k is at least 1, and the last coordinate of operands of F32.

    Functors as those of the gemm family: `A` at (batch, m, k), or (batch, k, m) where `a_k_last` is false; `B` at (batch, n, k), or
    (batch, k, n) where `b_k_last` is false. Both only load elements of type `multiply` of a tensor for which `boxes.violations` finds
    nothing, but for A with `computes_a`: that may be any functor, and its values are rounded to `multiply`. `Epilogue` at (batch, m, n),
    whose parameter 0 is the sum, in float.

    Attributes:
        multiply: type of the elements: F16, BF16, or F32, which is multiplied as tf32.
        terms: 1; or 3, for F32, where each element is the sum of two of tf32 and only the product of the smaller ones is left out.
        accumulate: type of the sums, F32.
        b_is_constant: whether no kernel writes B, so that it can be brought before earlier kernels have finished.
        result_bytes: of an element of what the epilogue stores, where `boxes.result_violations` finds nothing; else 0.
        computes_a: whether threads load A and compute its values; else bulk copies bring it.
        a_storage: type of the elements in memory that a computed A has most of; only sizes vectors.
        a_streams: loads of a computed A that differ from element to element; as the next two, only sizes what is in registers together.
        a_singles: of these, loads that bring each element alone.
        a_gathered: loads of a computed A at places that an index decides.
        a_loads: all loads of a computed A; only ranks schedules.
        a_work: what is computed of an element of A, in additions; only ranks schedules.
        is_paired: as that of gemm.
        part_columns, moment_parts, moment_columns: as those of gemm_mma.
        input_count: operands that the epilogue loads; only limits what is in registers together.
        input_bytes: of all of them, for a result.
    """

    multiply: DType
    terms: int = 1
    accumulate: DType = F32
    b_is_constant: bool = False
    result_bytes: int = 0
    computes_a: bool = False
    a_storage: DType = F16
    a_streams: int = 1
    a_singles: int = 0
    a_gathered: int = 0
    a_loads: int = 1
    a_work: int = 0
    is_paired: bool = False
    part_columns: int = 0
    moment_parts: int = 0
    moment_columns: int = 0
    input_count: int = 0
    input_bytes: int = 0

    @property
    def _loaded(self) -> Loaded:
        return Loaded(
            bytes=self.a_storage.bytes,
            streams=self.a_streams,
            singles=self.a_singles,
            gathered=self.a_gathered,
            loads=self.a_loads,
            work=self.a_work,
        )

    @property
    def product(self) -> WgmmaProduct:
        """The problem as the main loop sees it."""
        return WgmmaProduct(
            batch=self.batch,
            m=self.m,
            n=self.n,
            k=self.k,
            a_k_last=self.a_k_last,
            b_k_last=self.b_k_last,
            element_bytes=self.multiply.bytes,
            result_bytes=self.result_bytes,
            terms=self.terms,
            loaded_a=self._loaded if self.computes_a else None,
            is_paired=self.is_paired,
            part_columns=self.part_columns,
            moment_parts=self.moment_parts,
            input_count=self.input_count,
            input_bytes=self.input_bytes,
        )


class GemmWgmmaFamily(ProductFamily[WgmmaProduct, Schedule]):
    """The wgmma matrix-product family."""

    __slots__ = ()

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        reasons = []
        if problem.multiply not in (F16, BF16, F32):
            reasons.append(f"tensor cores do not multiply {problem.multiply} here")
        if problem.terms not in ((1, 3) if problem.multiply == F32 else (1,)):
            reasons.append(f"{problem.terms} terms of {problem.multiply}")
        if problem.accumulate != F32:
            reasons.append(f"sums of {problem.accumulate}; tensor cores add up in f32")
        if problem.multiply == F32 and not (problem.a_k_last and problem.b_k_last):
            reasons.append("operands of f32 must have k last")
        return (*reasons, *super().violations(problem, schedule, target))

    def for_all_sizes(self, problem: Problem, schedule: Schedule, target: Target) -> Schedule:
        """Return the schedule with what was chosen for one size undone: as many blocks as any takes."""
        return wgmma_product.for_all_sizes(problem.product, schedule, target)

    def open_ns(self, problem: Problem, schedule: Schedule, target: Target) -> int:
        """Return about what `estimated_us` says, in nanoseconds, as an expression of the sizes."""
        return wgmma_product.open_ns(problem.product, schedule, target)

    def fitted(self, problem: Problem, functors: Mapping[str, Expression | RowProgram]) -> Problem:
        """Return the problem with the size of the results that bulk copies can store, 0 where they cannot, and whether they bring A."""
        a, epilogue = functors["A"], functors["Epilogue"]
        assert isinstance(a, Expression)
        assert isinstance(epilogue, Expression)
        inputs = [step for step in epilogue.steps if isinstance(step, AnyLoad)]
        is_boxed = not problem.part_columns and not boxes.result_violations(epilogue)
        return replace(
            problem,
            result_bytes=epilogue.stores[0].storage.bytes if is_boxed else 0,
            computes_a=bool(boxes.violations(a, problem.multiply)),
            a_streams=max(1, sum(_is_streamed(step) for step in a.steps)),
            a_singles=sum(_is_single(step) for step in a.steps),
            a_gathered=sum(isinstance(step, IndexedLoad) for step in a.steps),
            a_loads=max(1, sum(isinstance(step, AnyLoad) for step in a.steps)),
            input_count=len(inputs),
            input_bytes=sum(step.storage.bytes for step in inputs),
        )

    def map_violations(self, problem: Problem, functors: Mapping[str, Expression | RowProgram]) -> tuple[str, ...]:
        """Return why B, or an A that is not computed, is no tensor that boxes can be brought of."""
        reasons = []
        for name in ("B",) if problem.computes_a else ("A", "B"):
            functor = functors[name]
            assert isinstance(functor, Expression)
            reasons += [f"operand {name}: {reason}" for reason in boxes.violations(functor, problem.multiply)]
        return tuple(reasons)

    def tensor_maps(self, request: KernelRequest) -> tuple[TensorMap, ...]:
        """Return the maps of A, unless it is computed, and of B, and of the result where boxes of it are stored.

        Raises:
            InternalError: an operand, or the result, is no tensor of boxes.
        """
        problem, s = request.problem, request.schedule
        depth = boxes.ROW_BYTES // problem.multiply.bytes
        functors = dict(request.functors)
        if reasons := self.map_violations(problem, functors):
            raise InternalError(f"a gemm_wgmma kernel: {reasons[0]}")
        found = []
        rows_a, rows_b = s.tile_m // s.cluster_n, s.tile_n // s.cluster_m
        a, b = ("A", problem.a_k_last, rows_b if s.swaps else rows_a), ("B", problem.b_k_last, rows_a if s.swaps else rows_b)
        for name, k_last, rows in (b,) if problem.computes_a else (b, a) if s.swaps else (a, b):
            functor = functors[name]
            assert isinstance(functor, Expression)
            found.append(boxes.matrix_map(functor, rows if k_last else depth, rounds=problem.terms == 1))
        if s.stores_boxes:
            epilogue = functors["Epilogue"]
            assert isinstance(epilogue, Expression)
            if reasons := boxes.result_violations(epilogue):
                raise InternalError(f"the result of a gemm_wgmma kernel: {reasons[0]}")
            found.append(boxes.result_map(epilogue, wgmma_product.WARPGROUP_ROWS))
        return tuple(found)


def _is_streamed(step: Step) -> bool:
    """Whether a step loads another element at almost every place of a row."""
    return (
        isinstance(step, AnyLoad)
        and not step.map.is_uniform_last()
        and any(not same(axis.stride, 0) for digits in step.map.stages[0].coordinates[:-1] for axis in digits)
    )


def _is_single(step: Step) -> bool:
    """Whether a step loads another element at almost every place of a row, and each by itself."""
    return isinstance(step, AnyLoad) and _is_streamed(step) and step.map.contiguous_width(2) == 1


FAMILY = GemmWgmmaFamily(
    name="gemm_wgmma", rules=wgmma_product, problem_type=Problem, schedule_type=Schedule, optional_functors=("Statistics", "Moments")
)

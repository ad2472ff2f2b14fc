"""Matrix products: MatMul with whatever was fused before and after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from typing import Any

from nautilus_cli.ir import dims
from nautilus_cli.ir.expression import AnyLoad, Apply, Expression, IndexedLoad, Load, RowProgram
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import IndexMap, broadcast, compose, identity, regroup
from nautilus_cli.ir.types import BF16, F16, F32, DType
from nautilus_cli.kernels import gemm_mma, gemm_skinny, gemm_wgmma
from nautilus_cli.kernels.gemm import Problem
from nautilus_cli.lowering.building.expressions import ExpressionBuilder, Leaf
from nautilus_cli.lowering.building.lowered import Functors, Lowered, Lowering, main_storage
from nautilus_cli.lowering.building.packing import constant_behind, pack_rows
from nautilus_cli.lowering.building.slots import PackedWeight, Slots, Status
from nautilus_cli.lowering.groups.row_moments import leave_moments, moments_left
from nautilus_cli.passes.fusible import is_cheap

_TF32_MODES = ((F32, "3xtf32"), (F32, "tf32"))
_DEAR = 20
"""Additions in the time of a function that is not cheap: of a sigmoid, on an H200."""

NO_MOMENTS: Mapping[str, Any] = {}

WIDTH = 4
"""Widest vector, in elements, for which the contiguous coordinate of an operand is chosen."""


def lower(lowering: Lowering) -> Lowered:
    """Batch dimensions join into one; they join m where B has none, so that small batches fill tiles."""
    anchor = lowering.group.anchor
    assert anchor is not None
    a, b = anchor.inputs[0], anchor.inputs[1]
    assert a is not None and b is not None
    (result,) = anchor.results()
    *batch, m, n = result.type.static
    k = a.type.static[-1]
    rank = len(batch)
    shared = dims.same(prod(b.type.static[:-2]), 1)
    batch_dims, m_dims = ([], list(range(rank + 1))) if shared else (list(range(rank)), [rank])
    b_batch = [1] * rank if shared else batch
    a_map = broadcast(a.type.static, (*batch, m, k))
    b_map = broadcast(b.type.static, (*b_batch, k, n))
    b_batch_dims = list(range(rank))

    slots = Slots()
    a_last, a_expression = operand(
        lowering, slots, a, regroup(a_map, [batch_dims, m_dims, [rank + 1]]), regroup(a_map, [batch_dims, [rank + 1], m_dims])
    )
    b_last, b_expression = operand(
        lowering, slots, b, regroup(b_map, [b_batch_dims, [rank + 1], [rank]]), regroup(b_map, [b_batch_dims, [rank], [rank + 1]])
    )
    walk = regroup(identity(result.type.static), [batch_dims, m_dims, [rank + 1]])
    epilogue = epilogue_expression(lowering, slots, result, walk)
    left = moments_left(lowering.group)
    statistics = () if left is None else (("Statistics", leave_moments(left, slots, walk)),)
    add_status(slots, a_expression)
    problem = Problem(
        batch=1 if shared else prod(batch),
        m=prod(batch) * m if shared else m,
        n=n,
        k=k,
        a_k_last=a_last,
        b_k_last=b_last,
        accumulate=accumulator(result.type.dtype),
        a_storage=main_storage(a_expression, a.type.dtype),
        b_storage=main_storage(b_expression, b.type.dtype),
        is_straight=all(is_straight(operand, accumulator(result.type.dtype)) for operand in (a_expression, b_expression)),
        a_work=work(a_expression),
    )
    functors = (("A", a_expression), ("B", b_expression), ("Epilogue", epilogue), *statistics)
    constant = constant_behind(b, lowering.transparent()) is not None
    if left is not None:
        return with_moments(problem, functors, slots, (a.type.dtype, b.type.dtype), constant, part_columns=left.columns)
    alternatives = alternative_products(problem, dict(functors), (a.type.dtype, b.type.dtype), constant, lowering.fp32_mode)
    return Lowered(family="gemm", problem=problem, functors=functors, slots=slots, alternatives=alternatives)


def with_moments(
    problem: Problem, functors: Functors, slots: Slots, dtypes: tuple[DType, DType], b_is_constant: bool, **fields: int
) -> Lowered:
    """Return a product that leaves moments of its rows, or takes those of A's: tensor cores alone do.

    Args:
        problem: of the gemm family.
        functors: of the kernel.
        slots: what its pointers refer to.
        dtypes: of A and B.
        b_is_constant: whether B is a weight.
        fields: of the problems of tensor-core families, that say what is left or taken.
    """
    found = _tensor_core_problems(problem, dict(functors), dtypes, b_is_constant, "ffma", fields)
    (name, first), *others = found
    return Lowered(family=name, problem=first, functors=functors, slots=slots, alternatives=tuple(others))


def add_status(slots: Slots, operand: Expression) -> None:
    """Give a kernel whose operand is found by indices the status word, as its last pointer."""
    if any(isinstance(step, IndexedLoad) for step in operand.steps):
        slots.number(Status())


def work(operand: Expression) -> int:
    """Return what is computed of each element of an operand, in additions."""
    return sum(1 if is_cheap(step.function) else _DEAR for step in operand.steps if isinstance(step, Apply))


def is_straight(operand: Expression, accumulate: DType) -> bool:
    """Return whether an operand is only loaded, as the type of the sums, from places at fixed distances: what tiles are copied of."""
    match operand.steps:
        case (Load(storage=storage, map=index_map),) if storage == accumulate and len(index_map.stages) == 1 and not index_map.is_guarded:
            return all(len(digits) == 1 for digits in index_map.stages[0].coordinates)
    return False


def alternative_products(
    problem: Problem, functors: Mapping[str, Expression | RowProgram], dtypes: tuple[DType, DType], b_is_constant: bool, fp32_mode: str
) -> tuple[tuple[str, Any], ...]:
    """Return (family, problem) of the other kernels that compute the same.

    Args:
        problem: of the gemm family.
        functors: A, B and Epilogue.
        dtypes: of A and B.
        b_is_constant: whether B is a weight.
        fp32_mode: how products of f32 are multiplied.
    """
    return (
        *_skinny_problems(problem, dtypes, b_is_constant),
        *_tensor_core_problems(problem, functors, dtypes, b_is_constant, fp32_mode),
    )


def _skinny_problems(problem: Problem, dtypes: tuple[DType, DType], b_is_constant: bool) -> tuple[tuple[str, Any], ...]:
    """Return that of few rows; floats of 32 bits are multiplied as such in every mode: memory is what takes the time."""
    multiply = dtypes[0]
    is_short = dims.lower(problem.m) <= gemm_skinny.most_rows(multiply)
    if dtypes[0] != dtypes[1] or problem.accumulate != F32 or multiply not in (F16, BF16, F32) or not is_short:
        return ()
    names = ("batch", "m", "n", "k", "a_k_last", "b_k_last", "a_storage", "b_storage", "a_work", "is_paired")
    shape = {name: getattr(problem, name) for name in names}
    return (("gemm_skinny", gemm_skinny.Problem(**shape, multiply=multiply, b_is_constant=b_is_constant)),)


def _tensor_core_problems(
    problem: Problem,
    functors: Mapping[str, Expression | RowProgram],
    dtypes: tuple[DType, DType],
    b_is_constant: bool,
    fp32_mode: str,
    moments: Mapping[str, Any] = NO_MOMENTS,
) -> tuple[tuple[str, Any], ...]:
    """Return those on tensor cores, with fields that say what becomes of moments; bulk copies may not be able to bring the operands."""
    multiply = dtypes[0]
    if dtypes[0] != dtypes[1] or problem.accumulate != F32 or (multiply not in (F16, BF16) and (multiply, fp32_mode) not in _TF32_MODES):
        return ()
    shape = {name: getattr(problem, name) for name in ("batch", "m", "n", "k", "a_k_last", "b_k_last", "is_paired")}
    terms = 3 if multiply == F32 and fp32_mode == "3xtf32" else 1
    found: list[tuple[str, Any]] = [
        (
            "gemm_mma",
            gemm_mma.Problem(
                **shape,
                multiply=multiply,
                terms=terms,
                a_storage=problem.a_storage,
                b_storage=problem.b_storage,
                a_work=problem.a_work,
                b_is_constant=b_is_constant,
                **moments,
            ),
        )
    ]
    product = gemm_wgmma.Problem(
        **shape,
        multiply=multiply,
        terms=terms,
        b_is_constant=b_is_constant,
        a_storage=problem.a_storage,
        a_work=problem.a_work,
        **moments,
    )
    found.append(("gemm_wgmma", gemm_wgmma.FAMILY.fitted(product, functors)))
    return tuple(found)


def accumulator(dtype: DType) -> DType:
    """Return the type in which products are summed: fp32 for 16-bit floats, else the compute type."""
    return F32 if dtype.is_float and dtype.bits <= 32 else dtype.compute


def operand(lowering: Lowering, slots: Slots, value: Value, k_last: IndexMap, k_first: IndexMap) -> tuple[bool, Expression]:
    """Return whether k is the last coordinate of the operand's functor, and its expression: the choice by consecutive memory.

    A constant is packed with k last. What is computed is rounded to VALUE's type, as if it had been stored. K_LAST and K_FIRST map the
    functor's coordinates to VALUE's linear index.
    """
    behind = constant_behind(value, lowering.transparent())
    if behind is not None:
        source, to_source = behind
        weight, packed_map = pack_rows(source, compose(k_last, to_source), "gemm_nk")
        return True, packed_expression(weight, packed_map, value, slots)

    def build(index_map: IndexMap, into: Slots) -> Expression:
        builder = ExpressionBuilder(lowering.group, into)
        return builder.rounded(builder.value(value, index_map), value.type.dtype)

    widths = {last: _width(build(index_map, Slots())) for last, index_map in ((True, k_last), (False, k_first))}
    last = widths[True] >= widths[False]
    return last, build(k_last if last else k_first, slots)


def packed_expression(weight: PackedWeight, index_map: IndexMap, value: Value, slots: Slots) -> Expression:
    """Return the expression that only loads a packed constant."""
    return Expression((Load(slots.number(weight), value.type.dtype, index_map),), (0,))


def _width(expression: Expression) -> int:
    """Return the widest vector of the expression's largest load."""
    loads = [s for s in expression.steps if isinstance(s, AnyLoad) and not s.map.is_uniform_last()]
    return min((load.map.contiguous_width(WIDTH) for load in loads), default=WIDTH)


def epilogue_expression(
    lowering: Lowering, slots: Slots, result: Value, walk: IndexMap, *others: Value, given: Callable[[ExpressionBuilder], int] | None = None
) -> Expression:
    """Return the expression that finishes the accumulator and stores the group's outputs.

    Rows whose moments are left are handed back as they are stored, see `row_moments`.

    Args:
        lowering: the group.
        slots: the kernel's pointers.
        result: the anchor's result, handed in as parameter 0.
        walk: from the kernel's coordinates to RESULT's linear index, which all outputs share.
        others: further results of the anchor, of the same shape, handed in as parameters 1 and on.
        given: makes RESULT of what is handed in, where that is not RESULT itself.
    """
    leaves = {value: Leaf(number, walk) for number, value in enumerate((result, *others))}
    builder = ExpressionBuilder(lowering.group, slots, leaves if given is None else None)
    if given is not None:
        builder.give(result, walk, given(builder))
    left = moments_left(lowering.group)
    for value in lowering.group.outputs:
        if left is None or value is not left.moments:
            builder.store(value, walk)
    if left is None:
        return builder.expression()
    whole = builder.rounded(builder.value(left.rows, walk), left.rows.type.dtype)
    (handed,) = whole.results
    slot = slots.number(left.stored)
    return replace(whole, stores=tuple(replace(s, step=handed) if s.slot == slot else s for s in whole.stores))

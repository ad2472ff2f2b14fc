"""Two products of the same rows as one: their constants' columns lie in turn, and the epilogue is handed a sum of each."""

from __future__ import annotations

from math import prod

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import IndexMap, compose, identity, regroup
from nautilus_cli.kernels.gemm import Problem
from nautilus_cli.lowering.building.lowered import Lowered, Lowering, main_storage
from nautilus_cli.lowering.building.packing import constant_behind, pack_pairs
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.lowering.groups.gemm import (
    accumulator,
    add_status,
    alternative_products,
    epilogue_expression,
    is_straight,
    operand,
    packed_expression,
    work,
)


def lower(lowering: Lowering) -> Lowered:
    """All dimensions of A but its last one are rows."""
    anchor = lowering.group.anchor
    assert anchor is not None
    a, *factors = anchor.operands()
    first, second = anchor.results()
    *rows, n = first.type.static
    k = a.type.static[-1]
    m_dims = list(range(len(rows)))
    at_a = identity((*rows, k))

    slots = Slots()
    k_last, k_first = (regroup(at_a, [[], *parts]) for parts in ([m_dims, [len(rows)]], [[len(rows)], m_dims]))
    a_last, a_expression = operand(lowering, slots, a, k_last, k_first)
    weight, b_map = pack_pairs((_constant(lowering, factors[0]), _constant(lowering, factors[1])), "gemm_pairs_nk")
    b_expression = packed_expression(weight, b_map, factors[0], slots)
    accumulate = accumulator(a.type.dtype)
    problem = Problem(
        batch=1,
        m=prod(rows),
        n=2 * n,
        k=k,
        a_k_last=a_last,
        b_k_last=True,
        accumulate=accumulate,
        a_storage=main_storage(a_expression, a.type.dtype),
        b_storage=a.type.dtype,
        is_straight=is_straight(a_expression, accumulate) and is_straight(b_expression, accumulate),
        a_work=work(a_expression),
        is_paired=True,
    )
    epilogue = epilogue_expression(lowering, slots, first, regroup(identity((*rows, n)), [[], m_dims, [len(rows)]]), second)
    add_status(slots, a_expression)
    functors = (("A", a_expression), ("B", b_expression), ("Epilogue", epilogue))
    alternatives = alternative_products(problem, dict(functors), (a.type.dtype, a.type.dtype), True, lowering.fp32_mode)
    return Lowered(family="gemm", problem=problem, functors=functors, slots=slots, alternatives=alternatives)


def _constant(lowering: Lowering, factor: Value) -> tuple[Value, IndexMap]:
    """Return the constant behind a right operand, and the map from (batch, n, k) to its linear index."""
    behind = constant_behind(factor, lowering.transparent())
    assert behind is not None
    source, to_source = behind
    shape = factor.type.static
    outer = list(range(len(shape) - 2))
    return source, compose(regroup(identity(shape), [outer, [len(shape) - 1], [len(shape) - 2]]), to_source)

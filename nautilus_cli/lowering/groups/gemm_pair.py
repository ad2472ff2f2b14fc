"""Two products of the same rows as one: their constants' columns lie in turn, and the epilogue is handed a sum of each."""

from __future__ import annotations

from math import prod

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import IndexMap, compose, identity, regroup
from nautilus_cli.lowering.building.epilogue import epilogue_expression
from nautilus_cli.lowering.building.lowered import Lowered, Lowering
from nautilus_cli.lowering.building.operands import Operand, accumulator, operand, packed_expression
from nautilus_cli.lowering.building.packing import constant_behind, pack_pairs
from nautilus_cli.lowering.building.products import Product
from nautilus_cli.lowering.building.slots import Slots


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
    left = operand(lowering, slots, a, k_last, k_first)
    weight, b_map = pack_pairs((_constant(lowering, factors[0]), _constant(lowering, factors[1])), "gemm_pairs_nk")
    right = Operand(dtype=a.type.dtype, expression=packed_expression(weight, b_map, factors[0], slots), is_constant=True)
    epilogue = epilogue_expression(lowering, slots, first, regroup(identity((*rows, n)), [[], m_dims, [len(rows)]]), second)
    product = Product(batch=1, m=prod(rows), n=2 * n, k=k, a=left, b=right, accumulate=accumulator(a.type.dtype), is_paired=True)
    return product.lowered((("Epilogue", epilogue),), slots, lowering.fp32_mode)


def _constant(lowering: Lowering, factor: Value) -> tuple[Value, IndexMap]:
    """Return the constant behind a right operand, and the map from (batch, n, k) to its linear index."""
    behind = constant_behind(factor, lowering.transparent())
    assert behind is not None
    source, to_source = behind
    shape = factor.type.static
    outer = list(range(len(shape) - 2))
    return source, compose(regroup(identity(shape), [outer, [len(shape) - 1], [len(shape) - 2]]), to_source)

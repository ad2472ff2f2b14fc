"""Matrix products: MatMul with whatever was fused before and after it."""

from __future__ import annotations

from math import prod

from nautilus_cli.ir import dims
from nautilus_cli.ir.index_map import broadcast, identity, regroup
from nautilus_cli.lowering.building.epilogue import epilogue_expression
from nautilus_cli.lowering.building.lowered import Lowered, Lowering
from nautilus_cli.lowering.building.moments import statistics
from nautilus_cli.lowering.building.operands import accumulator, operand
from nautilus_cli.lowering.building.products import Product
from nautilus_cli.lowering.building.slots import Slots


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
    left = operand(lowering, slots, a, regroup(a_map, [batch_dims, m_dims, [rank + 1]]), regroup(a_map, [batch_dims, [rank + 1], m_dims]))
    right = operand(
        lowering, slots, b, regroup(b_map, [b_batch_dims, [rank + 1], [rank]]), regroup(b_map, [b_batch_dims, [rank], [rank + 1]])
    )
    walk = regroup(identity(result.type.static), [batch_dims, m_dims, [rank + 1]])
    epilogue = epilogue_expression(lowering, slots, result, walk)
    left_behind, moments = statistics(lowering.group, slots, walk)
    product = Product(
        batch=1 if shared else prod(batch),
        m=prod(batch) * m if shared else m,
        n=n,
        k=k,
        a=left,
        b=right,
        accumulate=accumulator(result.type.dtype),
        moments=moments,
    )
    return product.lowered((("Epilogue", epilogue), *left_behind), slots, lowering.fp32_mode)

"""Products by a constant of rows that the epilogue normalises, by moments that lie beside them (`ops/normalized_matmul.py`)."""

from __future__ import annotations

from math import prod

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import from_strides, identity, regroup
from nautilus_cli.ir.types import BOOL, F32
from nautilus_cli.lowering.building.epilogue import epilogue_expression
from nautilus_cli.lowering.building.expressions import ExpressionBuilder
from nautilus_cli.lowering.building.lowered import Lowered, Lowering
from nautilus_cli.lowering.building.moments import statistics, take_moments
from nautilus_cli.lowering.building.operands import operand
from nautilus_cli.lowering.building.products import Product
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.ops.movement import look_through
from nautilus_cli.ops.normalized_matmul import NormalizedMatMulAttrs


def lower(lowering: Lowering) -> Lowered:
    """All dimensions of A but its last one are rows."""
    anchor = lowering.group.anchor
    assert anchor is not None
    a, b, moments, bias = (*anchor.inputs, None)[:4]
    attrs = anchor.attrs
    assert isinstance(attrs, NormalizedMatMulAttrs)
    assert a is not None and b is not None and moments is not None
    (result,) = anchor.results()
    *rows, n = result.type.static
    k = a.type.static[-1]
    parts = moments.type.static[-2]
    m, m_dims = prod(rows), list(range(len(rows)))

    slots = Slots()
    at_a, at_b = identity((*rows, k)), identity((k, n))
    left = operand(lowering, slots, a, regroup(at_a, [[], m_dims, [len(rows)]]), regroup(at_a, [[], [len(rows)], m_dims]))
    right = operand(lowering, slots, b, regroup(at_b, [[], [1], [0]]), regroup(at_b, [[], [0], [1]]))
    walk = regroup(identity(result.type.static), [[], m_dims, [len(rows)]])

    epilogue = epilogue_expression(lowering, slots, result, walk, given=lambda builder: _normalised(builder, attrs, bias, (1, m, n)))
    held, to_held = look_through(moments, lowering.transparent())
    if not to_held.is_identity:
        raise InternalError("moments lie otherwise than the rows", where=result.tensor)
    taken = take_moments(held, slots, (m, parts))
    left_behind, leaves = statistics(lowering.group, slots, walk)
    product = Product(
        batch=1,
        m=m,
        n=n,
        k=k,
        a=left,
        b=right,
        accumulate=F32,
        moments={"moment_parts": parts, "moment_columns": k // parts, **leaves},
    )
    return product.lowered((("Epilogue", epilogue), ("Moments", taken), *left_behind), slots, lowering.fp32_mode)


def _normalised(builder: ExpressionBuilder, attrs: NormalizedMatMulAttrs, bias: Value | None, extents: tuple[int, int, int]) -> int:
    """Return the step of the result at (batch, row, column), of what the kernel hands in: the sum, the mean and the variance."""
    total, mean, variance = (builder.parameter(number, F32) for number in range(3))
    if not attrs.is_centred:
        variance = builder.apply("add", (variance, builder.apply("mul", (mean, mean), F32)), F32)
    epsilon = builder.constant(attrs.epsilon, F32)
    deviation = builder.apply("sqrt", (builder.apply("add", (variance, epsilon), F32),), F32)
    scale = builder.apply("reciprocal", (deviation,), F32)
    if attrs.is_centred:  # the sum of a row of one number is of roundings alone; without an epsilon it is 0/0
        zero = builder.constant(0.0, F32)
        nothing = builder.apply("mul", (scale, zero), F32)
        scale = builder.apply("where", (builder.apply("equal", (variance, zero), BOOL), nothing, scale), F32)
    scaled = builder.apply("mul", (total, scale), F32)
    if bias is None:
        return scaled
    return builder.apply("add", (scaled, builder.value(bias, from_strides(extents, (0, 0, 1)))), F32)

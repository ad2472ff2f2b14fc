"""The memory of linear attention."""

from __future__ import annotations

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import IndexMap, broadcast, identity
from nautilus_cli.ir.types import DType
from nautilus_cli.kernels.linear_recurrence import Problem
from nautilus_cli.lowering.building.expressions import ExpressionBuilder, Leaf
from nautilus_cli.lowering.building.lowered import Lowered, Lowering
from nautilus_cli.lowering.building.operands import accumulator
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.ops.linear_recurrence import LinearRecurrenceAttrs, extents
from nautilus_cli.ops.movement import look_through


def lower(lowering: Lowering) -> Lowered:
    """Every operand is read where it lies; what is scaled is the query, so that the kernel need not know of it."""
    anchor = lowering.group.anchor
    assert anchor is not None
    attrs = anchor.attrs
    assert isinstance(attrs, LinearRecurrenceAttrs)
    query, key, value, decay, beta, state = (*anchor.inputs, *(None,) * 3)[:6]
    assert query is not None and key is not None and value is not None
    sizes = extents(query.type, value.type)
    b, t, h, k, v = sizes.batch, sizes.steps, sizes.heads, sizes.keys, sizes.values
    dtype = accumulator(query.type.dtype)
    slots = Slots()
    functors = (
        ("Query", _scaled(lowering, slots, query, attrs.scale, dtype)),
        ("Key", _read(lowering, slots, key, identity(key.type.static), dtype)),
        ("Value", _read(lowering, slots, value, identity(value.type.static), dtype)),
        ("Decay", _factor(lowering, slots, decay, (b, t, h, k), dtype)),
        ("Beta", _read(lowering, slots, beta, None if beta is None else broadcast(beta.type.static, (b, t, h)), dtype)),
        ("First", _read(lowering, slots, state, identity((b, h, k, v)), dtype)),
        *_stores(lowering, slots),
    )
    problem = Problem(
        batch=b,
        steps=t,
        heads=h,
        readers=sizes.queries // h,
        keys=k,
        values=v,
        is_gated=decay is not None,
        is_delta=beta is not None,
        accumulate=dtype,
    )
    return Lowered(family="linear_recurrence", problem=problem, functors=functors, slots=slots)


def _read(lowering: Lowering, slots: Slots, value: Value | None, index_map: IndexMap | None, dtype: DType) -> Expression:
    """Return an operand's elements; zero where it is left out."""
    builder = ExpressionBuilder(lowering.group, slots)
    if value is None or index_map is None:
        return builder.expression((builder.constant(0, dtype),))
    return builder.expression((builder.value(value, index_map),))


def _scaled(lowering: Lowering, slots: Slots, query: Value, scale: float, dtype: DType) -> Expression:
    """Return the query's elements times the scale."""
    builder = ExpressionBuilder(lowering.group, slots)
    element = builder.value(query, identity(query.type.static))
    return builder.expression((builder.apply("mul", (element, builder.constant(scale, dtype)), dtype),))


def _factor(lowering: Lowering, slots: Slots, decay: Value | None, shape: tuple[int, ...], dtype: DType) -> Expression:
    """Return what multiplies the state before a step."""
    builder = ExpressionBuilder(lowering.group, slots)
    if decay is None:
        return builder.expression((builder.constant(1, dtype),))
    element = builder.value(decay, broadcast(decay.type.static, shape))
    return builder.expression((builder.apply("exp", (element,), dtype),))


def _stores(lowering: Lowering, slots: Slots) -> tuple[tuple[str, Expression], tuple[str, Expression]]:
    """Return what stores the output of a step, and what stores the last state."""
    anchor = lowering.group.anchor
    assert anchor is not None
    output, state = (*anchor.outputs, None)[:2]
    builders = {}
    for result in (output, state):
        leaves = {} if result is None else {result: Leaf(0, identity(result.type.static))}
        builders[result] = ExpressionBuilder(lowering.group, slots, leaves)
    for stored in lowering.group.outputs:
        source, _ = look_through(stored, lowering.transparent())
        builders[source].store(stored, identity(source.type.static))
    found = [builders[result].expression() if result is not None else Expression((), ()) for result in (output, state)]
    return ("Output", found[0]), ("Final", found[1])

"""What a run makes sure of that only the device knows: ranges of numbers that kernels give."""

from __future__ import annotations

from nautilus_cli.frontend.constructs.selection import required_to_hold
from nautilus_cli.ir.counts import linear
from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.requirement import Limit
from nautilus_cli.ir.types import I64
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.numbers import number


def with_required_numbers(builder: GraphBuilder, value: Value) -> Value:
    """Return VALUE, an output, which waits for checks of what the host cannot make sure of; those are then no requirements any more."""
    conditions = taken_conditions(builder)
    return required_to_hold(builder, value, conditions) if conditions else value


def taken_conditions(builder: GraphBuilder) -> list[Value]:
    """Return what has to be true for the numbers that kernels of a graph give to be right; the builder has none of it any more."""
    conditions = list(builder.conditions)
    builder.conditions.clear()
    kept = []
    for one in builder.requirements:
        if not any(map(builder.gives, (one.value, one.low, one.high))):
            kept.append(one)
            continue
        if (symbol := linear(one.value)) is not None and symbol[1] > 0:
            name, factor, offset = symbol[0].name, *symbol[1:]
            builder.bounds.limits.append(Limit(name=name, count=name, most=(upper(one.high) - offset) // factor))
        found = number(builder, one.value, I64)
        conditions.append(builder.node("GreaterOrEqual", [found, number(builder, one.low, I64)]))
        conditions.append(builder.node("LessOrEqual", [found, number(builder, one.high, I64)]))
    builder.requirements[:] = kept
    return conditions

"""Resampling by tables: along channels where they are innermost in memory, else plane by plane."""

from __future__ import annotations

from nautilus_cli.ir.expression import Expression, Load
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import IndexMap, identity, permuted, regroup
from nautilus_cli.kernels.resize import Problem
from nautilus_cli.lowering.building.epilogue import epilogue_expression
from nautilus_cli.lowering.building.expressions import ExpressionBuilder
from nautilus_cli.lowering.building.lowered import Lowered, Lowering, main_storage
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.ops.interpolate import InterpolateAttrs


def lower(lowering: Lowering) -> Lowered:
    """Order the coordinates as the result lies in memory: rows, resampled axes, and the channels behind the last of those."""
    anchor = lowering.group.anchor
    assert anchor is not None
    attrs = anchor.attrs
    assert isinstance(attrs, InterpolateAttrs)
    x = anchor.inputs[0]
    assert x is not None
    (result,) = anchor.results()
    rank = len(result.type.shape)
    order = tuple(range(rank)) if result.order is None else result.order
    axes = [dim for dim in order if dim in attrs.axes]
    behind = order.index(axes[-1]) + 1
    rows, channels = [dim for dim in order[:behind] if dim not in axes], list(order[behind:])

    def walk(value: Value) -> IndexMap:
        shape, places = value.type.static, [*rows, *axes, *channels]
        count = len(rows)
        groups = [list(range(count)), *([count + n] for n in range(len(axes))), list(range(count + len(axes), rank))]
        return regroup(permuted(shape, places), groups)

    slots = Slots()
    builder = ExpressionBuilder(lowering.group, slots)
    element = builder.expression((builder.value(x, walk(x)),))
    epilogue = epilogue_expression(lowering, slots, result, walk(result))
    tables: list[tuple[str, Expression]] = []
    taps = []
    is_weighted = False
    for number, axis in enumerate(axes):
        place = 1 + 2 * attrs.axes.index(axis)
        first, weights = anchor.inputs[place], anchor.inputs[place + 1]
        assert first is not None
        tables.append((f"First{number}", _table(slots, first)))
        taps.append(1)
        if weights is not None:
            is_weighted = True
            taps[-1] = weights.type.static[1]
            tables.append((f"Weight{number}", _table(slots, weights)))
    shape = result.type.static
    problem = Problem(
        rows=walk(result).extents[0],
        channels=walk(result).extents[-1],
        inputs=tuple(x.type.static[axis] for axis in axes),
        outputs=tuple(shape[axis] for axis in axes),
        taps=tuple(taps),
        is_weighted=is_weighted,
        are_tables_known=all(table is None or table.constant is not None for table in anchor.inputs[1:]),
        x_storage=main_storage(element, x.type.dtype),
    )
    return Lowered(family="resize", problem=problem, functors=(("X", element), ("Epilogue", epilogue), *tables), slots=slots)


def _table(slots: Slots, table: Value) -> Expression:
    """Return the expression that reads a constant table by its own coordinates."""
    return Expression((Load(slots.number(table), table.type.dtype, identity(table.type.static)),), (0,))

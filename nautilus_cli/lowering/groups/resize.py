"""Resampling by tables: along channels where they are innermost in memory, else plane by plane."""

from __future__ import annotations

from dataclasses import dataclass

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
    walk = _Walk.of(result, attrs.axes)
    slots = Slots()
    builder = ExpressionBuilder(lowering.group, slots)
    element = builder.expression((builder.value(x, walk.over(x)),))
    epilogue = epilogue_expression(lowering, slots, result, walk.over(result))
    tables: list[tuple[str, Expression]] = []
    taps = []
    for number, axis in enumerate(walk.axes):
        place = 1 + 2 * attrs.axes.index(axis)
        first, weights = anchor.inputs[place], anchor.inputs[place + 1]
        assert first is not None
        tables.append((f"First{number}", _table(slots, first)))
        if weights is not None:
            tables.append((f"Weight{number}", _table(slots, weights)))
        taps.append(1 if weights is None else weights.type.static[1])
    rows, *_, channels = walk.over(result).extents
    problem = Problem(
        rows=rows,
        channels=channels,
        inputs=tuple(x.type.static[axis] for axis in walk.axes),
        outputs=tuple(result.type.static[axis] for axis in walk.axes),
        taps=tuple(taps),
        is_weighted=any(table is not None for table in anchor.inputs[2::2]),
        are_tables_known=all(table is None or table.constant is not None for table in anchor.inputs[1:]),
        x_storage=main_storage(element, x.type.dtype),
    )
    return Lowered(family="resize", problem=problem, functors=(("X", element), ("Epilogue", epilogue), *tables), slots=slots)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walk:
    """The dimensions of a tensor as a kernel goes over them.

    Attributes:
        rows: before the last of the resampled axes, without those.
        axes: that are resampled, in the order in which they lie in memory.
        channels: behind the last of them.
    """

    rows: tuple[int, ...]
    axes: tuple[int, ...]
    channels: tuple[int, ...]

    @staticmethod
    def of(result: Value, axes: tuple[int, ...]) -> _Walk:
        """Return the dimensions in the order in which the result lies in memory."""
        order = tuple(range(len(result.type.shape))) if result.order is None else result.order
        resampled = tuple(dim for dim in order if dim in axes)
        behind = order.index(resampled[-1]) + 1
        return _Walk(rows=tuple(dim for dim in order[:behind] if dim not in axes), axes=resampled, channels=order[behind:])

    def over(self, value: Value) -> IndexMap:
        """Return the map from (row, an index on each axis, channel) to VALUE's linear index in ONNX order."""
        places = (*self.rows, *self.axes, *self.channels)
        first, last = len(self.rows), len(self.rows) + len(self.axes)
        groups = [list(range(first)), *([place] for place in range(first, last)), list(range(last, len(places)))]
        return regroup(permuted(value.type.static, places), groups)


def _table(slots: Slots, table: Value) -> Expression:
    """Return the expression that reads a constant table by its own coordinates."""
    return Expression((Load(slots.number(table), table.type.dtype, identity(table.type.static)),), (0,))

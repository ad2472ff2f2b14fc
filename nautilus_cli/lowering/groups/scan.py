"""Cumulative sums and products along an axis."""

from __future__ import annotations

from typing import Any

from nautilus_cli.kernels.scan import Problem
from nautilus_cli.lowering.building.epilogue import epilogue_expression
from nautilus_cli.lowering.building.expressions import ExpressionBuilder
from nautilus_cli.lowering.building.lines import along, is_first_contiguous
from nautilus_cli.lowering.building.lowered import Lowered, Lowering, main_storage
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.ops.cumulative import cumulative_axis

_COMBINE = {"CumSum": "sum", "CumProd": "prod"}


def lower(lowering: Lowering) -> Lowered:
    """Columns run along the axis, from its end where the scan is reversed; rows are all other dimensions joined."""
    anchor = lowering.group.anchor
    assert anchor is not None
    x, axis = anchor.inputs
    assert x is not None and axis is not None
    (result,) = anchor.results()
    attrs: Any = anchor.attrs
    shape = x.type.static
    walk = along(shape, cumulative_axis((None, axis.constant), len(shape)), is_reversed=bool(attrs.reverse))

    slots = Slots()
    builder = ExpressionBuilder(lowering.group, slots)
    term = builder.expression((builder.value(x, walk),))
    epilogue = epilogue_expression(lowering, slots, result, walk)
    rows, columns = walk.extents
    problem = Problem(
        rows=rows,
        columns=columns,
        combine=_COMBINE[anchor.op],
        is_exclusive=bool(attrs.exclusive),
        is_row_contiguous=is_first_contiguous(epilogue),
        storage=main_storage(term, x.type.dtype),
    )
    return Lowered(family="scan", problem=problem, functors=(("Term", term), ("Epilogue", epilogue)), slots=slots)

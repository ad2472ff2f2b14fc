"""Cumulative sums and products along an axis."""

from __future__ import annotations

from typing import Any

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.index_map import IndexMap, from_strides, regroup, row_major
from nautilus_cli.kernels.scan import Problem
from nautilus_cli.lowering.expressions import ExpressionBuilder
from nautilus_cli.lowering.gemm import epilogue_expression
from nautilus_cli.lowering.lowered import Lowered, Lowering, main_storage
from nautilus_cli.lowering.slots import Slots
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
    walk = _along(shape, cumulative_axis((None, axis.constant), len(shape)), is_reversed=bool(attrs.reverse))

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
        is_row_contiguous=_is_row_contiguous(epilogue),
        storage=main_storage(term, x.type.dtype),
    )
    return Lowered(family="scan", problem=problem, functors=(("Term", term), ("Epilogue", epilogue)), slots=slots)


def _along(shape: tuple[int, ...], axis: int, *, is_reversed: bool) -> IndexMap:
    """Return the map from (all other coordinates joined, place along the axis) to the linear index."""
    order = [*(a for a in range(len(shape)) if a != axis), axis]
    strides = list(row_major(shape))
    offset = 0
    if is_reversed:
        offset, strides[axis] = (shape[axis] - 1) * strides[axis], -strides[axis]
    plain = from_strides([shape[a] for a in order], [strides[a] for a in order], offset)
    return regroup(plain, [list(range(len(shape) - 1)), [len(shape) - 1]])


def _is_row_contiguous(epilogue: Expression) -> bool:
    """Whether neighbouring rows of the first result are neighbours in memory."""
    (row, column) = epilogue.stores[0].map.stages[0].coordinates
    return row[-1].stride == 1 and abs(column[-1].stride) != 1

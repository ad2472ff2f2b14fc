"""Moments of rows: left by the product that stores these, or by a row kernel of their own."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from nautilus_cli.ir.expression import Expression, Load, Parameter, Reduction, RowProgram, Store
from nautilus_cli.ir.graph import Group, Value
from nautilus_cli.ir.index_map import IndexMap, from_strides, identity
from nautilus_cli.ir.types import F32
from nautilus_cli.kernels.row import Problem
from nautilus_cli.lowering.building.expressions import ExpressionBuilder
from nautilus_cli.lowering.building.lowered import Lowered, Lowering
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.ops.movement import is_transparent, look_through
from nautilus_cli.ops.row_moments import MOMENTS
from nautilus_cli.ops.row_moments import OPERATOR as ROW_MOMENTS

_NOTHING = Group("row", None, (), ())


@dataclass(frozen=True, slots=True, eq=False)
class MomentsLeft:
    """What a product leaves beside its results.

    Attributes:
        rows: the results that the moments are of, shaped as the operator has them.
        stored: the tensor that ROWS views, which the product stores.
        moments: of each part of a row the mean and the sum of squared deviations.
        columns: of a part.
    """

    rows: Value
    stored: Value
    moments: Value
    columns: int


def moments_left(group: Group) -> MomentsLeft | None:
    """Return what a product leaves, if its group has moments."""
    for node in group.nodes:
        if node.op == ROW_MOMENTS.name:
            (rows,) = node.operands()
            (moments,) = node.results()
            transparent = {value: maker for maker in group.nodes if is_transparent(maker) for value in maker.results()}
            stored, _ = look_through(rows, transparent)
            return MomentsLeft(rows, stored, moments, node.attrs.columns)  # type: ignore[attr-defined]
    return None


def leave_moments(left: MomentsLeft, slots: Slots, walk: IndexMap) -> Expression:
    """Return the functor at (batch, row, part) that stores the mean and the squares of a part, which it is handed.

    Args:
        left: what is left.
        slots: the kernel's pointers.
        walk: from (batch, row, column) to the linear index of the rows.
    """
    batch, rows, columns = walk.extents
    parts = columns // left.columns
    slot = slots.number(left.moments)
    at = [from_strides((batch, rows, parts), (rows * parts * MOMENTS, parts * MOMENTS, MOMENTS), number) for number in range(MOMENTS)]
    steps = tuple(Parameter(number, F32) for number in range(MOMENTS))
    return Expression(steps, (), tuple(Store(number, slot, F32, place) for number, place in enumerate(at)))


def take_moments(moments: Value, slots: Slots, extents: tuple[int, int]) -> Expression:
    """Return the functor at (batch, row, value) that loads the moments of a product of one batch, of (rows, parts)."""
    rows, parts = extents
    return Expression((Load(slots.number(moments), F32, identity((1, rows, parts * MOMENTS))),), (0,))


def lower(lowering: Lowering) -> Lowered:
    """A part of a row is a row of the kernel's."""
    group = lowering.group
    left = moments_left(group)
    assert left is not None
    columns = left.columns
    rows = prod(left.rows.type.static) // columns
    slots = Slots()
    at_element = from_strides((rows, columns), (columns, 1))
    reductions = []
    for number in range(MOMENTS):
        term = ExpressionBuilder(group, slots)
        value = term.value(left.rows, at_element)
        if number > 0:
            distance = term.apply("sub", (value, term.parameter(0, F32)), F32)
            value = term.apply("mul", (distance, distance), F32)
        finish = ExpressionBuilder(_NOTHING, Slots())
        combined = finish.parameter(number, F32)
        if number == 0:
            combined = finish.apply("div", (combined, finish.constant(columns, F32)), F32)
        reductions.append(Reduction("sum", term.expression((value,)), finish.expression((combined,)), F32))
    slot = slots.number(left.moments)
    steps = tuple(Parameter(number, F32) for number in range(MOMENTS))
    stores = tuple(Store(number, slot, F32, from_strides((rows,), (MOMENTS,), number)) for number in range(MOMENTS))
    program = RowProgram(tuple(reductions), Expression(()), Expression(steps, (), stores))
    problem = Problem(rows=rows, columns=columns, row_major=True, element_bytes=left.rows.type.dtype.bytes)
    return Lowered(family="row", problem=problem, functors=(("Program", program),), slots=slots)

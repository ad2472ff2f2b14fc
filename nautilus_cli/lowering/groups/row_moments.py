"""Moments of rows by a row kernel of their own."""

from __future__ import annotations

from math import prod

from nautilus_cli.ir.expression import Expression, Parameter, Reduction, RowProgram, Store
from nautilus_cli.ir.graph import Group
from nautilus_cli.ir.index_map import from_strides
from nautilus_cli.ir.types import F32
from nautilus_cli.kernels.row import Problem
from nautilus_cli.lowering.building.expressions import ExpressionBuilder
from nautilus_cli.lowering.building.lowered import Lowered, Lowering
from nautilus_cli.lowering.building.moments import moments_left
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.ops.row_moments import MOMENTS

_NOTHING = Group("row", None, (), ())


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

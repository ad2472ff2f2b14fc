"""Scatters: updates of a tensor at places that run-time indices give."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from nautilus_cli.ir.expression import Expression, Inside, Load
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import IndexMap, from_strides, identity
from nautilus_cli.ir.stages import row_major
from nautilus_cli.kernels.scatter import Problem
from nautilus_cli.lowering.building.epilogue import epilogue_expression
from nautilus_cli.lowering.building.expressions import ExpressionBuilder
from nautilus_cli.lowering.building.lines import across, is_first_contiguous
from nautilus_cli.lowering.building.lowered import Lowered, Lowering
from nautilus_cli.lowering.building.slots import Slots, Status

_COMBINE = {"none": "assign", "add": "sum", "mul": "prod", "max": "max", "min": "min"}
"""The kernel's combiner for each reduction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a scatter finds its elements.

    Attributes:
        extents: of the dimensions that indices choose, in order; a row is one choice.
        element: from (row, column) to the linear index of the data and the result.
        update: from (update, column) to the linear index of the updates.
        index_maps: for each dimension chosen, from (update, column) to the linear index of the indices.
    """

    extents: tuple[int, ...]
    element: IndexMap
    update: IndexMap
    index_maps: tuple[IndexMap, ...]


def lower(lowering: Lowering) -> Lowered:
    """Rows are what an update may go to, columns what it brings with it."""
    anchor = lowering.group.anchor
    assert anchor is not None
    data, indices, updates = anchor.inputs
    assert data is not None and indices is not None and updates is not None
    (result,) = anchor.results()
    attrs: Any = anchor.attrs
    access = ACCESSES[anchor.op](attrs, data.type.static, indices.type.static)

    slots = Slots()

    def element(value: Value, index_map: IndexMap) -> Expression:
        builder = ExpressionBuilder(lowering.group, slots)
        return builder.expression((builder.value(value, index_map),))

    data_functor, update_functor = element(data, access.element), element(updates, access.update)
    index_functors = [element(indices, index_map) for index_map in access.index_maps]
    epilogue = epilogue_expression(lowering, slots, result, access.element)
    slots.number(Status())
    rows, columns = access.element.extents
    problem = Problem(
        rows=rows,
        columns=columns,
        updates=access.update.extents[0],
        extents=access.extents,
        strides=row_major(access.extents),
        combine=_COMBINE[attrs.reduction],
        is_shared=all(_is_shared(functor) for functor in index_functors),
        is_row_contiguous=is_first_contiguous(epilogue),
        value=data.type.dtype.compute,
    )
    functors = (
        ("Data", data_functor),
        ("Update", update_functor),
        *((f"Index{number}", functor) for number, functor in enumerate(index_functors)),
        ("Epilogue", epilogue),
    )
    return Lowered(family="scatter", problem=problem, functors=functors, slots=slots)


def _is_shared(index: Expression) -> bool:
    """Whether an index is the same for all columns."""
    return all(step.map.is_uniform_last() for step in index.steps if isinstance(step, (Load, Inside)))


def _scatter_elements(attrs: Any, data: tuple[int, ...], indices: tuple[int, ...]) -> Access:
    axis = attrs.axis % len(data)
    element, update = across(data, axis), across(indices, axis)
    return Access(extents=(data[axis],), element=element, update=update, index_maps=(update,))


def _scatter_nd(_attrs: Any, data: tuple[int, ...], indices: tuple[int, ...]) -> Access:
    *sets, chosen = indices
    count, columns = prod(sets), prod(data[chosen:])
    return Access(
        extents=data[:chosen],
        element=identity((prod(data[:chosen]), columns)),
        update=identity((count, columns)),
        index_maps=tuple(from_strides((count, columns), (chosen, 0), number) for number in range(chosen)),
    )


ACCESSES = {"ScatterElements": _scatter_elements, "ScatterND": _scatter_nd}

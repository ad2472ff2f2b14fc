"""Gathers: rows of a tensor, or single elements, found by run-time indices."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.expression import Expression, Load
from nautilus_cli.ir.index_map import IndexMap, compose, from_strides, identity, physical, regroup
from nautilus_cli.ir.stages import Stage, row_major
from nautilus_cli.kernels.gather import Problem
from nautilus_cli.lowering.building.epilogue import epilogue_expression
from nautilus_cli.lowering.building.expressions import ExpressionBuilder
from nautilus_cli.lowering.building.lowered import Lowered, Lowering
from nautilus_cli.lowering.building.slots import Slots, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a gather finds its elements.

    Attributes:
        rows: how many sets of indices there are, times the leading extents that they do not choose.
        columns: consecutive elements that one set of indices gives.
        axes: dimensions of the data that indices choose, in order.
        index_maps: for each of them the map from (row,) to the linear index of the indices.
        base: from (row, column) to the linear index of the data where every index is zero.
    """

    rows: int
    columns: int
    axes: tuple[int, ...]
    index_maps: tuple[IndexMap, ...]
    base: IndexMap


def lower(lowering: Lowering) -> Lowered:
    """Each row's indices are read once; its elements are copied together."""
    anchor = lowering.group.anchor
    assert anchor is not None
    data, indices = anchor.inputs[0], anchor.inputs[1]
    assert data is not None and indices is not None
    (result,) = anchor.results()
    access = ACCESSES[anchor.op](anchor.attrs, data.type.static, indices.type.static)

    slots = Slots()
    data_slot = slots.number(data)
    storage = physical(data.type.static, data.order)
    base = Expression((Load(data_slot, data.type.dtype, compose(access.base, storage)),), (0,))
    index_functors = []
    for number, index_map in enumerate(access.index_maps):
        builder = ExpressionBuilder(lowering.group, slots)
        index_functors.append((f"Index{number}", builder.expression((builder.value(indices, index_map),))))
    epilogue = epilogue_expression(lowering, slots, result, identity((access.rows, access.columns)))
    slots.number(Status())
    problem = Problem(
        rows=access.rows,
        columns=access.columns,
        extents=tuple(data.type.static[axis] for axis in access.axes),
        strides=tuple(_stride(storage, axis) for axis in access.axes),
        data=data.type.dtype,
        data_slot=data_slot,
    )
    return Lowered(family="gather", problem=problem, functors=(("Base", base), *index_functors, ("Epilogue", epilogue)), slots=slots)


def _stride(storage: IndexMap, axis: int) -> int:
    """Return what one step along a dimension adds to the offset."""
    (stage,) = storage.stages
    return _only(stage, axis)


def _only(stage: Stage, axis: int) -> int:
    digits = stage.coordinates[axis]
    if len(digits) != 1:
        raise InternalError(f"dimension {axis} of gathered data has {len(digits)} digits in memory")
    return digits[0].stride


def _gather(attrs: Any, data: tuple[int, ...], indices: tuple[int, ...]) -> Access:
    axis = attrs.axis % len(data)
    outer, inner, count = prod(data[:axis]), prod(data[axis + 1 :]), prod(indices)
    return Access(
        rows=outer * count,
        columns=inner,
        axes=(axis,),
        index_maps=(regroup(from_strides((outer, count), (0, 1)), [[0, 1]]),),
        base=regroup(from_strides((outer, count, inner), (data[axis] * inner, 0, 1)), [[0, 1], [2]]),
    )


def _gather_elements(attrs: Any, data: tuple[int, ...], indices: tuple[int, ...]) -> Access:
    axis = attrs.axis % len(data)
    strides = [0 if i == axis else s for i, s in enumerate(row_major(data))]
    everything = list(range(len(indices)))
    return Access(
        rows=prod(indices),
        columns=1,
        axes=(axis,),
        index_maps=(identity((prod(indices),)),),
        base=regroup(from_strides((*indices, 1), (*strides, 0)), [everything, [len(indices)]]),
    )


def _gather_nd(attrs: Any, data: tuple[int, ...], indices: tuple[int, ...]) -> Access:
    batch, chosen = attrs.batch_dims, indices[-1]
    sets = indices[:-1]
    columns = prod(data[batch + chosen :])
    strides = row_major(data)
    digits = [strides[i] if i < batch else 0 for i in range(len(sets))]
    return Access(
        rows=prod(sets),
        columns=columns,
        axes=tuple(range(batch, batch + chosen)),
        index_maps=tuple(from_strides((prod(sets),), (chosen,), number) for number in range(chosen)),
        base=regroup(from_strides((*sets, columns), (*digits, 1)), [list(range(len(sets))), [len(sets)]]),
    )


ACCESSES = {"Gather": _gather, "GatherElements": _gather_elements, "GatherND": _gather_nd}

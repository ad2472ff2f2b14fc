"""Moments of rows, which a product leaves beside its results for the product that normalises them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nautilus_cli.ir.expression import Expression, Load, Parameter, Store
from nautilus_cli.ir.graph import Group, Value
from nautilus_cli.ir.index_map import IndexMap, from_strides, identity
from nautilus_cli.ir.types import F32
from nautilus_cli.lowering.building.lowered import Functors
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.ops.movement import is_transparent, look_through
from nautilus_cli.ops.row_moments import MOMENTS
from nautilus_cli.ops.row_moments import OPERATOR as ROW_MOMENTS


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


def statistics(group: Group, slots: Slots, walk: IndexMap) -> tuple[Functors, Mapping[str, int]]:
    """Return the functor of what a product leaves, and the fields of its problem that say so; none where it leaves nothing.

    Args:
        group: the product.
        slots: the kernel's pointers.
        walk: from (batch, row, column) to the linear index of the rows.
    """
    left = moments_left(group)
    if left is None:
        return (), {}
    return (("Statistics", _leave_moments(left, slots, walk)),), {"part_columns": left.columns}


def take_moments(moments: Value, slots: Slots, extents: tuple[int, int]) -> Expression:
    """Return the functor at (batch, row, value) that loads the moments of a product of one batch, of (rows, parts)."""
    rows, parts = extents
    return Expression((Load(slots.number(moments), F32, identity((1, rows, parts * MOMENTS))),), (0,))


def _leave_moments(left: MomentsLeft, slots: Slots, walk: IndexMap) -> Expression:
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

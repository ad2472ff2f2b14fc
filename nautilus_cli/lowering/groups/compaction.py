"""The places of kept elements, and their number."""

from __future__ import annotations

from typing import Any

from nautilus_cli.ir.index_map import identity
from nautilus_cli.ir.types import I64
from nautilus_cli.kernels.compaction import Problem
from nautilus_cli.lowering.building.expressions import ExpressionBuilder, Leaf
from nautilus_cli.lowering.building.lowered import Lowered, Lowering
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.ops.movement import look_through


def lower(lowering: Lowering) -> Lowered:
    """The vector is walked in order; what is kept goes one behind the other."""
    anchor = lowering.group.anchor
    assert anchor is not None
    keep, tallies = (*anchor.inputs, None)[:2]
    assert keep is not None
    attrs: Any = anchor.attrs
    (elements,) = keep.type.static
    slots = Slots()
    reader = ExpressionBuilder(lowering.group, slots)
    kept = reader.expression((reader.value(keep, identity((elements,))),))
    counts = ExpressionBuilder(lowering.group, slots)
    number = counts.constant(0, I64) if tallies is None else counts.value(tallies, identity(tallies.type.static))
    tally = counts.expression((number,))
    ends = []
    for value, walk in zip(anchor.outputs, (identity((elements,)), identity((1,))), strict=True):
        end = ExpressionBuilder(lowering.group, slots, {value: Leaf(0, walk)} if value is not None else None)
        for stored in lowering.group.outputs:  # a view of the value, too, has its elements one behind the other
            if value is not None and look_through(stored, lowering.transparent())[0] is value:
                end.store_at(value, walk, stored, walk)
        ends.append(end.expression())
    place, total = ends
    problem = Problem(elements=elements, tile=attrs.tile, is_tallied=tallies is not None)
    functors = (("Keep", kept), ("Tally", tally), ("Place", place), ("Total", total))
    return Lowered(family="compaction", problem=problem, functors=functors, slots=slots)

"""Rows that go into caches: a pointwise kernel over the rows alone, whose stores find their place in the caches."""

from __future__ import annotations

from typing import Any

from nautilus_cli.ir.expression import Load
from nautilus_cli.ir.graph import Node
from nautilus_cli.ir.index_map import IndexMap, identity, regroup, sliced
from nautilus_cli.kernels.pointwise import Problem
from nautilus_cli.lowering.building.expressions import ExpressionBuilder
from nautilus_cli.lowering.building.lowered import Lowered, Lowering, streamed_bytes
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.ops.cache_write import OPERATOR as CACHE_WRITE


def lower(lowering: Lowering) -> Lowered:
    """Iterate over the rows in their order, which is that of their place in the cache up to the steps over its other rows."""
    writes = [node for node in lowering.group.nodes if node.op == CACHE_WRITE.name]
    slots = Slots()
    builder = ExpressionBuilder(lowering.group, slots)
    for write in writes:
        _, rows = write.operands()
        (cache,) = write.results()
        builder.store_at(rows, _together(identity(rows.type.static)), cache, _together(_place(write)))
    body = builder.expression()
    _, rows = writes[0].operands()
    accesses = sum(isinstance(step, Load) for step in body.steps) + len(body.stores)
    problem = Problem(elements=rows.type.elements, element_bytes=streamed_bytes([body]), accesses=accesses)
    return Lowered(family="pointwise", problem=problem, functors=(("Body", body),), slots=slots)


def _place(write: Node) -> IndexMap:
    """Return the map from the dimensions of the rows to their offset in the cache."""
    cache, rows = write.operands()
    attrs: Any = write.attrs
    shape = rows.type.static
    return sliced(cache.type.static, attrs.places(len(shape)), (1,) * len(shape), shape)


def _together(index_map: IndexMap) -> IndexMap:
    """Return a map with one coordinate in place of all."""
    return regroup(index_map, [list(range(len(index_map.extents)))])

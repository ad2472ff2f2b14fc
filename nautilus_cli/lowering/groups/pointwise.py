"""Pointwise groups: chains of elementwise work, and copies that movement could not avoid."""

from __future__ import annotations

from nautilus_cli.ir.expression import Load
from nautilus_cli.ir.index_map import permuted, regroup
from nautilus_cli.kernels.pointwise import Problem
from nautilus_cli.lowering.building.expressions import ExpressionBuilder
from nautilus_cli.lowering.building.lowered import Lowered, Lowering, streamed_bytes
from nautilus_cli.lowering.building.slots import Slots


def lower(lowering: Lowering) -> Lowered:
    """Iterate over the first output in its physical order, so that stores are consecutive."""
    group = lowering.group
    first = group.outputs[0]
    rank = len(first.type.shape)
    dims = tuple(range(rank)) if first.order is None else first.order
    walk = regroup(permuted(first.type.static, dims), [list(range(rank))])
    slots = Slots()
    builder = ExpressionBuilder(group, slots)
    for value in group.outputs:
        builder.store(value, walk)
    body = builder.expression()
    accesses = sum(isinstance(step, Load) for step in body.steps) + len(body.stores)
    problem = Problem(elements=first.type.elements, element_bytes=streamed_bytes([body]), accesses=accesses)
    return Lowered(family="pointwise", problem=problem, functors=(("Body", body),), slots=slots)

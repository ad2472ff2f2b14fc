"""Determinants and inverses."""

from __future__ import annotations

from nautilus_cli.ir.index_map import identity, regroup
from nautilus_cli.kernels.elimination import Problem
from nautilus_cli.lowering.building.epilogue import epilogue_expression
from nautilus_cli.lowering.building.expressions import ExpressionBuilder
from nautilus_cli.lowering.building.lowered import Lowered, Lowering
from nautilus_cli.lowering.building.slots import Slots


def lower(lowering: Lowering) -> Lowered:
    """All dimensions before the last two are joined: they number the matrices."""
    anchor = lowering.group.anchor
    assert anchor is not None
    x = anchor.inputs[0]
    assert x is not None
    (result,) = anchor.results()
    rank = len(x.type.shape)
    matrices = [list(range(rank - 2)), [rank - 2], [rank - 1]]
    is_inverse = anchor.op != "Det"

    slots = Slots()
    builder = ExpressionBuilder(lowering.group, slots)
    walk = regroup(identity(x.type.static), matrices)
    element = builder.expression((builder.value(x, walk),))
    target = walk if is_inverse else regroup(identity(result.type.static), [list(range(rank - 2))])
    epilogue = epilogue_expression(lowering, slots, result, target)
    problem = Problem(matrices=walk.extents[0], order=walk.extents[1], is_inverse=is_inverse, value=x.type.dtype.compute)
    return Lowered(family="elimination", problem=problem, functors=(("X", element), ("Epilogue", epilogue)), slots=slots)

"""Pools: one result or two."""

from __future__ import annotations

from nautilus_cli.ir.expression import Parameter
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F32, I64
from nautilus_cli.lowering.plan import Plan
from tests.unit.lowering.test_planner import expression, planned
from tests.unit.passes.sketches import Sketch


def pools(s: Sketch) -> tuple[Value, Value]:
    maximum, place = s.apply("MaxPool", [s.x(1, 4, 6, 6)], outputs=(None, None), kernel_shape=(2, 2), storage_order=1)
    assert maximum is not None and place is not None
    return maximum, place


def parameters(found: Plan) -> list[Parameter]:
    return [step for step in expression(found, 0, "Epilogue").steps if isinstance(step, Parameter)]


def test_maxima_and_their_places_are_one_kernel() -> None:
    s = Sketch()
    maximum, place = pools(s)
    found = planned(s.graph([("y", s.node("Relu", [maximum])), ("i", place)]))
    assert len(found.launches) == 1
    problem = found.kernels[0].request.problem
    assert problem.has_indices and problem.is_column_major
    value, where = sorted(parameters(found), key=lambda p: p.index)
    assert (value.dtype, where.dtype) == (F32, I64)


def test_places_that_nobody_reads_are_not_computed() -> None:
    s = Sketch()
    maximum, _ = pools(s)
    problem = planned(s.graph([("y", maximum)])).kernels[0].request.problem
    assert not problem.has_indices and not problem.is_column_major


def test_places_alone() -> None:
    s = Sketch()
    _, place = pools(s)
    found = planned(s.graph([("i", place)]))
    assert found.kernels[0].request.problem.has_indices
    assert [p.index for p in parameters(found)] == [1]

"""Kernels that differ only in where they begin are one."""

from __future__ import annotations

import pytest

from nautilus_cli.ir.expression import Load
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F16, F32, I64, DType, TensorType
from nautilus_cli.lowering.plan import Plan
from tests.unit.lowering.test_planner import planned
from tests.unit.passes.sketches import Sketch


def rows(s: Sketch, x: Value, count: int, size: int) -> list[Value]:
    """The first rows of x, each through a function and times a matrix, which is a kernel for each."""
    weight = s.c(size, size)
    found = []
    for row in range(count):
        part = s.node("Slice", [x, s.ints(row), s.ints(row + 1), s.ints(0)])
        found.append(s.node("MatMul", [s.node("Tanh", [part]), weight]))
    return found


def offsets(plan: Plan) -> set[int]:
    return {step.map.stages[-1].offset for k in plan.kernels for _, f in k.request.functors for step in f.steps if isinstance(step, Load)}  # type: ignore[union-attr]


@pytest.mark.parametrize("dtype", [F32, F16])
def test_slices_of_one_tensor_are_read_by_one_kernel(dtype: DType) -> None:
    s = Sketch(dtype)
    x = s.x(6, 16)
    found = planned(s.graph([(f"y{i}", y) for i, y in enumerate(rows(s, x, 5, 16))]))
    assert (len(found.launches), len(found.kernels)) == (5, 1)
    reads = [word.value for launch in found.launches for word in launch.words if word.kind == "input"]
    assert reads == [row * 16 * dtype.bytes for row in range(5)]
    assert offsets(found) == {0}


def test_a_pointer_stays_aligned() -> None:
    """Rows of 5 elements begin at 20 bytes: what is beyond the alignment before stays in the kernel."""
    s = Sketch()
    found = planned(s.graph([(f"y{i}", y) for i, y in enumerate(rows(s, s.x(9, 5), 9, 5))]))
    reads = [word.value for launch in found.launches for word in launch.words if word.kind == "input"]
    assert [value % 16 for value in reads] == [0] * 9
    assert reads[:6] == [0, 16, 32, 48, 80, 96]
    assert offsets(found) == {0, 1, 2, 3}


def test_a_tensor_that_is_read_at_several_places_begins_at_the_first() -> None:
    s = Sketch()
    x = s.x(8, 16)
    parts = [s.node("Slice", [x, s.ints(row), s.ints(row + 1), s.ints(0)]) for row in (3, 6)]
    found = planned(s.graph([("y", s.node("Add", parts))]))
    assert [word.value for word in found.launches[0].words if word.kind == "input"] == [3 * 64]
    assert offsets(found) == {0, 3 * 16}


def test_a_gather_keeps_its_pointer() -> None:
    s = Sketch()
    x = s.node("Slice", [s.x(8, 16), s.ints(4), s.ints(8), s.ints(0)])
    found = planned(s.graph([("y", s.node("Gather", [x, s.input("i", TensorType(I64, (3,)))]))]))
    assert all(word.value == 0 for word in found.launches[-1].words)


def test_padding_in_front_moves_nothing() -> None:
    s = Sketch()
    x = s.node("Pad", [s.x(4, 8), s.ints(2, 0, 0, 0)])
    found = planned(s.graph([("y", s.node("Tanh", [x]))]))
    assert all(word.value == 0 for launch in found.launches for word in launch.words if word.kind == "input")

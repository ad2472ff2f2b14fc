"""Left operands of products: computed while they are loaded, or stored, whichever is estimated to be faster."""

from __future__ import annotations

from typing import Any

import pytest

from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.control import BranchAttrs
from nautilus_cli.ir.graph import FusedGraph, Graph, Node, Value
from nautilus_cli.ir.types import BOOL, F16, I64, TensorType
from nautilus_cli.kernels.base import Family
from nautilus_cli.lowering.fusion.prologues import choose_prologues, left_work
from nautilus_cli.lowering.planner import plan
from nautilus_cli.lowering.single.alone import slots
from nautilus_cli.passes import pipeline
from nautilus_cli.passes.fusion.fuse import fuse
from nautilus_cli.targets.base import Target
from nautilus_cli.targets.registry import target
from tests.unit.passes.sketches import Sketch


def analytic(family: Family, problem: Any, where: Target) -> Any:
    return family.choose(problem, where)


def gated(rows: int, columns: int, depth: int) -> FusedGraph:
    """Return x·sigmoid(x)·y times a weight, fused, in 16 bits."""
    s = Sketch(F16)
    x, y = (s.input(name, TensorType(F16, (rows, depth))) for name in ("x", "y"))
    gate = s.node("Mul", (x, s.node("Sigmoid", (x,))))
    return pipeline.run(s.graph([("z", s.node("MatMul", (s.node("Mul", (gate, y)), s.c(depth, columns))))]))


def families_of(fused: FusedGraph) -> list[str]:
    """Return the families of the kernels on an H100."""
    found = plan(fused, target("sm_90a"), analytic, fp32_mode="ffma")
    return [found.kernels[launch.kernel].request.family for launch in found.launches]


def test_a_product_computes_its_left_operand() -> None:
    fused = gated(64, 32, 48)
    (group,) = fused.groups
    assert [node.op for node in left_work(group)] == ["Sigmoid", "Mul", "Mul"]
    assert choose_prologues(fused, fp32_mode="ffma") is fused


@pytest.mark.parametrize(("rows", "columns", "depth", "kernels"), [(512, 32, 256, 1), (4096, 16384, 768, 2)])
def test_what_every_column_of_tiles_would_compute_again_is_stored(rows: int, columns: int, depth: int, kernels: int) -> None:
    """Few columns of tiles repeat little; with many, the threads that compute are what the product waits for."""
    before = families_of(choose_prologues(gated(rows, columns, depth), fp32_mode="ffma"))[:-1]
    assert before == ["pointwise"] * (kernels - 1)


def test_what_is_stored_is_fused_as_if_no_product_read_it() -> None:
    """A node that others read too and what follows it are one kernel, not two."""
    s = Sketch(F16)
    x = s.x(4096, 768)
    scaled = s.node("Mul", (x, s.c(768)))
    y = s.node("MatMul", (s.node("Sigmoid", (scaled,)), s.c(768, 16384)))
    fused = pipeline.run(s.graph([("scaled", scaled), ("y", y)]))
    assert [group.kind for group in fused.groups] == ["pointwise", "gemm"]
    found = choose_prologues(fused, fp32_mode="ffma")
    assert [(group.kind, len(group.outputs)) for group in found.groups] == [("pointwise", 2), ("gemm", 1)]


@pytest.mark.parametrize(("rows", "columns", "depth", "launches"), [(0, 32, 48, 0), (64, 0, 48, 0), (64, 32, 0, 1)])
def test_products_of_nothing_take_no_time(rows: int, columns: int, depth: int, launches: int) -> None:
    found = choose_prologues(gated(rows, columns, depth), fp32_mode="ffma")
    assert len(families_of(found)) == launches


def test_open_rows_are_judged_where_there_are_many() -> None:
    rows = symbol("rows", 1, 8192)
    assert families_of(choose_prologues(gated(rows, 16384, 768), fp32_mode="ffma"))[0] == "pointwise"


def test_a_left_operand_that_is_right_operand_too_is_stored() -> None:
    """Its work would be repeated for rows of tiles as well."""
    s = Sketch(F16)
    x = s.node("Sigmoid", (s.x(64, 64),))
    fused = pipeline.run(s.graph([("y", s.node("MatMul", (x, x)))]))
    assert [group.kind for group in fused.groups] == ["pointwise", "gemm"]


def test_graphs_that_nodes_hold_are_settled_too() -> None:
    """Here a branch holds the product."""
    body = gated(4096, 16384, 768).graph
    condition, *operands = (Value(type_) for type_ in (TensorType(BOOL, ()), *(value.type for _, value in body.inputs)))
    ((_, value),) = body.outputs
    result = Value(value.type)
    attrs = BranchAttrs(then_branch=body, else_branch=Graph((), (), ()), types=(result.type,), refusals=("", "it cannot be"))
    branch = Node("nautilus::If", (condition, *operands), (result,), attrs)
    fused = fuse(Graph((("c", condition), *zip("xy", operands, strict=True)), (("z", result),), (branch,)))

    def held(whole: FusedGraph) -> list[str]:
        (group,) = whole.groups
        return [inner.kind for inner in group.bodies[0].groups]

    assert held(fused) == ["gemm"]
    assert held(choose_prologues(fused, fp32_mode="ffma")) == ["pointwise", "gemm"]


def test_a_kernel_that_finds_rows_by_indices_has_the_status_word_last() -> None:
    """Run alone, as tuning does, it is given a whole table and as many indices as rows."""
    s = Sketch(F16)
    rows = s.node("Gather", (s.x(50, 64), s.input("ids", TensorType(I64, (24,)))), axis=0)
    fused = choose_prologues(pipeline.run(s.graph([("y", s.node("MatMul", (rows, s.c(64, 32))))])), fp32_mode="ffma")
    found = plan(fused, target("sm_90a"), analytic, fp32_mode="ffma")
    (launch,) = found.launches
    kinds = [word.kind for word in launch.words]
    assert kinds[-1] == "status" and kinds.count("status") == 1
    needs = {(slot.dtype, slot.elements) for slot in slots(found.kernels[0].request) if not slot.is_written}
    assert {(I64, 24), (F16, 50 * 64)} <= needs

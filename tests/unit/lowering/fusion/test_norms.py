"""Norms go into products where the estimates say that it pays."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import nautilus_cli.driver
from nautilus_cli.ir.expression import Apply
from nautilus_cli.ir.graph import FusedGraph, Value
from nautilus_cli.ir.types import F16, F32, TensorType
from nautilus_cli.lowering.fusion import norms
from nautilus_cli.lowering.fusion.choice import choose_fusion
from nautilus_cli.lowering.planner import plan
from nautilus_cli.passes import pipeline
from nautilus_cli.passes.fusion.fuse import fuse
from nautilus_cli.targets.registry import target
from tests.support.random_graphs.building import analytic
from tests.unit.passes.sketches import Sketch


def layer(s: Sketch, x: Value, hidden: int) -> Value:
    """Return a pre-norm feed-forward layer: a product of the normalised rows, and one whose results are added to these."""
    width = x.type.static[-1]
    y = s.node("LayerNormalization", (x, s.c(width), s.c(width)))
    y = s.node("Relu", (s.node("Add", (s.node("MatMul", (y, s.c(width, hidden))), s.c(hidden))),))
    return s.node("Add", (x, s.node("MatMul", (y, s.c(hidden, width)))))


def layers(count: int, *, rows: int = 128, width: int = 256, hidden: int = 512, dtype=F16) -> FusedGraph:
    """Return some layers, fused as a driver does."""
    s = Sketch(dtype)
    x = s.input("x", TensorType(dtype, (rows, width)))
    for _ in range(count):
        x = layer(s, x, hidden)
    return choose_fusion(pipeline.simplify(s.graph([("y", x)])), fp32_mode="ffma")


def kinds(fused: FusedGraph) -> list[str]:
    return [group.kind for group in fused.groups]


def test_the_norm_of_what_a_product_stores_goes() -> None:
    """The first one normalises an input: a kernel for its moments would take as long as one for the norm."""
    assert kinds(layers(3)) == ["row", "gemm", "gemm", "gemm_normalized", "gemm", "gemm_normalized", "gemm"]


def test_norms_of_floats_stay() -> None:
    assert kinds(layers(2, dtype=F32)) == ["row", "gemm", "gemm", "row", "gemm", "gemm"]


def test_norms_of_no_rows_stay() -> None:
    """Nothing is launched for them, so that nothing is won."""
    assert kinds(layers(2, rows=0)) == ["row", "gemm", "gemm", "row", "gemm", "gemm"]


def test_norms_that_are_alike_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = []
    found = norms._difference_us
    monkeypatch.setattr(norms, "_difference_us", lambda *given: judged.append(1) or found(*given))
    layers(6)
    assert len(judged) == 2


def test_where_it_is_slower_the_norm_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(norms, "group_us", lambda group, _: 3.0 if group.kind == "gemm_normalized" else 1.0)
    assert kinds(layers(2)) == ["row", "gemm", "gemm", "row", "gemm", "gemm"]


@pytest.mark.parametrize("name", ["sm_80", "sm_90a", "emulated"])
def test_tensor_cores_take_and_leave_moments(name: str) -> None:
    found = plan(layers(2), target(name), analytic, fp32_mode="ffma")
    requests = [found.kernels[launch.kernel].request for launch in found.launches]
    taking = [r for r in requests if "Moments" in dict(r.functors)]
    leaving = [r for r in requests if "Statistics" in dict(r.functors)]
    assert [(r.problem.moment_parts, r.problem.moment_columns) for r in taking] == [(8, 32)]
    assert [r.problem.part_columns for r in leaving] == [32]
    family = "gemm_mma" if name == "sm_80" else "gemm_wgmma"
    assert {r.family for r in (*taking, *leaving)} == {family}
    moments = [b for b in found.buffers if b.bytes == 128 * 8 * 2 * 4]
    assert moments, "they lie in the arena"


def test_moments_are_of_rows_as_they_are_stored() -> None:
    """Where a product alone makes them, too: with a mean far from zero, rounding is much of the deviation."""
    s = Sketch(F16)
    h = s.node("MatMul", (s.input("x", TensorType(F16, (128, 512))), s.c(512, 256)))
    y = s.node("MatMul", (s.node("LayerNormalization", (h, s.c(256))), s.c(256, 512)))
    found = plan(choose_fusion(pipeline.simplify(s.graph([("y", y)])), fp32_mode="ffma"), target("sm_90a"), analytic, fp32_mode="ffma")
    (epilogue,) = (dict(k.request.functors)["Epilogue"] for k in found.kernels if "Statistics" in dict(k.request.functors))
    (handed,) = epilogue.results
    assert isinstance(epilogue.steps[handed], Apply) and epilogue.steps[handed].function == "cast_f32_f16"
    assert [store.step for store in epilogue.stores] == [handed]


def test_norms_of_the_same_rows_are_judged_together() -> None:
    """One row kernel computes both of these, which stays where one of them does: neither pays alone."""
    s = Sketch(F16)
    h = s.node("MatMul", (s.input("x", TensorType(F16, (128, 512))), s.c(512, 256)))
    squares = s.node("ReduceMean", (s.node("Mul", (h, h)), s.ints(-1)))
    unit = s.node("Div", (h, s.node("Sqrt", (s.node("Add", (squares, s.constant(np.float16(1e-3)))),))))
    both = [s.node("Mul", (unit, s.c(256))) for _ in range(2)]
    graph = pipeline.simplify(s.graph([(f"y{i}", s.node("MatMul", (norm, s.c(256, 512)))) for i, norm in enumerate(both)]))
    assert kinds(fuse(graph)) == ["gemm", "row", "gemm", "gemm"]
    assert kinds(choose_fusion(graph, fp32_mode="ffma")) == ["gemm", "gemm_normalized", "gemm_normalized"]


def test_every_driver_fuses_in_one_way() -> None:
    """What `fuse`, `choose_prologues` and `choose_norms` do is for `choose_fusion` to call: who forgets one of them has other kernels."""
    folder = Path(nautilus_cli.driver.__file__).parent
    names = {"fuse", "choose_prologues", "choose_norms"}
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert not names.intersection(alias.name for alias in node.names), path
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) != ("pipeline", "run"), path

"""Less fusion, and every stored tensor as an output: what looking for a wrong kernel needs."""

from __future__ import annotations

import pytest

from models import small
from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.frontend.load import load_model
from nautilus_cli.ir.graph import FusedGraph
from nautilus_cli.lowering.planner import plan
from nautilus_cli.ops.movement import is_transparent
from nautilus_cli.passes import pipeline
from nautilus_cli.passes.bisection.expose import expose
from nautilus_cli.passes.bisection.unfuse import unfuse
from nautilus_cli.targets.registry import target
from tests.unit.passes.sketches import Sketch


def network(name: str, dtype: str) -> FusedGraph:
    return pipeline.run(load_model(small.build(name, small.EXPORTERS[0], dtype), ExternalData(None), "").graph)


def planned(fused: FusedGraph):
    return plan(fused, target("sm_90a"), lambda family, problem, machine: family.choose(problem, machine), fp32_mode="ffma")


@pytest.mark.parametrize("dtype", small.TYPES)
@pytest.mark.parametrize("name", small.NETWORKS)
def test_a_kernel_for_each_node(name: str, dtype: str) -> None:
    fused = network(name, dtype)
    apart = unfuse(fused, fused.groups)
    assert all(sum(not is_transparent(node) for node in group.nodes) <= 1 for group in apart.groups)
    assert len(planned(apart).launches) > len(planned(fused).launches)


@pytest.mark.parametrize("name", small.NETWORKS)
def test_other_groups_stay(name: str) -> None:
    fused = network(name, "fp32")
    parts = [(g.kind, g.anchor, g.nodes, g.outputs) for g in fused.groups]
    assert [(g.kind, g.anchor, g.nodes, g.outputs) for g in unfuse(fused, ()).groups] == parts
    longest = max(fused.groups, key=lambda group: len(group.nodes))
    left = [(g.kind, g.anchor, g.nodes, g.outputs) for g in unfuse(fused, (longest,)).groups]
    assert [part for part in left if part in parts] == [part for part in parts if part[2] != longest.nodes]
    assert len(left) > len(parts)


@pytest.mark.parametrize("name", small.NETWORKS)
def test_exposed_tensors_have_memory_of_their_own(name: str) -> None:
    fused = network(name, "fp32")
    exposed = expose(fused)
    stored = [v for group in fused.groups for v in group.outputs]
    assert exposed.graph.outputs[: len(fused.graph.outputs)] == fused.graph.outputs
    assert {v for _, v in exposed.graph.outputs} == set(stored)
    names = [n for n, _ in exposed.graph.outputs]
    assert len(set(names)) == len(names)
    whole, found = planned(fused), planned(exposed)
    assert found.arena_bytes == 0
    assert found.kernels == whole.kernels
    assert [launch.kernel for launch in found.launches] == [launch.kernel for launch in whole.launches]


def test_names_of_tensors_that_have_none() -> None:
    """An output may be called as an inner tensor is: then the tensor has another name, and so has one that equals none."""
    s = Sketch()
    (h,) = s.apply("Tanh", (s.x(2, 3),), outputs=("y",))
    assert h is not None
    fused = pipeline.run(s.graph([("y", s.node("Softmax", (s.node("Softmax", (h,), axis=0),), axis=1))]))
    names = [name for name, _ in expose(fused).graph.outputs]
    assert names[0] == "y"
    assert all(name.startswith("group ") for name in names[1:])

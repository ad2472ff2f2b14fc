"""verify --per-node: wrong kernels are planted, and must be named."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from models import small
from nautilus_cli import driver
from nautilus_cli.codegen.render import Rendered, render
from nautilus_cli.driver import compilation, per_node
from nautilus_cli.driver.verification_result import VerifyResult
from nautilus_cli.frontend.load import load
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.lowering.memory import placement
from nautilus_cli.verify.simulation import simulate
from tests.e2e.commands import Caller
from tests.e2e.networks import model, port, saved

Change = Callable[[Rendered], str]


def layers() -> onnx.ModelProto:
    """Three layers with an activation each, the last one normalised: x [4, 8] to y [4, 8]."""
    random = np.random.default_rng(2)
    nodes, before = [], "x"
    for layer, activation in enumerate(("Tanh", "Sigmoid", "Softmax")):
        nodes += [
            helper.make_node("MatMul", [before, f"w{layer}"], [f"product{layer}"], f"product {layer}"),
            helper.make_node("Add", [f"product{layer}", f"b{layer}"], [f"sum{layer}"], f"bias {layer}"),
            helper.make_node(activation, [f"sum{layer}"], [f"act{layer}"], f"activation {layer}"),
        ]
        before = f"act{layer}"
    nodes[-1].output[0] = "y"
    weights = {f"w{layer}": random.standard_normal((8, 8)).astype(np.float32) for layer in range(3)}
    weights |= {f"b{layer}": random.standard_normal(8).astype(np.float32) for layer in range(3)}
    return model(nodes, [port("x", 4, 8)], [port("y", 4, 8)], weights)


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[[Change], None]:
    """Returns a function that changes the text of every kernel that is built, wherever that is."""

    def change_all(change: Change) -> None:
        def changed(request: KernelRequest) -> Rendered:
            kernel = render(request)
            return replace(kernel, text=change(kernel))

        monkeypatch.setattr(compilation, "render", changed)
        monkeypatch.setattr(per_node, "render", changed)

    return change_all


def verified(proto: onnx.ModelProto, folder: Path) -> VerifyResult:
    path, library = saved(proto, folder / "model.onnx"), folder / "libmodel.so"
    driver.compile(driver.CompileOptions(model=path, output=library, target="emulated", verify=False))
    return driver.verify(driver.VerifyOptions(model=path, library=library, per_node=True))


def test_nothing_is_wrong(tmp_path: Path) -> None:
    found = verified(layers(), tmp_path)
    assert found.fault is None
    assert [list(group.comparisons) for group in found.groups] == [["act0"], ["act1"], ["sum2"], ["y"]]
    assert found.groups[0].nodes == ("product 0", "bias 0", "activation 0")
    assert found.notes == ()


def test_a_wrong_node_is_named(tmp_path: Path, plant) -> None:
    plant(lambda kernel: kernel.text.replace("math::sigmoid(", "math::tanh("))
    found = verified(layers(), tmp_path)
    assert not found.comparisons["y"].is_match
    assert found.fault is not None
    assert (found.fault.cause, found.fault.group, found.fault.tensor) == ("node", 1, "act1")
    assert found.fault.nodes == ("activation 1",)
    assert "the first to differ is pointwise_" in found.fault.text
    assert found.fault.text.endswith("of node 'activation 1'.")
    verdict = json.loads(found.report.read_text())
    assert verdict["fault"]["nodes"] == ["activation 1"]
    assert [group["tensors"] and all(t["match"] for t in group["tensors"].values()) for group in verdict["groups"]][:2] == [True, False]


def test_a_wrong_fusion_is_told_from_a_wrong_node(tmp_path: Path, plant) -> None:
    plant(lambda kernel: kernel.text.replace("math::sigmoid(", "math::tanh(") if kernel.symbol.startswith("gemm") else kernel.text)
    fault = verified(layers(), tmp_path).fault
    assert fault is not None
    assert (fault.cause, fault.group, fault.nodes) == ("fusion", 1, ("product 1", "bias 1", "activation 1"))
    assert fault.kernel.startswith("gemm_")


def test_memory_that_is_reused_too_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that are right and a plan that is not: with memory of its own for each tensor nothing differs."""
    nodes = [
        helper.make_node("Tanh", ["x"], ["a"], "a"),
        helper.make_node("Softmax", ["a"], ["b"], "b"),
        helper.make_node("Softmax", ["b"], ["c"], "c", axis=0),
        helper.make_node("MatMul", ["c", "b"], ["y"], "y"),
    ]
    monkeypatch.setattr(placement, "place", lambda intervals, _: ((0,) * len(intervals), 4096))
    found = verified(model(nodes, [port("x", 8, 8)], [port("y", 8, 8)]), tmp_path)
    assert not found.comparisons["y"].is_match
    assert found.fault is not None
    assert found.fault.cause == "memory"


def test_a_tensor_that_onnx_lacks_leaves_the_choice(tmp_path: Path, plant) -> None:
    """A softmax over columns is several kernels once it is unfused; all of them come from one node, which is named."""
    plant(lambda kernel: kernel.text.replace("math::exp(", "math::cos("))
    fault = verified(layers(), tmp_path).fault
    assert fault is not None
    assert fault.nodes[-1] == "activation 2"


@pytest.mark.parametrize(("name", "dtype"), [("resnet", "fp16")])
def test_every_group_of_a_network_matches(name: str, dtype: str, tmp_path: Path) -> None:
    """Among them tensors that lie channels-last."""
    found = verified(small.build(name, small.EXPORTERS[0], dtype), tmp_path)
    assert found.fault is None
    assert all(group.comparisons for group in found.groups)


def with_golden(proto: onnx.ModelProto, folder: Path, monkeypatch: pytest.MonkeyPatch, error: float = 0.0) -> VerifyResult:
    """Verify against outputs in a file, without onnxruntime, each group against float64."""
    path, library, x, y = saved(proto, folder / "model.onnx"), folder / "libmodel.so", folder / "x.npz", folder / "y.npz"
    inputs = {"x": np.random.default_rng(5).standard_normal((4, 8)).astype(np.float32)}
    expected = simulate(load(path).graph, inputs)["y"] + error
    np.savez(x, **inputs)
    np.savez(y, y=expected.astype(np.float32))
    driver.compile(driver.CompileOptions(model=path, output=library, target="emulated", verify=False))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, "nautilus_cli.verify.oracle", raising=False)
    return driver.verify(driver.VerifyOptions(model=path, library=library, inputs=x, golden=y, per_node=True))


def test_without_onnxruntime_groups_are_held_against_float64(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = with_golden(layers(), tmp_path, monkeypatch)
    assert found.fault is None
    assert found.comparisons["y"].is_match
    assert found.groups_reference == "its operators evaluated in float64"
    assert [list(group.comparisons) for group in found.groups] == [["act0"], ["act1"], ["sum2"], ["y"]]


def test_a_wrong_node_is_named_without_onnxruntime(tmp_path: Path, plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(lambda kernel: kernel.text.replace("math::sigmoid(", "math::tanh("))
    fault = with_golden(layers(), tmp_path, monkeypatch).fault
    assert fault is not None
    assert (fault.cause, fault.group, fault.nodes) == ("node", 1, ("activation 1",))


def test_a_file_of_other_outputs_is_told_from_a_wrong_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = with_golden(layers(), tmp_path, monkeypatch, error=0.1)
    assert found.fault is None
    assert not found.comparisons["y"].is_match
    assert any("those in the file may be of another model or other inputs" in note for note in found.notes)


def test_from_the_command_line(tmp_path: Path, nautilus: Caller) -> None:
    path, library = saved(layers(), tmp_path / "model.onnx"), tmp_path / "libmodel.so"
    nautilus("compile", path, "-o", library, "--target", "emulated", "--no-verify").done()
    said = nautilus("verify", path, library, "--per-node").done().out
    assert "product 0, bias 0, activation 0" in said
    assert said.splitlines()[-1].startswith("every group matches onnxruntime")
    assert "--dataset" in nautilus("verify", path, library, "--per-node", "--dataset", tmp_path).refused(2)

"""Other outputs than a model declares: what depends on nothing else is left, and keeps its names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from nautilus_cli.errors import UsageError
from nautilus_cli.frontend.cut import cut_file
from nautilus_cli.frontend.load import LoadedModel, load
from nautilus_cli.verify.oracle import Oracle

from .models import graph, node, output, tensor_input

WEIGHT = np.arange(3, dtype=np.float32)


def saved(folder: Path, *, is_external: bool = False) -> Path:
    """a = x + w; b = relu(a); y = unknown(b, z), of an operator that nobody knows."""
    nodes = [
        node("Add", ["x", "w"], ["a"]),
        node("Relu", ["a"], ["b"]),
        helper.make_node("Mystery", ["b", "z"], ["y"], domain="elsewhere"),
    ]
    inputs = [tensor_input("x", 2, 3), tensor_input("z", "open")]
    model = helper.make_model(
        graph(nodes, inputs, [output("y")], {"w": WEIGHT}),
        opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("elsewhere", 1)],
        ir_version=9,
    )
    path = folder / "m.onnx"
    onnx.save_model(model, path, save_as_external_data=is_external, location="w.bin", size_threshold=0)
    return path


def names(loaded: LoadedModel) -> tuple[list[str], list[str], list[str]]:
    """Return inputs, operators and outputs."""
    found = loaded.graph
    return [n for n, _ in found.inputs], [n.op for n in found.nodes], [n for n, _ in found.outputs]


def test_what_lies_behind_the_cut_is_not_even_read(tmp_path: Path):
    path = saved(tmp_path)
    loaded = load(path, outputs=["b"])
    assert names(loaded) == (["x"], ["Add", "Relu"], ["b"])
    assert loaded.is_cut
    assert [n.origin for n in loaded.graph.nodes] == [("#0 Add",), ("#1 Relu",)]


def test_outputs_come_in_the_order_given(tmp_path: Path):
    assert names(load(saved(tmp_path), outputs=["b", "a"])) == (["x"], ["Add", "Relu"], ["b", "a"])
    assert names(load(saved(tmp_path), outputs=["a"])) == (["x"], ["Add"], ["a"])


def test_inputs_and_weights_are_tensors_too(tmp_path: Path):
    loaded = load(saved(tmp_path), outputs=["x", "w"])
    assert names(loaded) == (["x"], [], ["x", "w"])
    np.testing.assert_array_equal(loaded.graph.outputs[1][1].constant, WEIGHT)


def test_the_declared_outputs_are_no_cut(tmp_path: Path):
    model = helper.make_model(
        graph([node("Relu", ["x"], ["y"])], [tensor_input("x", 2), tensor_input("unread", 2)], [output("y")]),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=9,
    )
    onnx.save(model, tmp_path / "m.onnx")
    loaded = load(tmp_path / "m.onnx", outputs=["y"])
    assert names(loaded) == (["x", "unread"], ["Relu"], ["y"])
    assert not loaded.is_cut
    assert loaded.sha256 == load(tmp_path / "m.onnx").sha256


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        (["c"], "--outputs 'c': the model's main graph has no tensor of this name. Known: a, b, w, x, y, z"),
        (["b", "bb"], "--outputs 'bb': .*Known: b"),
        (["a", "a"], "--outputs 'a': is named twice"),
        ([""], "--outputs '': the model's main graph has no tensor"),
    ],
)
def test_what_is_no_tensor(outputs: list[str], said: str, tmp_path: Path):
    with pytest.raises(UsageError, match=said):
        load(saved(tmp_path), outputs=outputs)


@pytest.mark.parametrize("is_external", [False, True])
def test_the_reference_runs_it(is_external: bool, tmp_path: Path):
    path = saved(tmp_path, is_external=is_external)
    session = Oracle(cut_file(path, ["b", "a"]), tmp_path)
    x = np.array([[-1, -1, -5], [1, 2, 3]], np.float32)
    found = session.run({"x": x})
    assert list(found) == ["b", "a"]
    np.testing.assert_array_equal(found["a"], x + WEIGHT)
    np.testing.assert_array_equal(found["b"], np.maximum(x + WEIGHT, 0))


def test_a_subgraph_keeps_what_it_reads(tmp_path: Path):
    branch = helper.make_graph([node("Add", ["a", "one"], ["inner"])], "branch", [], [output("inner")])
    other = helper.make_graph([node("Identity", ["a"], ["same"])], "other", [], [output("same")])
    nodes = [
        node("Relu", ["x"], ["a"]),
        node("If", ["yes"], ["b"], then_branch=branch, else_branch=other),
        node("Neg", ["b"], ["y"]),
    ]
    constants = {"one": np.ones(1, np.float32), "yes": np.array(True)}
    model = helper.make_model(
        graph(nodes, [tensor_input("x", 2)], [output("y")], constants), opset_imports=[helper.make_opsetid("", 20)], ir_version=9
    )
    onnx.save(model, tmp_path / "m.onnx")
    assert names(load(tmp_path / "m.onnx", outputs=["b"])) == (["x"], ["Relu", "Add"], ["b"])
    assert list(Oracle(cut_file(tmp_path / "m.onnx", ["b"])).run({"x": np.ones(2, np.float32)})) == ["b"]

"""What keeps a model from being imported: all of it, with what would help; and nothing of a model that can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from nautilus_cli.errors import ModelError, UsageError
from nautilus_cli.frontend import examination
from nautilus_cli.frontend.examination import MOST_COPIED, Examination, examine

X = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8])
OUT = helper.make_empty_tensor_value_info("y")


def node(op: str, inputs: str, outputs: str, name: str = "", **attributes: Any) -> NodeProto:
    return helper.make_node(op, inputs.split(), outputs.split(), name or op, **attributes)


def model(
    *nodes: NodeProto,
    inputs: tuple[ValueInfoProto, ...] = (X,),
    known: tuple[ValueInfoProto, ...] = (),
    functions: tuple[FunctionProto, ...] = (),
    domains: tuple[str, ...] = ("com.acme",),
    **weights: np.ndarray,
) -> ModelProto:
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "g", inputs, [OUT], tensors, value_info=known)
    imports = [helper.make_opsetid("", 20), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9, functions=functions)


def found(proto: ModelProto, folder: Path, **options: Any) -> Examination:
    path = folder / "model.onnx"
    onnx.save(proto, path)
    return examine(path, **options)


def names(examination: Examination) -> list[str]:
    return [finding.node for finding in examination.findings]


def test_a_model_that_can_be_imported(tmp_path: Path) -> None:
    examination = found(model(node("Relu", "x", "a"), node("Neg", "a", "y")), tmp_path)
    assert examination.findings == ()
    assert examination.unexamined == 0
    assert examination.graph is not None
    assert [n.op for n in examination.graph.nodes] == ["Relu", "Neg"]
    assert [name for name, _ in examination.graph.outputs] == ["y"]
    assert (examination.opset, examination.nodes) == (20, 2)


def test_every_node_that_fails_is_found(tmp_path: Path) -> None:
    """Beside each other, and behind each other where the types in between are declared or follow from the operator."""
    proto = model(
        node("Gadget", "x", "a", "first", domain="com.acme"),  # what it computes is declared
        node("MatMul", "a w", "b", "second"),  # 8 does not fit 7, and so nothing is known of b
        node("Relu", "b", "c", "behind"),
        node("Gadget", "c", "d", "third", domain="com.acme"),
        node("Softmax", "x", "e", "fourth", axis=7),
        node("Neg", "x", "g", "good"),
        node("Sum", "d e g", "y", "last"),
        known=(helper.make_tensor_value_info("a", TensorProto.FLOAT, [2, 8]),),
        w=np.ones((7, 8), np.float32),
    )
    examination = found(proto, tmp_path)
    assert names(examination) == ["first", "second", "third", "fourth"]
    reasons = {finding.node: finding.reason for finding in examination.findings}
    assert "8 and 7 differ" in reasons["second"]
    assert reasons["first"] == reasons["third"] == "operator 'com.acme::Gadget' is not supported"
    assert "axis is 7" in reasons["fourth"]
    assert examination.unexamined == 3  # behind, third and last
    assert examination.graph is not None
    assert "Neg" in [n.op for n in examination.graph.nodes], "what only unknown nodes read is kept, to be examined further"


def test_types_that_onnx_infers_lead_on(tmp_path: Path) -> None:
    """An operator of ONNX without support: its result's type is known all the same."""
    proto = model(
        node("RandomNormalLike", "x", "a", "random"), node("MatMul", "a w", "y", "product"), w=np.ones((7, 8), np.float32)
    )  # fmt: skip
    examination = found(proto, tmp_path)
    assert names(examination) == ["random", "product"]
    assert examination.unexamined == 0
    assert "Draw the numbers outside" in examination.findings[0].hint


def test_open_dimensions_are_one_finding_and_operators_are_checked_by_name(tmp_path: Path) -> None:
    open_x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])
    proto = model(node("Relu", "x", "a"), node("Gadget", "a", "y", "gadget", domain="com.acme"), inputs=(open_x,))
    examination = found(proto, tmp_path)
    assert names(examination) == ["", "gadget"]
    assert "--shape x=1x8" in examination.findings[0].hint
    assert examination.graph is None
    assert names(found(proto, tmp_path, shapes={"x": (4, 8)})) == ["gadget"]


def test_contents_that_must_be_known_say_so(tmp_path: Path) -> None:
    shape = helper.make_tensor_value_info("shape", TensorProto.INT64, [2])
    proto = model(node("Reshape", "x shape", "y", "reshape"), inputs=(X, shape))
    examination = found(proto, tmp_path)
    if not examination.findings:
        pytest.skip("the contents of a shape need not be known any more")
    assert names(examination) == ["reshape"]
    assert "--bind" in examination.findings[0].hint
    assert found(proto, tmp_path, bindings={"shape": "4,4"}).findings == ()


def test_nodes_inside_functions_and_branches_are_named_by_their_path(tmp_path: Path) -> None:
    body = [node("Relu", "v", "r"), node("Gadget", "r", "g", "inner", domain="com.acme")]
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("com.acme", 1)]
    function = helper.make_function("com.acme", "Block", ["v"], ["g"], body, imports)
    branch = helper.make_graph([node("Gadget", "x", "t", "taken", domain="com.acme")], "t", [], [helper.make_empty_tensor_value_info("t")])
    other = helper.make_graph([node("Relu", "x", "e", "other")], "e", [], [helper.make_empty_tensor_value_info("e")])
    proto = model(
        node("Block", "x", "a", "call", domain="com.acme"),
        node("If", "yes", "b", "if", then_branch=branch, else_branch=other),
        node("Add", "a b", "y"),
        functions=(function,),
        yes=np.array(True),
    )
    assert names(found(proto, tmp_path)) == ["call/inner", "if/taken"]


def test_copies_that_a_loop_makes_are_named_once(tmp_path: Path) -> None:
    ports = [helper.make_tensor_value_info(n, t, []) for n, t in (("i", TensorProto.INT64), ("c", TensorProto.BOOL))]
    body = helper.make_graph(
        [
            node("Gadget", "x", "f", "inner", domain="com.acme"),
            node("Gizmo", "f", "g", "behind", domain="com.acme"),
            node("Identity", "c", "c2", "again"),
        ],
        "body",
        [*ports, helper.make_tensor_value_info("v", TensorProto.FLOAT, [2, 8])],
        [helper.make_tensor_value_info("c2", TensorProto.BOOL, []), helper.make_tensor_value_info("g", TensorProto.FLOAT, [2, 8])],
    )
    proto = model(node("Loop", "count yes x", "y", "loop", body=body), count=np.array(5), yes=np.array(True))
    examination = found(proto, tmp_path)
    assert [finding.op for finding in examination.findings] == ["com.acme::Gadget", "com.acme::Gizmo"]
    assert [finding.node.rpartition("/")[2] for finding in examination.findings] == ["inner", "behind"]
    assert all(finding.node.startswith("loop") for finding in examination.findings)
    assert examination.unexamined == 1


def test_functions_that_call_each_other_do_not_unfold(tmp_path: Path) -> None:
    """2^25 calls, and an input whose dimension is open, so that operators are checked by name alone."""
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("com.acme", 1)]
    functions = [helper.make_function("com.acme", "F0", ["v"], ["r"], [node("Gadget", "v", "r", domain="com.acme")], imports)]
    for level in range(1, 26):
        calls = [node(f"F{level - 1}", "v", "a", "left", domain="com.acme"), node(f"F{level - 1}", "a", "r", "right", domain="com.acme")]
        functions.append(helper.make_function("com.acme", f"F{level}", ["v"], ["r"], calls, imports))
    open_x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])
    proto = model(node("F25", "x", "y", "top", domain="com.acme"), inputs=(open_x,), functions=tuple(functions))
    assert [finding.op for finding in found(proto, tmp_path).findings] == ["", "com.acme::Gadget"]


def test_a_structure_that_is_wrong_is_one_finding(tmp_path: Path) -> None:
    examination = found(model(node("Relu", "nothing", "y", "reader")), tmp_path)
    (finding,) = examination.findings
    assert "reads 'nothing'" in finding.reason
    assert "'reader'" in finding.reason


def test_an_output_that_nothing_computes(tmp_path: Path) -> None:
    (finding,) = found(model(node("Relu", "x", "z")), tmp_path).findings
    assert finding.reason == "output 'y': nothing computes it"


def test_what_is_wrong_with_options_or_the_file_is_raised(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no input of this name"):
        found(model(node("Relu", "x", "y")), tmp_path, bindings={"z": "1"})
    (tmp_path / "text").write_text("no model\n" * 20)
    with pytest.raises(ModelError, match="text file"):
        examine(tmp_path / "text")


@pytest.mark.parametrize("trips", [10**12, 3])
def test_a_loop_that_fails_is_left_early(trips: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a node in it would give is asked of ONNX for each copy, which takes long: an endless loop must not do so 20000 times."""
    asked = []

    def inferred(*_: object) -> dict[str, object]:
        asked.append(1)
        return {}

    monkeypatch.setattr(examination, "inferred", inferred)
    flag, number = (helper.make_tensor_value_info(name, kind, []) for name, kind in (("c", TensorProto.BOOL), ("i", TensorProto.INT64)))
    state, result = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 8]) for name in ("a", "b"))
    body = helper.make_graph([node("Frobnicate", "a", "b", "bad")], "body", [number, flag, state], [flag, result])
    proto = model(helper.make_node("Loop", ["n", "", "x"], ["t"], "loop", body=body), node("Sqroot", "x", "y"), n=np.array(trips))
    assert names(found(proto, tmp_path)) == ["loop/bad", "Sqroot"]
    assert len(asked) <= 2 * MOST_COPIED

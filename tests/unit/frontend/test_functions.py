"""Model-local functions, and operators that ONNX defines by simpler ones."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, helper

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend import importer
from nautilus_cli.ops.evaluate import evaluate
from tests.unit.frontend.models import imported, model, node, ops, output, tensor_input, told

DOMAIN = "local"
X = tensor_input("x", 2)


def function(name: str, inputs: list[str], outputs: list[str], nodes: list[NodeProto], attributes: tuple[str, ...] = ()) -> FunctionProto:
    imports = [helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_function(DOMAIN, name, inputs, outputs, nodes, imports, attributes)


def call(name: str, inputs: list[str], outputs: list[str], label: str = "", **attributes: object) -> NodeProto:
    return helper.make_node(name, inputs, outputs, label, domain=DOMAIN, **attributes)


def with_functions(functions: list[FunctionProto], *nodes: NodeProto) -> ModelProto:
    return model(nodes, [X], [output("y")], functions=functions, domains={DOMAIN: 1})


def refused(proto: ModelProto) -> str:
    with pytest.raises(ModelError) as caught:
        imported(proto)
    return told(caught.value)


def referring(op: str, field: str, reference: str, kind: int) -> NodeProto:
    """A node of a function whose attribute is one of the function's."""
    result = node(op, ["a"], ["b"])
    result.attribute.append(AttributeProto(name=field, ref_attr_name=reference, type=kind))  # type: ignore[arg-type]
    return result


DOUBLE = function("Double", ["a"], ["b"], [node("Add", ["a", "a"], ["b"], "add")])


def test_call_becomes_the_body() -> None:
    loaded = imported(with_functions([DOUBLE], call("Double", ["x"], ["h"], "one"), call("Double", ["h"], ["y"], "two")))
    assert ops(loaded) == ["Add", "Add"]
    assert [n.origin for n in loaded.graph.nodes] == [("one/add",), ("two/add",)]
    assert [v.tensor for n in loaded.graph.nodes for v in n.results()] == ["h", "y"]
    assert evaluate(loaded.graph, {"x": np.ones(2, np.float32)})["y"].tolist() == [4, 4]


def test_inner_tensors_are_no_tensors_of_the_model() -> None:
    quadruple = function("Quad", ["a"], ["c"], [call("Double", ["a"], ["x"]), call("Double", ["x"], ["c"])])
    loaded = imported(with_functions([DOUBLE, quadruple], call("Quad", ["x"], ["y"], "q")))
    assert [v.tensor for n in loaded.graph.nodes for v in n.results()] == [None, "y"]


def test_attribute_of_the_call_reaches_the_body() -> None:
    leaky = function("Leaky", ["a"], ["b"], [referring("LeakyRelu", "alpha", "slope", AttributeProto.FLOAT)], ("slope",))
    loaded = imported(with_functions([leaky], call("Leaky", ["x"], ["y"], slope=0.5)))
    assert loaded.graph.nodes[0].attrs.alpha == 0.5  # type: ignore[attr-defined]
    loaded = imported(with_functions([leaky], call("Leaky", ["x"], ["y"])))
    assert loaded.graph.nodes[0].attrs.alpha == 0.01  # type: ignore[attr-defined]


def test_default_of_a_function_s_attribute() -> None:
    leaky = function("Leaky", ["a"], ["b"], [referring("LeakyRelu", "alpha", "slope", AttributeProto.FLOAT)])
    leaky.attribute_proto.append(helper.make_attribute("slope", 0.25))
    loaded = imported(with_functions([leaky], call("Leaky", ["x"], ["y"])))
    assert loaded.graph.nodes[0].attrs.alpha == 0.25  # type: ignore[attr-defined]


def test_operand_that_the_call_leaves_out() -> None:
    clip = function("Limit", ["a", "low", "high"], ["b"], [node("Clip", ["a", "low", "high"], ["b"])])
    loaded = imported(with_functions([clip], call("Limit", ["x"], ["y"])))
    assert [v is None for v in loaded.graph.nodes[0].inputs] == [False, True, True]


def test_function_takes_the_place_of_an_operator() -> None:
    own = helper.make_function("", "Relu", ["a"], ["b"], [node("Neg", ["a"], ["b"])], [helper.make_opsetid("", 20)])
    assert ops(imported(with_functions([own], node("Relu", ["x"], ["y"])))) == ["Neg"]


@pytest.mark.parametrize(
    ("functions", "nodes", "message"),
    [
        ([DOUBLE, DOUBLE], [call("Double", ["x"], ["y"])], "function 'Double': is defined twice"),
        ([DOUBLE], [call("Double", ["x", "x"], ["y"])], "has 2 operands and 1 results; the function takes 1 and gives 1"),
        ([DOUBLE], [call("Double", ["x"], ["y"], scale=1)], "attribute 'scale' is not one of the function's"),
        ([DOUBLE], [call("Triple", ["x"], ["y"])], "operator 'local::Triple' is not supported"),
        (
            [function("Self", ["a"], ["b"], [call("Self", ["a"], ["b"])])],
            [call("Self", ["x"], ["y"])],
            "functions and subgraphs are nested more than 32 deep",
        ),
        ([function("Lost", ["a"], ["b"], [])], [call("Lost", ["x"], ["y"])], "reads 'b', which nothing computes"),
        (
            [function("Up", ["a"], ["b"], [node("Neg", ["x"], ["b"])])],
            [call("Up", ["x"], ["y"])],
            "reads 'x', which no node produces",
        ),
    ],
)
def test_function_that_is_wrong(functions: list[FunctionProto], nodes: list[NodeProto], message: str) -> None:
    assert message in refused(with_functions(functions, *nodes))


def test_functions_that_multiply_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty functions that each call the one before twice are 2^30 nodes."""
    monkeypatch.setattr(importer, "MAX_NODES", 1000)
    functions = [function("F0", ["a"], ["b"], [node("Neg", ["a"], ["b"])])]
    for level in range(1, 30):
        before = f"F{level - 1}"
        functions.append(function(f"F{level}", ["a"], ["b"], [call(before, ["a"], ["m"]), call(before, ["m"], ["b"])]))
    assert "has more than 1000 nodes once its functions are inlined" in refused(with_functions(functions, call("F29", ["x"], ["y"])))


def test_operator_without_support_of_its_own_is_expanded_by_its_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {name: operator for name, operator in importer.operators().items() if name != "Celu"}
    monkeypatch.setattr(importer, "operators", lambda: known)
    x = np.array([-1, 2], np.float32)
    for attributes, alpha in (({}, 1.0), ({"alpha": 0.5}, 0.5)):
        loaded = imported(model([node("Celu", ["x"], ["y"], "celu", **attributes)], [X], [output("y")]))
        assert "Celu" not in ops(loaded)
        assert all(n.origin[0].startswith("celu/") for n in loaded.graph.nodes)
        wanted = np.maximum(0, x) + np.minimum(0, alpha * (np.exp(x / alpha) - 1))
        np.testing.assert_array_almost_equal_nulp(evaluate(loaded.graph, {"x": x})["y"], wanted.astype(np.float32), 4)


def test_the_definition_of_an_operator_of_another_domain_is_in_the_model_s_opset() -> None:
    names = ["q", "k", "v"]
    attention = helper.make_node("FlexAttention", names, ["y"], domain="ai.onnx.preview")
    proto = model([attention], [tensor_input(name, 1, 2, 3, 8) for name in names], [output("y")])
    proto.opset_import.append(helper.make_opsetid("ai.onnx.preview", 1))
    assert {"MatMul", "Softmax"} <= set(ops(imported(proto)))

"""Import of nodes: names, provenance, folding, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F32, TensorType
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.ops.verifier import verify_graph
from tests.unit.frontend.models import (
    BOOL,
    FLOAT,
    INT64,
    constant_output,
    graph,
    imported,
    model,
    node,
    ops,
    output,
    tensor_input,
    told,
    unary,
)

X = tensor_input("x", 2, 3)


def refused(proto: ModelProto, **given: object) -> str:
    with pytest.raises(ModelError) as caught:
        imported(proto, **given)  # type: ignore[arg-type]
    return told(caught.value)


def test_node_keeps_names_and_types() -> None:
    loaded = imported(model([node("Relu", ["x"], ["a"], "first"), node("Neg", ["a"], ["y"])], [X], [output("y")]))
    verify_graph(loaded.graph)
    first, second = loaded.graph.nodes
    assert (first.origin, second.origin) == (("first",), ("#1 Neg",))
    assert [v.tensor for n in loaded.graph.nodes for v in n.results()] == ["a", "y"]
    assert [(name, v.type) for name, v in loaded.graph.inputs] == [("x", TensorType(F32, (2, 3)))]
    assert loaded.graph.outputs[0][1] is second.outputs[0]


def test_left_out_operand_is_none() -> None:
    loaded = imported(model([node("Clip", ["x", "", "high"], ["y"])], [X], [output("y")], {"high": np.float32(1)}))
    assert [v is None for v in loaded.graph.nodes[0].inputs] == [False, True, False]


def test_initializer_is_a_named_constant_without_a_copy() -> None:
    loaded = imported(model([node("Add", ["x", "w"], ["y"])], [X], [output("y")], {"w": np.ones(3, np.float32)}))
    weight = loaded.graph.nodes[0].inputs[1]
    assert weight is not None
    assert weight.tensor == "w"
    assert weight.constant is not None
    assert weight.constant.base is not None


def test_dead_nodes_go() -> None:
    assert ops(imported(model([node("Relu", ["x"], ["y"]), node("Exp", ["x"], ["dead"])], [X], [output("y")]))) == ["Relu"]


def test_identity_leaves_the_names_of_what_it_forwards() -> None:
    nodes = [node("Identity", ["x"], ["a"]), node("Relu", ["a"], ["b"]), node("Identity", ["b"], ["y"])]
    loaded = imported(model(nodes, [X], [output("y"), output("a")]))
    assert ops(loaded) == ["Relu"]
    (_, y), (_, a) = loaded.graph.outputs
    assert y is loaded.graph.nodes[0].outputs[0]
    assert y.tensor == "b"
    assert a is loaded.graph.inputs[0][1]


def test_identity_of_several_operands_is_refused() -> None:
    assert "has 2 operands; the specification allows 1" in refused(model([node("Identity", ["x", "x"], ["y"])], [X], [output("y")]))


def test_output_may_be_an_input_or_a_constant() -> None:
    loaded = imported(model([], [X], [output("x"), output("w")], {"w": np.ones(3, np.float32)}))
    assert loaded.graph.nodes == ()
    assert constant_output(loaded, "w").tolist() == [1, 1, 1]


def test_shape_chain_of_the_torchscript_exporter_vanishes() -> None:
    """x.view(x.shape[0], -1, x.shape[2] // 2) as exported: Shape, Gather, Div, Unsqueeze, Concat, Reshape."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Constant", [], ["zero"], value_int=0),
        node("Constant", [], ["two"], value_int=2),
        node("Gather", ["s", "zero"], ["batch"]),
        node("Gather", ["s", "two"], ["width"]),
        node("Div", ["width", "two"], ["half"]),
        node("Constant", [], ["axes"], value_ints=[0]),
        node("Unsqueeze", ["batch", "axes"], ["batch1"]),
        node("Unsqueeze", ["half", "axes"], ["half1"]),
        node("Constant", [], ["rest"], value_ints=[-1]),
        node("Concat", ["batch1", "rest", "half1"], ["shape"], axis=0),
        node("Reshape", ["x", "shape"], ["y"]),
    ]
    loaded = imported(model(nodes, [tensor_input("x", "n", 4, 6)], [output("y")]), shapes={"x": (5, 4, 6)})
    assert ops(loaded) == ["Reshape"]
    assert dict(loaded.graph.outputs)["y"].type.shape == (5, 8, 3)


def test_mask_chain_of_both_exporters_vanishes() -> None:
    """A causal mask out of ConstantOfShape, Range, Equal, Where and Expand is one constant."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Range", ["zero", "n", "one"], ["r"]),
        node("Unsqueeze", ["r", "axis1"], ["rows"]),
        node("LessOrEqual", ["r", "rows"], ["seen"]),
        node("ConstantOfShape", ["size"], ["ones"], value=helper.make_tensor("v", INT64, [1], [1])),
        node("Equal", ["size", "ones"], ["wild"]),
        node("Where", ["wild", "ones", "size"], ["target"]),
        node("Expand", ["seen", "target"], ["mask"]),
        node("Where", ["mask", "low", "high"], ["bias"]),
        node("Add", ["x", "bias"], ["y"]),
        node("Identity", ["s"], ["unused"]),
    ]
    numbers = {"zero": 0, "one": 1, "n": 3, "axis1": [1], "size": [3, 3, 3]}
    initializers = {k: np.array(v, np.int64) for k, v in numbers.items()} | {"low": np.float32(0), "high": np.float32(-1e9)}
    nodes[4] = node("ConstantOfShape", ["three"], ["ones"], value=helper.make_tensor("v", INT64, [1], [1]))
    initializers["three"] = np.array([3])
    loaded = imported(model(nodes, [tensor_input("x", 3, 3, 3)], [output("y")], initializers))
    assert ops(loaded) == ["Add"]
    bias = loaded.graph.nodes[0].inputs[1]
    assert bias is not None
    assert bias.constant is not None
    np.testing.assert_array_equal(bias.constant[0] == 0, np.tril(np.ones((3, 3), bool)))


def test_enormous_constants_are_refused_before_they_exist() -> None:
    fill = node("ConstantOfShape", ["s"], ["y"])
    assert "takes 4000000000000 bytes" in refused(model([fill], [], [output("y")], {"s": np.array([10**12])}))
    assert "takes 40000000000000" in refused(
        model([node("Expand", ["v", "s"], ["y"])], [], [output("y")], {"s": np.array([10**13]), "v": np.ones(1, np.float32)})
    )
    proto = model([node("Relu", ["w"], ["y"])], [], [output("y")], {"w": np.ones(1, np.float32)})
    proto.graph.initializer[0].dims[0] = 10**12
    assert "initializer 'w': a tensor of type f32[1000000000000] takes" in refused(proto)


def test_names_from_outside_are_data() -> None:
    name = '"); system("x'
    nodes = [node("Relu", ["{{ c }}"], [name], name), node("Neg", [name], ["\x1b[2J\n"], "{% raw %}")]
    loaded = imported(model(nodes, [tensor_input("{{ c }}", 2)], [output("\x1b[2J\n")]))
    assert [n.origin for n in loaded.graph.nodes] == [(name,), ("{% raw %}",)]
    found = evaluate(loaded.graph, {"{{ c }}": np.array([-1, 2], np.float32)})
    assert found["\x1b[2J\n"].tolist() == [0, -2]


def test_control_characters_do_not_reach_the_terminal() -> None:
    message = refused(model([node("Nope\x1b[2J", ["x"], ["y"], "\x1b[31mred\n" + "x" * 500)], [X], [output("y")]))
    assert "\x1b" not in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("proto", "message"),
    [
        (unary("Gathr"), "node 'only' (Gathr): 'Gathr' is not an operator of ONNX | Known: Gather"),
        (unary("SequenceLength"), "node 'only' (SequenceLength): operand 0 is a tensor; the specification requires a sequence"),
        (unary("StringNormalizer"), "(StringNormalizer): operand 0 is a tensor; the specification requires a tensor of strings"),
        (unary("Optional"), "output 'y': is an optional value; only dense tensors can leave a library"),
        (model([helper.make_node("Gelu", ["x"], ["y"], domain="com.nobody")], [X], [output("y")]), "belongs to the domain 'com.nobody'"),
        (
            model([helper.make_node("Odd", ["x"], ["y"], domain="com.nobody")], [X], [output("y")], domains={"com.nobody": 1}),
            "operator 'com.nobody::Odd' is not supported",
        ),
        (
            model([helper.make_node("Copy", ["x"], ["y"], domain="nautilus")], [X], [output("y")], domains={"nautilus": 1}),
            "operator 'nautilus::Copy' is not supported",
        ),
        (model([node("Gelu", ["x"], ["y"])], [X], [output("y")], opset=17), "does not exist in opset 17, which the model declares"),
        (model([node("Relu", ["x"], ["y"])], [X], [output("z")]), "output 'z': nothing computes it"),
        (model([node("Relu", ["x"], ["y"])], [X], [output("y"), output("y")]), "output 'y': is declared twice"),
        (model([node("Relu", ["x"], ["y"])], [X], []), "graph: has no outputs"),
        (
            model([node("Relu", ["x"], ["y"])], [X], [output("y", INT64)]),
            "'y': is declared as i64, but the graph computes f32[2, 3]",
        ),
        (model([node("Add", ["x", "i"], ["y"])], [X, tensor_input("i", 2, 3, dtype=INT64)], [output("y")]), "operand 'B' has type i64"),
        (model([node("Relu", ["x", "x"], ["y"])], [X], [output("y")]), "has 2 operands; the specification allows 1"),
        (model([node("Add", ["x"], ["y"])], [X], [output("y")]), "node '#0 Add' (Add): has 1 operands"),
        (unary("Relu", alpha=1.0), "node 'only' (Relu): attribute 'alpha' is not supported"),
        (model([node("Constant", [], ["y"])], [], [output("y")]), "(Constant)"),
        (model([node("Constant", [], ["y"], value_string="a")], [], [output("y", TensorProto.STRING)]), "attribute 'value_string'"),
    ],
)
def test_refusal_says_which_node_and_why(proto: ModelProto, message: str) -> None:
    assert message in refused(proto)


def test_duplicate_initializers() -> None:
    proto = model([node("Add", ["x", "w"], ["y"])], [X], [output("y")], {"w": np.ones(3, np.float32)})
    proto.graph.initializer.add().CopyFrom(proto.graph.initializer[0])
    assert refused(proto) == "'w': two initializers have this name"


def test_sparse_initializer() -> None:
    proto = unary("Relu")
    proto.graph.sparse_initializer.add()
    assert "has sparse initializers" in refused(proto)


def test_binding_takes_the_place_of_an_input() -> None:
    nodes = [node("Equal", ["sr", "rate"], ["c"]), node("Cast", ["c"], ["f"], to=FLOAT), node("Add", ["x", "f"], ["y"])]
    proto = model(nodes, [X, tensor_input("sr", dtype=INT64)], [output("y")], {"rate": np.array(16000)})
    loaded = imported(proto, bindings={"sr": "16000"})
    assert ops(loaded) == ["Add"]
    assert [name for name, _ in loaded.graph.inputs] == ["x"]
    assert loaded.constants["sr"] == 16000


def branches(condition: str) -> ModelProto:
    """y = x + outer where the condition holds, else -x; the outer tensor is computed before the If."""
    then = graph([node("Add", ["x", "outer"], ["t"], "add")], [], [output("t")])
    otherwise = graph([node("Neg", ["x"], ["e"], "neg")], [], [output("e")])
    nodes = [node("Abs", ["x"], ["outer"], "abs"), node("If", [condition], ["y"], "if", then_branch=then, else_branch=otherwise)]
    return model(nodes, [X, tensor_input("c", dtype=BOOL)], [output("y")], {"yes": True, "no": False})


def test_if_with_a_constant_condition_becomes_its_branch() -> None:
    loaded = imported(branches("yes"))
    assert ops(loaded) == ["Abs", "Add"]
    last = loaded.graph.nodes[1]
    assert last.origin == ("if/add",)
    assert last.outputs[0] is not None
    assert last.outputs[0].tensor == "y"
    assert ops(imported(branches("no"))) == ["Neg"]


def test_if_on_a_bound_input() -> None:
    assert ops(imported(branches("c"), bindings={"c": "true"})) == ["Abs", "Add"]


def test_if_at_run_time_computes_both_branches() -> None:
    assert ops(imported(branches("c"))) == ["Abs", "Add", "Neg", "Where"]


def test_if_that_is_malformed() -> None:
    proto = branches("yes")
    del proto.graph.node[1].attribute[:]
    assert "attribute 'then_branch' is missing" in refused(proto)
    proto = branches("yes")
    del proto.graph.node[1].input[:]
    assert "has 0 operands; the specification allows 1" in refused(proto)
    proto = branches("x")
    assert "operand 'cond' has the type f32[2, 3]; the specification requires one bool" in refused(proto)
    proto = branches("yes")
    next(a for a in proto.graph.node[1].attribute if a.name == "then_branch").g.output.add(name="x")
    assert imported(proto).graph.outputs  # a result that the node leaves out
    next(a for a in proto.graph.node[1].attribute if a.name == "then_branch").g.output.pop()
    next(a for a in proto.graph.node[1].attribute if a.name == "then_branch").g.output.pop()
    assert "then_branch has 0 inputs and 0 outputs; the node needs 0 and 1" in refused(proto)


def test_branch_may_forward_an_outer_tensor_or_an_initializer_of_its_own() -> None:
    then = graph([], [], [output("x"), output("own")], {"own": np.ones(2, np.float32)})
    nodes = [node("If", ["yes"], ["y", "z"], then_branch=then, else_branch=then)]
    loaded = imported(model(nodes, [X], [output("y"), output("z")], {"yes": True}))
    assert dict(loaded.graph.outputs)["y"] is loaded.graph.inputs[0][1]
    assert constant_output(loaded, "z").tolist() == [1, 1]


def test_branch_in_a_branch() -> None:
    inner = graph([node("Neg", ["x"], ["i"])], [], [output("i")])
    outer = graph([node("If", ["yes"], ["o"], then_branch=inner, else_branch=inner)], [], [output("o")])
    loaded = imported(model([node("If", ["yes"], ["y"], "if", then_branch=outer, else_branch=outer)], [X], [output("y")], {"yes": True}))
    assert loaded.graph.nodes[0].origin == ("if/#0 If/#0 Neg",)
    assert loaded.graph.nodes[0].outputs[0].tensor == "y"  # type: ignore[union-attr]

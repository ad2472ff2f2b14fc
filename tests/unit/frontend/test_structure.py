"""Names, single assignment and order of a model's nodes."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import ModelProto, NodeProto

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.structure import ordered
from tests.unit.frontend.models import graph, imported, model, node, ops, output, tensor_input, told, unary


def refused(proto: ModelProto) -> str:
    with pytest.raises(ModelError) as caught:
        imported(proto)
    return told(caught.value)


def chain(*nodes: NodeProto) -> ModelProto:
    return model(nodes, [tensor_input("x", 2)], [output("y")])


def test_nodes_in_any_order_are_sorted() -> None:
    assert ops(imported(chain(node("Neg", ["b"], ["y"]), node("Exp", ["a"], ["b"]), node("Abs", ["x"], ["a"])))) == ["Abs", "Exp", "Neg"]


@given(st.integers(0, 10_000))
def test_any_order_of_any_graph_is_sorted(seed: int) -> None:
    random = Random(seed)
    names = ["x"]
    nodes = []
    for number in range(random.randint(1, 20)):
        nodes.append(node("Sum", random.choices(names, k=random.randint(1, 3)), [f"v{number}"]))
        names.append(f"v{number}")
    random.shuffle(nodes)
    defined = {"x"}
    for number, item in ordered(nodes, {"x"}):
        assert nodes[number] is item
        assert set(item.input) <= defined
        defined.update(item.output)
    assert len(defined) == len(names)


def test_sorted_nodes_keep_their_order() -> None:
    nodes = [node("Neg", ["x"], [str(i)]) for i in range(5)]
    assert [number for number, _ in ordered(nodes, {"x"})] == [0, 1, 2, 3, 4]


def test_cycle_is_shown() -> None:
    proto = chain(node("Neg", ["x"], ["free"], "free"), node("Add", ["x", "b"], ["a"], "first"), node("Exp", ["a"], ["b"], "second"))
    proto.graph.node.append(node("Abs", ["b"], ["y"], "after"))
    assert refused(proto) == "the nodes form a cycle: 'first' -> 'second' -> 'first' | A graph of ONNX has none."


def test_node_that_reads_itself() -> None:
    assert "the nodes form a cycle: '#0 Add' -> '#0 Add'" in refused(chain(node("Add", ["x", "y"], ["y"])))


def test_long_cycle_is_cut() -> None:
    nodes = [node("Neg", [f"v{(i - 1) % 9}"], [f"v{i}"], f"n{i}") for i in range(9)]
    assert refused(model(nodes, [], [output("v0")])).count("->") == 6


def test_tensor_with_two_producers() -> None:
    assert refused(chain(node("Neg", ["x"], ["y"], "one"), node("Abs", ["x"], ["y"], "two"))) == (
        "node 'two': produces 'y', which node 'one' defines too | Every tensor has one producer."
    )


def test_result_with_the_name_of_an_input() -> None:
    assert "produces 'x', which an input or initializer defines too" in refused(chain(node("Neg", ["x"], ["x"])))


def test_tensor_without_a_producer() -> None:
    assert refused(chain(node("Neg", ["z"], ["y"]))) == (
        "node '#0 Neg' (Neg): reads 'z', which no node produces and which is no input or initializer"
    )


def test_subgraph_s_reads_count_for_the_order() -> None:
    branch = graph([node("Neg", ["late"], ["r"])], [], [output("r")])
    nodes = [node("If", ["c"], ["y"], then_branch=branch, else_branch=branch), node("Abs", ["x"], ["late"])]
    proto = model(nodes, [tensor_input("x", 2)], [output("y")], {"c": True})
    assert ops(imported(proto)) == ["Abs", "Neg"]


@pytest.mark.parametrize("field", ["name", "op_type", "domain", "input", "output"])
def test_name_that_is_no_text(field: str) -> None:
    data = unary("Relu")
    (item,) = data.graph.node
    marker = "~marker~"
    if field in ("input", "output"):
        getattr(item, field)[0] = marker
    else:
        setattr(item, field, marker)
    broken = ModelProto.FromString(data.SerializeToString().replace(marker.encode(), b"\xff" * len(marker)))
    assert "is not UTF-8" in refused(broken)


@pytest.mark.parametrize("role", ["input", "output"])
def test_name_that_c_would_cut(role: str) -> None:
    proto = model([node("Relu", ["x"], ["y"])], [tensor_input("x", 3)], [output("y")])
    names = proto.graph.node[0].input if role == "input" else proto.graph.node[0].output
    names[0] = getattr(proto.graph, role)[0].name = "a\0b"
    assert f"{role} 'a\\x00b': its name holds a NUL character" in refused(proto)


def test_an_operator_whose_name_is_no_text_is_shown_on_one_line() -> None:
    said = refused(chain(node("Neg\n\x12", ["z"], ["y"], "the_node")))
    assert said.startswith(r"node 'the_node' (Neg\n\x12): reads 'z'")
    assert "\n" not in said

"""Evaluation of whole graphs, and the verifier that runs after every pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nautilus_cli.errors import InternalError, ModelError
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.ops.spec import NoAttrs
from nautilus_cli.ops.verifier import verify_graph

ONES = np.ones((2, 3), np.float32)


def sample() -> Graph:
    """y = (x + 1) * (x + 1), and what is between."""
    b = GraphBuilder()
    x = b.input("x", TensorType(F32, (2, 3)))
    one = b.constant(np.array(1, np.float32))
    total = b.node("Add", [x, one])
    return b.graph([("y", b.node("Mul", [total, total])), ("x again", x), ("one", one)])


def test_outputs_may_be_results_inputs_and_constants() -> None:
    found = evaluate(sample(), {"x": ONES})
    np.testing.assert_array_equal(found["y"], np.full((2, 3), 4, np.float32))
    np.testing.assert_array_equal(found["x again"], ONES)
    assert found["one"] == 1


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "input 'x' is missing.*Given: none"),
        ({"z": ONES}, "input 'x' is missing.*Given: 'z'"),
        ({"x": ONES.astype(np.float64)}, r"input 'x' is float64\[2, 3\]; the graph takes f32\[2, 3\]"),
        ({"x": ONES[:1]}, r"input 'x' is float32\[1, 3\]; the graph takes f32\[2, 3\]"),
    ],
)
def test_inputs_that_do_not_fit(inputs: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        evaluate(sample(), inputs)


def test_verifier_accepts_what_the_builder_makes() -> None:
    verify_graph(sample())


def with_node(**changes: object) -> Graph:
    graph = sample()
    return replace(graph, nodes=(replace(graph.nodes[0], **changes), *graph.nodes[1:]))  # type: ignore[arg-type]


def test_verifier_refuses_an_unknown_operator() -> None:
    with pytest.raises(InternalError, match="operator 'Plus' is not in the registry"):
        verify_graph(with_node(op="Plus"))


def test_verifier_refuses_other_attributes() -> None:
    with pytest.raises(InternalError, match="has attributes NoAttrs, not TransposeAttrs"):
        verify_graph(with_node(op="Transpose", attrs=NoAttrs()))


def test_verifier_refuses_a_wrong_type() -> None:
    graph = sample()
    wrong = Value(TensorType(F32, (3, 2)))
    first = replace(graph.nodes[0], outputs=(wrong,))
    second = replace(graph.nodes[1], inputs=(wrong, wrong))
    with pytest.raises(InternalError, match=r"result 0 has the type f32\[3, 2\], its shape rule gives f32\[2, 3\]"):
        verify_graph(replace(graph, nodes=(first, second)))


def test_verifier_refuses_operands_that_do_not_fit() -> None:
    b = GraphBuilder()
    i = b.input("i", TensorType(I64, (2, 3)))
    graph = sample()
    x = graph.inputs[0][1]
    node = replace(graph.nodes[0], inputs=(x, i))
    with pytest.raises(InternalError, match="its shape rule refuses it: operand 'B' has type i64"):
        verify_graph(replace(graph, inputs=(*graph.inputs, ("i", i)), nodes=(node, *graph.nodes[1:])))


def test_evaluation_checks_results_against_their_types() -> None:
    graph = sample()
    wrong = Value(TensorType(F32, (3, 2)))
    node = replace(graph.nodes[0], outputs=(wrong,))
    with pytest.raises(InternalError, match=r"evaluates to float32\[2, 3\], its type is f32\[3, 2\]"):
        evaluate(Graph(graph.inputs, (("y", wrong),), (node,)), {"x": ONES})

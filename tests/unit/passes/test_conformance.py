"""What every pass must keep, on the same graphs: results, a well-formed graph, and nothing more to do the second time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.text import print_graph
from nautilus_cli.ir.types import I64, TensorType, dtype_of
from nautilus_cli.ops.spec import NoAttrs
from nautilus_cli.ops.verifier import verify_graph
from nautilus_cli.passes import pipeline
from nautilus_cli.passes.legalization.layout import layout
from nautilus_cli.passes.legalization.materialize import materialize
from nautilus_cli.passes.legalization.separate_outputs import separate_outputs
from nautilus_cli.passes.legalization.supported import require_supported, unsupported
from nautilus_cli.passes.rewriting.decompose import decompose
from nautilus_cli.passes.rewriting.remove_identity import remove_identity
from tests.unit.passes.sketches import Sketch, ops

Same = Callable[[Graph, Graph], None]


def convolutional() -> Graph:
    s = Sketch()
    y = s.node("Conv", (s.x(2, 3, 8, 8), s.c(4, 3, 3, 3), s.c(4)), kernel_shape=(3, 3), auto_pad="SAME_UPPER", strides=(2, 2))
    y = s.node("BatchNormalization", (y, s.c(4), s.c(4), s.c(4), s.constant(np.full(4, 0.5, np.float32))))
    y = s.node("MaxPool", (s.node("Relu", (y,)),), kernel_shape=(2, 2))
    return s.graph([("y", s.node("Flatten", (s.node("GlobalAveragePool", (y,)),)))])


def attention() -> Graph:
    s = Sketch()
    x = s.x(2, 4, 6)
    h = s.node("LayerNormalization", (x, s.c(6), s.c(6)))
    scores = s.node("MatMul", (h, s.node("Transpose", (h,), perm=(0, 2, 1))))
    return s.graph([("y", s.node("MatMul", (s.node("Softmax", (scores,), axis=-1), s.node("Identity", (h,)))))])


def moved() -> Graph:
    s = Sketch()
    x = s.x(4, 6)
    index = s.constant(np.array([2, 0], np.int64))
    taken = s.node("Gather", (s.node("Transpose", (x,), perm=(1, 0)), index), axis=0)
    same = s.node("Reshape", (x, s.ints(4, 6)))
    return s.graph([("taken", taken), ("x", x), ("same", same), ("again", taken)])


GRAPHS = {"convolutional": convolutional, "attention": attention, "moved": moved}


@pytest.mark.parametrize("name", GRAPHS)
def test_every_pass_keeps_the_contract(name: str, same_results: Same) -> None:
    graph = before = GRAPHS[name]()
    for run, reason in pipeline.PASSES:
        assert reason
        after = run(graph)
        verify_graph(after)
        same_results(before, after)
        assert print_graph(run(after)) == print_graph(after), f"{run.__name__} has more to do the second time"
        assert [n for n, _ in after.outputs] == [n for n, _ in before.outputs]
        graph = after


def test_decompose_leaves_few_operators() -> None:
    found = set(ops(decompose(attention())))
    statistics = {"ReduceMean", "ReduceMax", "ReduceSum", "Sub", "Mul", "Add", "Div", "Exp", "Sqrt", "Reciprocal"}
    assert found == {"MatMul", "Transpose", "Identity"} | statistics


def test_decompose_keeps_provenance() -> None:
    s = Sketch()
    (y,) = s.apply("Softmax", (s.x(2, 3),), outputs=("probabilities",), axis=-1)
    assert y is not None
    graph = decompose(s.graph([("y", y)]))
    assert graph.outputs[0][1].tensor == "probabilities"
    assert all(node.origin == ("n",) for node in graph.nodes)


def test_identities_go_and_results_stay() -> None:
    s = Sketch()
    y = s.node("Relu", (s.node("Identity", (s.node("Reshape", (s.x(2, 3), s.ints(2, 3))),)),))
    assert list(ops(remove_identity(s.graph([("y", y)])))) == ["Relu"]


def test_a_reshape_that_changes_the_shape_stays() -> None:
    s = Sketch()
    graph = s.graph([("y", s.node("Reshape", (s.x(2, 3), s.ints(3, 2))))])
    assert list(ops(remove_identity(graph))) == ["Reshape"]


@pytest.mark.parametrize(
    ("op", "constant", "is_left"),
    [
        ("Mul", np.ones((), np.float32), True),
        ("Mul", np.ones((4, 1), np.float32), False),
        ("Div", np.ones((1, 6), np.float32), False),
        ("Pow", np.ones(1, np.float32), False),
        ("Sub", np.zeros(6, np.float32), False),
        ("Sub", np.zeros(6, np.uint8), False),
        ("Mul", np.ones(6, np.int64), False),
    ],
)
def test_numbers_that_change_nothing_go(op: str, constant: np.ndarray, is_left: bool) -> None:
    s = Sketch()
    x, c = s.input("x", TensorType(dtype_of(constant), (4, 6))), s.constant(constant)
    y = s.node("Abs", (s.node(op, (c, x) if is_left else (x, c)),))
    assert list(ops(remove_identity(s.graph([("y", y)])))) == ["Abs"]


@pytest.mark.parametrize(
    ("op", "constant", "is_left"),
    [
        ("Mul", np.array([1, 1, 1, 1, 1, 2], np.float32), False),
        ("Mul", np.ones((3, 4, 6), np.float32), False),  # a broadcast of the other operand
        ("Div", np.ones(1, np.float32), True),
        ("Add", np.zeros(1, np.float32), False),  # -0 becomes +0
        ("Sub", np.array([-0.0], np.float32), False),
        ("Sub", np.zeros(1, np.float32), True),
    ],
)
def test_numbers_that_change_something_stay(op: str, constant: np.ndarray, is_left: bool) -> None:
    s = Sketch()
    x, c = s.x(4, 6), s.constant(constant)
    y = s.node("Relu", (s.node(op, (c, x) if is_left else (x, c)),))
    assert list(ops(remove_identity(s.graph([("y", y)])))) == [op, "Relu"]


def test_outputs_get_values_of_their_own() -> None:
    graph = separate_outputs(remove_identity(moved()))
    values = [v for _, v in graph.outputs]
    assert len(set(values)) == len(values)
    assert not set(values) & {v for _, v in graph.inputs}


def test_a_gather_finds_its_data_in_memory() -> None:
    s = Sketch()
    turned = s.node("Transpose", (s.x(4, 6),), perm=(1, 0))
    indices = s.input("i", TensorType(I64, (2,)))
    graph = materialize(s.graph([("y", s.node("Gather", (turned, indices), axis=0))]))
    assert list(ops(graph)) == ["Transpose", "nautilus::Copy", "Gather"]


def test_channels_go_last_around_convolution_only() -> None:
    s = Sketch()
    y = s.node("Conv", (s.x(1, 3, 6, 6), s.c(4, 3, 3, 3)), kernel_shape=(3, 3), pads=(0, 0, 0, 0), strides=(1, 1), dilations=(1, 1))
    z = s.node("Relu", (y,))
    graph = layout(s.graph([("out", s.node("Exp", (z,))), ("kept", s.node("MatMul", (z, s.c(4, 2))))]))
    orders: dict[str, Value] = {node.op: next(node.results()) for node in graph.nodes}
    assert orders["Conv"].order == orders["Relu"].order == (0, 2, 3, 1)
    assert orders["Exp"].order is None, "an output of the model is stored in ONNX order"
    assert orders["MatMul"].order is None


def test_what_only_the_compiler_can_evaluate_is_refused_by_name() -> None:
    s = Sketch()
    size = Node("Size", (s.x(3),), (Value(TensorType(I64, ())),), NoAttrs(), ("measured",))
    graph = Graph((), (("y", next(size.results())),), (size,))
    assert [(u.node, u.op) for u in unsupported(graph)] == [("measured", "Size")]
    with pytest.raises(ModelError, match=r"'measured' \(Size\)"):
        require_supported(graph)

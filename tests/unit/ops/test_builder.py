"""The graph builder: types, names, folding, and where its errors point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nautilus_cli.errors import InternalError, ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BOOL, F32, I64, TensorType
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.checks import MOST_INTEGERS
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from nautilus_cli.ops.tensor_limits import MAX_RANK, MAX_TENSOR_BYTES
from nautilus_cli.ops.verifier import verify_graph


def builder(**options: object) -> GraphBuilder:
    return GraphBuilder(origin=("here",), **options)  # type: ignore[arg-type]


def x_of(b: GraphBuilder, *shape: int) -> Value:
    return b.input("x", TensorType(F32, shape))


def test_node_is_typed_named_and_placed() -> None:
    b = builder()
    x = x_of(b, 2, 1)
    (y,) = b.apply("Add", [x, b.constant(np.ones(3, np.float32))], outputs=["sum"])
    assert y is not None
    assert (y.type, y.tensor, y.constant) == (TensorType(F32, (2, 3)), "sum", None)
    graph = b.graph([("y", y)])
    assert graph.nodes[0].origin == ("here",)
    verify_graph(graph)


def test_overrides_set_attributes() -> None:
    b = builder()
    y = b.node("Transpose", [x_of(b, 2, 3)], perm=(1, 0))
    assert y.type.shape == (3, 2)


def test_override_that_the_operator_lacks_is_internal() -> None:
    b = builder()
    with pytest.raises(InternalError, match="'perms'"):
        b.node("Transpose", [x_of(b, 2, 3)], perms=(1, 0))


def test_unwanted_result_is_left_out() -> None:
    b = builder()
    first, second = b.apply("Dropout", [x_of(b, 2)], outputs=["y", False])
    assert first is not None
    assert second is None


def test_unknown_operator_lists_the_nearest() -> None:
    with pytest.raises(ModelError, match=r"node 'here' \(Gather2\): operator 'Gather2' is not supported"):
        builder().node("Gather2", [])


def test_shape_rule_s_error_names_the_node() -> None:
    b = builder()
    with pytest.raises(ModelError, match=r"node 'here' \(Add\): shapes \[2\], \[3\] do not broadcast"):
        b.node("Add", [x_of(b, 2), b.constant(np.ones(3, np.float32))])


def test_endless_message_is_cut() -> None:
    b = builder()
    with pytest.raises(ModelError) as caught:
        b.node("Reshape", [x_of(b, 2), b.constant(np.full(1000, 7, np.int64))])
    assert len(str(caught.value)) < 700


def test_stumbling_shape_rule_is_the_model_s_fault() -> None:
    def stumble(_: Inference) -> tuple[TensorType, ...]:
        return ({}["k"],)

    known = {"Add": replace(operators()["Add"], infer=stumble)}
    with pytest.raises(ModelError, match=r"node 'here' \(Add\): operands or attributes do not fit the operator \(KeyError: 'k'\)"):
        builder(known=known).node("Add", [])


def test_too_many_results_are_refused() -> None:
    b = builder()
    with pytest.raises(ModelError, match="has 2 results; the specification allows 1"):
        b.apply("Add", [x_of(b, 2), x_of(b, 2)], outputs=["a", "b"])


def test_enormous_result_is_refused() -> None:
    b = builder()
    big = b.constant(np.array([10**6, 10**6], np.int64))
    with pytest.raises(ModelError, match=rf"f32\[1000000, 1000000\] takes 4000000000000 bytes.*The limit is {MAX_TENSOR_BYTES}"):
        b.node("Expand", [x_of(b, 1, 1), big])


def test_enormous_input_is_refused() -> None:
    with pytest.raises(ModelError, match="input 'x': a tensor of type"):
        x_of(builder(), 10**6, 10**6)


def test_result_of_too_many_dimensions_is_refused() -> None:
    b = builder()
    with pytest.raises(ModelError, match=rf"a tensor has {MAX_RANK + 1} dimensions.*The limit is {MAX_RANK}"):
        b.node("Reshape", [x_of(b, 1), b.constant(np.ones(MAX_RANK + 1, np.int64))])


def test_constants_fold_and_keep_the_tensor_s_name() -> None:
    b = builder()
    (y,) = b.apply("Add", [b.constant(np.array([1, 2])), b.constant(np.array(3))], outputs=["sum"])
    assert y is not None
    assert y.constant is not None
    np.testing.assert_array_equal(y.constant, [4, 5])
    assert y.tensor == "sum"
    assert not y.constant.flags.writeable
    assert b.nodes == []


def test_shape_of_a_run_time_value_is_a_constant() -> None:
    b = builder()
    y = b.node("Shape", [x_of(b, 2, 3)])
    assert y.type == TensorType(I64, (2,))
    assert y.constant is not None
    assert y.constant.tolist() == [2, 3]


def test_shape_of_an_enormous_value_costs_nothing() -> None:
    b = builder()
    y = b.node("Shape", [b.input("x", TensorType(BOOL, (1 << 18, 1 << 19)))])
    assert y.constant is not None
    assert y.constant.tolist() == [1 << 18, 1 << 19]


def test_folding_stops_when_its_memory_is_used_up() -> None:
    b = builder(fold_bytes=64)
    ones = b.constant(np.ones(8, np.float32))
    results = [b.node("Add", [ones, ones]) for _ in range(3)]
    assert [r.constant is not None for r in results] == [True, True, False]
    assert len(b.nodes) == 1


def test_views_cost_no_memory() -> None:
    b = builder(fold_bytes=64)
    ones = b.constant(np.ones(8, np.float32))
    results = [b.node("Reshape", [ones, b.constant(np.array([4, 2]))]) for _ in range(5)]
    assert all(r.constant is not None for r in results)


@pytest.mark.parametrize("op", ["Expand", "Reshape", "Tile"])
def test_a_shape_of_millions_is_refused_before_anything_walks_over_it(op: str) -> None:
    builder = GraphBuilder(origin=("wide",))
    shape = builder.constant(np.ones(MOST_INTEGERS + 1, np.int64))
    with pytest.raises(ModelError, match=rf"node 'wide' \({op}\).*{MOST_INTEGERS + 1} numbers .*The limit is {MOST_INTEGERS}"):
        builder.node(op, [builder.input("x", TensorType(F32, (1,))), shape])

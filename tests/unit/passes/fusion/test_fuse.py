"""Fusion: which nodes become one kernel."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.graph import FusedGraph, Graph, Value
from nautilus_cli.ir.rewrite import prune
from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.movement import is_transparent
from nautilus_cli.ops.numbers import number
from nautilus_cli.ops.places import places
from nautilus_cli.passes import pipeline
from nautilus_cli.passes.fusion.copy_clusters import MOST_COPIED
from nautilus_cli.passes.fusion.fuse import fuse
from tests.support.random_graphs.checking import assert_plan_computes
from tests.unit.passes.sketches import Sketch


def kinds(fused: FusedGraph) -> list[str]:
    """Return the kernel families in order."""
    return [group.kind for group in fused.groups]


def check(fused: FusedGraph) -> None:
    """Assert what lowering relies on: every value is stored before it is loaded, by one group, and every node has its place."""
    graph = fused.graph
    stored: set[Value] = {v for _, v in graph.inputs}
    placed = set()
    for group in fused.groups:
        members = group.members()
        made = {v for node in group.nodes for v in node.results()}
        for node in group.nodes:
            if not is_transparent(node):
                assert node not in placed, f"{node.op} is in two groups"
                placed.add(node)
            for value in node.operands():
                assert value.constant is not None or value in made or value in stored, f"{node.op} reads what is not there"
        for value in group.outputs:
            assert value not in stored, "a value is stored twice"
            assert value in made
            stored.add(value)
        assert group.anchor is None or group.anchor in members
    assert all(v in stored or v.constant is not None for _, v in graph.outputs)
    assert placed == {node for node in graph.nodes if not is_transparent(node)}


def test_convolution_takes_bias_residual_and_activation(sketch: Sketch) -> None:
    """The tail of a ResNet block is one kernel."""
    x = sketch.x(1, 4, 6, 6)
    y = sketch.node("Conv", (x, sketch.c(4, 4, 3, 3), sketch.c(4)), kernel_shape=(3, 3), pads=(1, 1, 1, 1))
    fused = pipeline.run(sketch.graph([("y", sketch.node("Relu", (sketch.node("Add", (y, x)),)))]))
    assert kinds(fused) == ["conv"]
    check(fused)


def test_softmax_with_its_guard_is_one_row_program(sketch: Sketch) -> None:
    """The IsNaN-Where guard of torch's exporters reads the result twice and still joins."""
    p = sketch.node("Softmax", (sketch.node("Add", (sketch.x(2, 8, 8), sketch.c(8, 8))),), axis=-1)
    zero = sketch.constant(np.float32(0))
    fused = pipeline.run(sketch.graph([("y", sketch.node("Where", (sketch.node("IsNaN", (p,)), zero, p)))]))
    assert kinds(fused) == ["row"]
    check(fused)


@pytest.mark.parametrize("half", [False, True])
def test_a_transformer_layer_is_eleven_kernels(half: bool) -> None:
    """Four projections, two attention products, softmax, two norms, two feed-forward products."""
    from nautilus_cli.ir.types import F16, F32

    s = Sketch(F16 if half else F32)
    x = s.x(1, 16, 32)

    def linear(v: Value, k: int, n: int) -> Value:
        return s.node("Add", (s.node("MatMul", (v, s.c(k, n))), s.c(n)))

    def heads(v: Value) -> Value:
        return s.node("Transpose", (s.node("Reshape", (v, s.ints(1, 16, 4, 8))),), perm=(0, 2, 1, 3))

    h = s.node("LayerNormalization", (x, s.c(32), s.c(32)))
    q, k, v = (heads(linear(h, 32, 32)) for _ in range(3))
    scale = s.constant(np.array(0.35, s.dtype.numpy))
    scores = s.node("MatMul", (s.node("Mul", (q, scale)), s.node("Mul", (s.node("Transpose", (k,), perm=(0, 1, 3, 2)), scale))))
    mixed = s.node("Transpose", (s.node("MatMul", (s.node("Softmax", (scores,), axis=-1), v)),), perm=(0, 2, 1, 3))
    r = s.node("Add", (linear(s.node("Reshape", (mixed, s.ints(1, 16, 32))), 32, 32), x))
    h = s.node("LayerNormalization", (r, s.c(32), s.c(32)))
    y = s.node("Add", (linear(s.node("Gelu", (linear(h, 32, 64),)), 64, 32), r))
    fused = pipeline.run(s.graph([("y", y)]))
    assert sorted(kinds(fused)) == ["gemm"] * 8 + ["row"] * 3
    check(fused)


def test_an_output_that_only_movement_makes_is_a_copy(sketch: Sketch) -> None:
    """A transposed output needs a kernel of its own; a reshaped one is stored in place."""
    y = sketch.node("Relu", (sketch.x(3, 4),))
    turned = sketch.node("Transpose", (y,), perm=(1, 0))
    flat = sketch.node("Reshape", (y, sketch.ints(12)))
    fused = pipeline.run(sketch.graph([("turned", turned), ("flat", flat)]))
    assert kinds(fused) == ["pointwise", "pointwise"]
    check(fused)


def test_inputs_and_constants_as_outputs_are_copied(sketch: Sketch) -> None:
    """So is an output that is named twice."""
    x = sketch.x(4)
    fused = pipeline.run(sketch.graph([("a", x), ("b", sketch.c(4)), ("c", x)]))
    assert kinds(fused) == ["pointwise"] * 3
    check(fused)


def test_groups_never_wait_for_each_other(sketch: Sketch) -> None:
    """Two products that exchange their results: one epilogue must give way, since either kernel would wait for the other."""
    x = sketch.x(4, 4)
    a, b = sketch.node("MatMul", (x, sketch.c(4, 4))), sketch.node("MatMul", (x, sketch.c(4, 4)))
    p, q = sketch.node("Exp", (a,)), sketch.node("Exp", (b,))
    fused = pipeline.run(sketch.graph([("u", sketch.node("Add", (a, q))), ("v", sketch.node("Add", (b, p)))]))
    check(fused)


def test_expensive_work_before_a_product_is_repeated_for_its_left_operand_alone(sketch: Sketch) -> None:
    """A scale becomes a prologue; an exponential does on the left, unless that shall be stored, and stays a kernel on the right."""
    cheap = pipeline.run(
        sketch.graph([("y", sketch.node("MatMul", (sketch.node("Mul", (sketch.x(8, 8), sketch.c(1, 8))), sketch.c(8, 8))))])
    )
    assert kinds(cheap) == ["gemm"]
    other = Sketch()
    dear = pipeline.run(other.graph([("y", other.node("MatMul", (other.node("Exp", (other.x(8, 8),)), other.c(8, 8))))]))
    assert kinds(dear) == ["gemm"]
    assert kinds(fuse(dear.graph, {group.anchor for group in dear.groups if group.anchor is not None})) == ["pointwise", "gemm"]
    right = Sketch()
    dear = pipeline.run(right.graph([("y", right.node("MatMul", (right.x(8, 8), right.node("Exp", (right.x(8, 8, name="b"),)))))]))
    assert kinds(dear) == ["pointwise", "gemm"]


def test_a_product_gathers_the_rows_of_its_left_operand() -> None:
    """Rows that a product alone reads are never stored; elements of rows, and rows that others read too, are."""

    def found(axis: int, *, is_read: bool = False) -> list[str]:
        s = Sketch()
        rows = s.node("Gather", (s.x(50, 8), s.input("ids", TensorType(I64, (8,)))), axis=axis)
        product = s.node("MatMul", (s.node("Mul", (rows, s.c(8))), s.c(8, 8))) if axis == 0 else s.node("MatMul", (rows, s.c(8, 8)))
        return kinds(pipeline.run(s.graph([("y", product), *([("rows", rows)] if is_read else [])])))

    assert found(0) == ["gemm"]
    assert found(1) == ["gather", "gemm"]
    assert found(0, is_read=True) == ["gather", "gemm"]


def test_indices_that_are_computed_are_stored_before_a_product_reads_rows() -> None:
    s = Sketch()
    ids = s.node("Add", (s.input("ids", TensorType(I64, (8,))), s.ints(1)))
    y = s.node("MatMul", (s.node("Gather", (s.x(50, 8), ids), axis=0), s.c(8, 8)))
    fused = pipeline.run(s.graph([("y", y)]))
    check(fused)
    assert kinds(fused) == ["gather", "gemm"]


def test_the_first_half_is_not_the_whole(sketch: Sketch) -> None:
    """The first part of a Split has the linear indices of its operand, but is not all of it: it is copied, not stored along."""
    y = sketch.node("MatMul", (sketch.x(4, 3), sketch.c(3, 2)))
    first, second = sketch.apply("Split", (y, sketch.ints(3, 1)), outputs=(None, None))
    assert first is not None and second is not None
    fused = pipeline.run(sketch.graph([("first", first), ("second", second)]))
    check(fused)
    assert kinds(fused) == ["gemm", "pointwise", "pointwise"]


def test_a_row_does_not_read_the_beginning_of_a_column_for_a_row(sketch: Sketch) -> None:
    """x[:, :1] has the shape of a row's result, and where there is one row also its linear indices."""
    x = sketch.x(1, 4)
    twice = sketch.node("Mul", (x, x))
    beginning = sketch.node("Slice", (twice, sketch.ints(0), sketch.ints(1), sketch.ints(1)))
    total = sketch.node("ReduceSum", (twice, sketch.ints(1)))
    graph = sketch.graph([("y", sketch.node("Add", (total, beginning)))])
    check(pipeline.run(graph))
    assert_plan_computes(graph)


def pads(s: Sketch, count: int, shared: bool = False) -> Graph:
    """Pieces of one tensor, shifted and cut, some with work done on them, joined."""
    x = s.x(3, 8)
    shifted = []
    for i in range(count):
        part = s.node("Slice", (x, s.ints(i % 4), s.ints(8), s.ints(1)))
        padded = s.node("Pad", (part, s.ints(0, 1, 0, i % 4)))
        shifted.append(s.node("Neg", (padded,)) if i % 2 else padded)
    joined = s.node("Relu", (s.node("Concat", shifted, axis=0),))
    return s.graph([("y", joined), *([("first", shifted[0])] if shared else [])])


def test_copies_that_a_copy_reads_are_one_kernel(sketch: Sketch) -> None:
    graph = pads(sketch, 6)
    fused = pipeline.run(graph)
    check(fused)
    assert kinds(fused) == ["pointwise"]
    assert_plan_computes(graph)


def test_a_copy_that_is_an_output_too_is_stored_on_its_own(sketch: Sketch) -> None:
    graph = pads(sketch, 4, shared=True)
    fused = pipeline.run(graph)
    check(fused)
    assert kinds(fused) == ["pointwise", "pointwise"]
    assert_plan_computes(graph)


def test_copies_grow_no_kernel_without_end(sketch: Sketch) -> None:
    graph = pads(sketch, 30)
    fused = pipeline.run(graph)
    check(fused)
    assert len(fused.groups) > 1
    assert all(sum(len(node.inputs) for node in group.members()) <= MOST_COPIED + 1 for group in fused.groups)
    assert_plan_computes(graph)


def test_work_that_a_copy_repeats_is_done_once(sketch: Sketch) -> None:
    """The negation of a row that is then expanded."""
    row = sketch.node("Neg", (sketch.node("Exp", (sketch.x(1, 8),)),))
    wide = sketch.node("Expand", (row, sketch.ints(64, 8)))
    joined = sketch.node("Concat", (wide, sketch.x(2, 8, name="z")), axis=0)
    fused = pipeline.run(sketch.graph([("y", joined)]))
    check(fused)
    assert [sorted(n.op for n in group.nodes if n.op in ("Exp", "Neg", "Concat")) for group in fused.groups] == [["Exp", "Neg"], ["Concat"]]


UNARY = ("Relu", "Exp", "Neg", "Softmax", "Identity")
MOVES = ("transpose", "reshape", "slice", "concat", "pad")


@settings(max_examples=150)
@given(st.data())
def test_random_graphs_keep_the_contract(data: st.DataObject) -> None:
    """Any mixture of pointwise work, movement, reductions and products satisfies what lowering relies on."""
    s = Sketch()
    values = [s.x(4, 6)]
    for _ in range(data.draw(st.integers(1, 14))):
        v = data.draw(st.sampled_from(values))
        rank = len(v.type.static)
        what = data.draw(st.sampled_from((*UNARY, *MOVES, "add", "mean", "matmul", "bias")))
        if what in UNARY:
            result = s.node(what, (v,))
        elif what == "transpose":
            result = s.node("Transpose", (v,), perm=tuple(reversed(range(rank))))
        elif what == "reshape":
            result = s.node("Reshape", (v, s.ints(prod(v.type.static)) if rank > 1 else s.ints(1, -1)))
        elif what == "slice":
            result = s.node("Slice", (v, s.ints(0), s.ints(max(1, v.type.static[0] // 2)), s.ints(0)))
        elif what == "concat":
            result = s.node("Concat", (v, v), axis=0)
        elif what == "pad":
            result = s.node("Pad", (v, s.ints(*([1] * rank), *([0] * rank))))
        elif what == "add":
            same = [w for w in values if w.type == v.type]
            result = s.node("Add", (v, data.draw(st.sampled_from(same))))
        elif what == "mean":
            result = s.node("ReduceMean", (v, s.ints(rank - 1)), keepdims=data.draw(st.integers(0, 1)) if rank > 1 else 1)
        elif what == "matmul":
            result = s.node("MatMul", (v, s.c(v.type.static[-1], 3)))
        else:
            result = s.node("Mul", (v, s.c(v.type.static[-1])))
        if result.type.elements <= 400:
            values.append(result)
    leaves = data.draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
    check(pipeline.run(s.graph([(f"y{i}", v) for i, v in enumerate([*leaves, values[-1]])])))


def test_what_is_counted_is_computed_where_it_is_counted() -> None:
    """Each element is asked for once, however dear it is."""
    builder = GraphBuilder()
    x = builder.input("x", TensorType(F32, (50,)))
    mask = builder.node("Greater", [builder.node("Exp", [x]), builder.constant(np.float32(1))])
    found = places(builder, mask, "n")
    (group,) = fuse(prune(builder.graph([("y", found)]))).groups
    assert [node.op for node in group.nodes] == ["Exp", "Greater", "nautilus::Places"]


def test_a_number_is_not_read_where_it_is_given() -> None:
    """As a scalar among others it would fit into the kernel."""
    builder = GraphBuilder()
    x = builder.input("x", TensorType(I64, (50,)))
    total = builder.node("ReduceSum", [x], keepdims=0)
    size = builder.count("n", 50)
    builder.holds(size, total)
    doubled = builder.node("Mul", [builder.node("Neg", [total]), number(builder, size, I64)])
    fused = fuse(prune(builder.graph([("y", doubled)])))
    assert [[node.op for node in group.nodes] for group in fused.groups] == [["ReduceSum", "Neg"], ["Mul"]]


@pytest.mark.parametrize(("most", "wanted"), [(64, 1), (1 << 20, 2)])
def test_a_number_of_sizes_is_worked_out_where_it_is_read(most: int, wanted: int) -> None:
    """A ratio of sizes divides a table: within its kernel where that is short, else once, ahead."""
    size = symbol("size", 1, most)
    emit = GraphBuilder()
    x = Value(TensorType(F32, (size,)))
    ratio = emit.node("Div", [number(emit, size, F32), emit.constant(np.float32(3))])
    y = emit.node("Mul", [emit.node("Neg", [x]), ratio])
    graph = Graph((("x", x),), (("y", y),), tuple(emit.nodes))
    assert kinds(fuse(graph)) == ["pointwise"] * wanted

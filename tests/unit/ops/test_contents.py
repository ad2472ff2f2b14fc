"""Shapes that are computed by nodes: followed as expressions of dimensions."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import is_symbolic, same
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BOOL, F32, I32, I64, TensorType
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.cast import CastAttrs
from nautilus_cli.ops.verifier import verify_graph
from nautilus_cli.passes.rewriting.decompose import decompose

N, M = symbol("n", 1, 64), symbol("m", 1, 512)


class Shapes:
    """A builder with an input of shape [n, m, 768]."""

    def __init__(self) -> None:
        self.emit = GraphBuilder()
        self.x = self.emit.input("x", TensorType(F32, (N, M, 768)))
        self.shape = self.emit.node("Shape", [self.x])

    def integers(self, *values: int) -> Value:
        return self.emit.constant(np.array(values, np.int64))

    def dim(self, index: int) -> Value:
        return self.emit.node("Gather", [self.shape, self.emit.constant(np.array(index, np.int64))])

    def row(self, value: Value) -> Value:
        return self.emit.node("Unsqueeze", [value, self.integers(0)])

    def joined(self, *values: Value) -> Value:
        return self.emit.node("Concat", list(values), axis=0)


def found(value: Value) -> list[int]:
    assert value.contents is not None and value.constant is None
    return list(value.contents.reshape(-1))


def equal(value: Value, *expected: int) -> bool:
    return same(tuple(found(value)), expected)


def test_a_chain_of_an_exporter_decides_a_reshape() -> None:
    s = Shapes()
    heads = s.joined(s.row(s.dim(0)), s.row(s.dim(1)), s.integers(12), s.integers(64))
    result = s.emit.node("Reshape", [s.x, heads])
    assert same(result.type.static, (N, M, 12, 64))
    rows = s.joined(s.row(s.emit.node("Mul", [s.dim(0), s.dim(1)])), s.integers(-1))
    assert same(s.emit.node("Reshape", [result, rows]).type.static, (N * M, 768))
    assert [node.op for node in s.emit.nodes] == ["Reshape", "Reshape"], "shapes need no nodes"
    verify_graph(s.emit.graph((("y", result),)))


def test_sizes_that_all_are_numbers_are_a_constant() -> None:
    s = Shapes()
    last = s.emit.node("Slice", [s.shape, s.integers(2), s.integers(3)])
    assert last.constant is not None and last.constant.tolist() == [768]
    assert last.constant.dtype == np.int64
    assert s.emit.node("Sub", [s.dim(0), s.dim(0)]).constant == 0


def test_arithmetic() -> None:
    s = Shapes()
    n, m, two = s.dim(0), s.dim(1), s.emit.constant(np.array(2, np.int64))
    for op, operands, expected in (
        ("Add", (n, two), N + 2),
        ("Sub", (m, two), M - 2),
        ("Mul", (n, m), N * M),
        ("Div", (m, two), M // 2),
        ("Mod", (m, two), M % 2),
        ("Neg", (n,), -N),
    ):
        assert equal(s.emit.node(op, list(operands)), expected)
    assert equal(s.emit.node("Size", [s.x]), N * M * 768)
    assert equal(s.emit.node("ReduceProd", [s.shape], keepdims=0), N * M * 768)
    whole = s.emit.node("Cast", [m], CastAttrs(to=1))
    assert whole.type.dtype == F32 and equal(whole, M)
    assert s.emit.node("Cast", [n], CastAttrs(to=6)).type.dtype == I32


def test_decided_comparisons_are_constants() -> None:
    s = Shapes()
    zero = s.emit.constant(np.array([0, 0, 0], np.int64))
    mask = s.emit.node("Equal", [s.shape, zero])
    assert mask.type.dtype == BOOL and mask.constant is not None and not mask.constant.any()
    chosen = s.emit.node("Where", [mask, zero, s.shape])
    assert equal(chosen, N, M, 768)


def test_what_no_rule_covers_is_computed() -> None:
    s = Shapes()
    ratio = s.emit.node(
        "Div",
        [
            s.emit.node(
                "Cast",
                [
                    s.dim(0),
                ],
                CastAttrs(to=1),
            ),
            s.emit.constant(np.array(3, np.float32)),
        ],
    )
    assert ratio.contents is None and ratio.constant is None
    undecided = s.emit.node("Equal", [s.dim(0), s.emit.constant(np.array(1, np.int64))])
    assert undecided.contents is None
    assert [node.op for node in s.emit.nodes] == ["Div", "Equal"]


def test_positions_are_cut_from_the_longest_progression() -> None:
    s = Shapes()
    zero, one = (s.emit.constant(np.array(v, np.int64)) for v in (0, 1))
    places = s.emit.node("Range", [zero, s.dim(1), one])
    assert same(places.type.static, (M,))
    from_second = s.emit.node("Range", [s.dim(0), s.emit.node("Add", [s.dim(0), s.dim(1)]), one])
    assert same(from_second.type.static, (M,))
    graph = decompose(s.emit.graph((("a", places), ("b", from_second))))
    verify_graph(graph)
    assert [node.op for node in graph.nodes] == ["Slice", "Slice", "Add"]
    assert same(graph.outputs[1][1].type.static, (M,))


def test_sizes_broadcast_and_slice() -> None:
    s = Shapes()
    wide = s.emit.node("Expand", [s.emit.constant(np.zeros((1, 1, 1), np.float32)), s.shape])
    assert same(wide.type.static, (N, M, 768))
    filled = s.emit.node("ConstantOfShape", [s.shape])
    assert is_symbolic(filled.type.static[0])
    with pytest.raises(ModelError, match=r"n equals 5.*n = 1\.\.64"):
        s.emit.node("Add", [s.x, s.emit.constant(np.zeros((5, 1, 1), np.float32))])
    assert s.emit.node("Add", [s.x, s.x]).type.static == (N, M, 768)
    assert s.shape.type == TensorType(I64, (3,))

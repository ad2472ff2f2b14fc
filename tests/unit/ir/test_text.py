"""The textual form: exact text, round trips, and what the parser says about malformed text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.requirement import Requirement
from nautilus_cli.ir.text import constant_key, constants_by_key, print_graph
from nautilus_cli.ir.text_reader import parse_graph
from nautilus_cli.ir.types import BF16, DTYPES, F16, F32, I64, Sym, TensorType
from tests.unit.ir.graphs import ATTRIBUTES, Attrs, constant, node, value

HEAD = "graph {\n  input 'x' = %x : f32[4]\n"


def sample() -> Graph:
    x = value(1, 4, tensor="x")
    weight = constant(np.arange(4, dtype=np.float32), "w 1")
    hidden = value(1, 4)
    parts = (value(1, 2, tensor="y", order=(1, 0)), None)
    return Graph(
        (("x", x),),
        (("probabilities", parts[0]), ("again", x)),  # type: ignore[arg-type]
        (
            node("Add", (x, weight), hidden, origin=("add", "it's")),
            node("Split", (hidden, None), *parts, axis=1, alpha=float(np.float32(0.2)), axes=(1, 2), flag=True, to=F16),
        ),
    )


def test_exact_text() -> None:
    assert print_graph(sample()) == (
        "graph {\n"
        "  input 'x' = %x : f32[1, 4]\n"
        f"  constant %'w 1' : f32[4] = {constant_key(np.arange(4, dtype=np.float32))}\n"
        "  %0 = Add(%x, %'w 1') : f32[1, 4]   # 'add', \"it's\"\n"
        "  %y, _ = Split(%0, _) {axis=1, alpha=0.2f, axes=[1, 2], flag=true, to=f16} : f32[1, 2] order=[1, 0], _\n"
        "  output 'probabilities' = %y\n"
        "  output 'again' = %x\n"
        "}\n"
    )


def round_trip(graph: Graph) -> Graph:
    text = print_graph(graph)
    parsed = parse_graph(text, ATTRIBUTES, constants_by_key(graph))
    assert print_graph(parsed) == text
    return parsed


def test_round_trip_keeps_everything() -> None:
    parsed = round_trip(sample())
    for new, old in zip(parsed.nodes, sample().nodes, strict=True):
        assert (new.op, new.attrs, new.origin) == (old.op, old.attrs, old.origin)
        for a, b in zip(new.outputs, old.outputs, strict=True):
            assert (a is None) == (b is None)
            assert a is None or b is None or (a.type, a.tensor, a.order) == (b.type, b.tensor, b.order)
    assert parsed.outputs[1][1] is parsed.inputs[0][1]


names = st.text(max_size=8) | st.sampled_from(
    ["x", "5", "_", "inf", "none", '"); system("x', "{{ c }}", "a\nb", "%0", "a~2", "\u2028", "'"]
)
floats = st.floats() | st.floats(width=32) | st.floats(width=16)


@st.composite
def graphs(draw: Any) -> Graph:
    """A chain of nodes with arbitrary names and attributes."""
    dtype = draw(st.sampled_from([*DTYPES.values()]))
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    values = [
        Value(TensorType(dtype, shape), tensor=draw(st.none() | names)),
        constant(np.zeros(shape, dtype.numpy), draw(st.none() | names)),
    ]
    nodes = []
    for _ in range(draw(st.integers(0, 4))):
        result = Value(TensorType(dtype, shape), draw(st.none() | names), draw(st.none() | st.permutations(range(len(shape))).map(tuple)))
        inputs = tuple(draw(st.none() | st.sampled_from(values)) for _ in range(draw(st.integers(0, 3))))
        attrs = Attrs(
            axis=draw(st.integers()),
            alpha=draw(floats),
            mode=draw(names),
            axes=draw(st.none() | st.lists(st.integers()).map(tuple)),
            names=draw(st.lists(names, max_size=2).map(tuple)),
            scales=draw(st.lists(floats, max_size=2).map(tuple)),
            flag=draw(st.booleans()),
            to=draw(st.none() | st.sampled_from([F16, BF16])),
            table=draw(st.none() | st.just(np.arange(3))),
        )
        origin = tuple(draw(st.lists(names, max_size=2)))
        nodes.append(node(draw(st.sampled_from(sorted(ATTRIBUTES))), inputs, None, result, origin=origin))
        nodes[-1] = type(nodes[-1])(nodes[-1].op, inputs, (None, result), attrs, origin)
        values.append(result)
    return Graph(((draw(names), values[0]),), ((draw(names), values[-1]),), tuple(nodes))


@given(graphs())
def test_any_graph_parses_back(graph: Graph) -> None:
    parsed = round_trip(graph)
    for new, old in zip(parsed.nodes, graph.nodes, strict=True):
        assert (new.op, new.origin) == (old.op, old.origin)
        assert isinstance(new.attrs, Attrs)
        assert isinstance(old.attrs, Attrs)
        assert repr(new.attrs) == repr(old.attrs)
        assert [v and v.tensor for v in new.inputs] == [v and v.tensor for v in old.inputs]


def test_unbound_dimension_with_an_odd_name_parses_back() -> None:
    x = Value(TensorType(I64, (Sym("batch"), Sym("past length + 1"), 3)), tensor="x")
    parsed = round_trip(Graph((("x", x),), (("x", x),), ()))
    assert parsed.inputs[0][1].type == x.type


def test_open_dimensions_parse_back() -> None:
    batch, length = symbol("batch", 1, 64), symbol("x[1]", 8, 512, 8)
    x = Value(TensorType(F32, (batch, length, Sym("free"), 3)), tensor="x")
    shape = Value(TensorType(I64, (2,)), contents=np.array([batch, length // 3 + 1], dtype=object))
    y = Value(TensorType(F32, (batch, length // 3 + 1)))
    kept = Value(TensorType(I64, ()))
    graph = Graph(
        (("x", x),),
        (("y", y),),
        (node("Op", (x, shape), y, axis=batch), node("Op", (y,), kept)),
        requirements=(Requirement(value=length - batch, low=0, high=500, text="node 'n'"),),
        counts=(("kept", kept),),
    )
    parsed = round_trip(graph)
    assert same(parsed.inputs[0][1].type.shape, x.type.shape)
    (first, _) = parsed.nodes
    assert same(first.attrs.axis, batch)  # type: ignore[attr-defined]
    contents = first.inputs[1]
    assert contents is not None and contents.contents is not None and contents.type == shape.type
    assert same(tuple(contents.contents), tuple(shape.contents))  # type: ignore[arg-type]
    assert same(parsed.requirements[0].value, length - batch) and parsed.requirements[0].text == "node 'n'"
    assert parsed.counts[0][1] is parsed.nodes[1].outputs[0]


def test_values_of_one_tensor_are_told_apart() -> None:
    x = value(4, tensor="x")
    copy = value(4, tensor="x")
    graph = Graph((("x", x),), (("y", copy),), (node("Op", (x,), copy),))
    assert "%x~2 = Op(%x)" in print_graph(graph)
    assert round_trip(graph).nodes[0].outputs[0].tensor == "x"  # type: ignore[union-attr]


def test_key_tells_types_and_shapes_apart() -> None:
    zeros = [np.zeros((2, 2), np.float32), *(np.zeros(4, dtype.numpy) for dtype in DTYPES.values())]
    assert len({constant_key(z) for z in zeros}) == len(zeros)


def test_key_does_not_depend_on_the_layout_in_memory() -> None:
    array = np.arange(6).reshape(2, 3)
    assert constant_key(array) == constant_key(np.asfortranarray(array))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("  %0 = Op(%z) : f32[4]\n", "line 3: %z is not defined"),
        ("  %x = Op(%x) : f32[4]\n", "line 3: %x is defined twice"),
        ("  %0 = Nope(%x) : f32[4]\n", "operator 'Nope' is not in the table"),
        ("  %0 = Op(%x) {nope=1} : f32[4]\n", "the attributes of Op do not fit"),
        ("  %0 = Op(%x) {axis=?} : f32[4]\n", "'\\?' is not a value"),
        ("  %0 = Op(%x) : q7[4]\n", "'q7' is not an element type"),
        ("  %0 = Op(%x) : f32[4\n", "ends too early"),
        ("  %0 = Op(%x) : f32[4] left\n", "'left' is left over"),
        ("  %0 = Op\n", "an operator has no operands"),
        ("  constant %w : f32[4] = 0000000000000000\n", "constant 0000000000000000 is not in the table"),
        ("  output 'y' = _\n", "an output is left out"),
        ("  output y = %x\n", "expected a string, found 'y'"),
    ],
)
def test_malformed_text_is_refused(body: str, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        parse_graph(f"{HEAD}{body}}}\n", ATTRIBUTES, {})


def test_text_of_something_else_is_refused() -> None:
    with pytest.raises(InternalError, match="the text of a graph starts with"):
        parse_graph("digraph {}", ATTRIBUTES, {})

"""Sequences and optional values inside a graph: settled while it is imported."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.ir.dims import is_symbolic, lower, upper
from tests.unit.frontend.constructs.held import drawn, hold, parsed, refused
from tests.unit.frontend.models import imported, ops

INPUTS = "float[2,3] x, float[2,3] y"
FEEDS = {"x": drawn(2, 3), "y": drawn(2, 3, seed=1)}
NUMBERS = "".join(
    f"{name} = Constant <value: tensor = int64 {{{value}}}> () "
    for name, value in {"zero": 0, "one": 1, "two": 2, "five": 5, "last": -1, "first": -3}.items()
)


def model(nodes: str, outputs: str = "float[p,q] z", inputs: str = INPUTS) -> str:
    return f"g ({inputs}) => ({outputs}) {{ {NUMBERS} {nodes} }}"


@pytest.mark.parametrize(
    "nodes",
    [
        "s = SequenceConstruct(x, y) z = SequenceAt(s, one)",
        "s = SequenceConstruct(x, y) z = SequenceAt(s, last)",
        "e = SequenceEmpty() s = SequenceInsert(e, x) t = SequenceInsert(s, y, zero) z = SequenceAt(t, zero)",
        "s = SequenceConstruct(x, y, x) t = SequenceErase(s, zero) z = SequenceAt(t, zero)",
        "s = SequenceConstruct(x, y, x) t = SequenceErase(s) z = SequenceAt(t, last)",
        "s = SequenceConstruct(x, y, x) t = SequenceInsert(s, y, first) z = SequenceAt(t, zero)",
        "s = SequenceConstruct(x, y) t = Identity(s) z = ConcatFromSequence <axis = -1> (t)",
        "s = SplitToSequence <axis = 1> (x) t = SequenceInsert(s, y) z = SequenceAt(t, two)",
        "s = SplitToSequence <axis = 1> (x, two) z = SequenceAt(s, one)",
        "p = Constant <value_ints = [1, 0, 2]> () s = SplitToSequence <axis = -1> (x, p) z = SequenceAt(s, two)",
    ],
)
def test_tensors_find_their_place(nodes: str) -> None:
    loaded = hold(model(nodes), FEEDS)
    assert set(ops(loaded)) <= {"Concat", "Slice", "Reshape"}


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_new_axis(axis: int) -> None:
    hold(model(f"s = SequenceConstruct(x, y) z = ConcatFromSequence <axis = {axis}, new_axis = 1> (s)", "float[a,b,c] z"), FEEDS)


def test_split_without_the_dimension() -> None:
    hold(model("s = SplitToSequence <axis = 1, keepdims = 0> (x) z = SequenceAt(s, one)", "float[2] z"), FEEDS)


def test_length() -> None:
    loaded = hold(model("s = SplitToSequence <axis = 1> (x) z = SequenceLength(s)", "int64 z"), FEEDS)
    assert loaded.graph.nodes == ()


def test_position_at_run_time_among_equals() -> None:
    text = model("s = SequenceConstruct(x, y, x) z = SequenceAt(s, i)", inputs=f"{INPUTS}, int64 i")
    hold(text, *({**FEEDS, "i": np.array(i)} for i in (0, 1, -1)))


def test_sizes_at_run_time_leave_the_length_known() -> None:
    inputs = f"{INPUTS}, int64[2] k"
    cut = "s = SplitToSequence <axis = 1> (x, k)"
    feeds = {**FEEDS, "k": np.array([1, 2])}
    assert hold(model(f"{cut} z = SequenceLength(s)", "int64 z", inputs), feeds).graph.nodes == ()
    parts = imported(parsed(model(f"{cut} a = SequenceAt(s, one) z = Neg(a)", inputs=inputs)))
    (size,) = {dim for _, value in parts.graph.outputs for dim in value.type.static if is_symbolic(dim)}
    assert str(size) == "k[1]" and (lower(size), upper(size)) == (0, 3)
    asked = [(str(one.value), one.low, one.high) for one in parts.graph.requirements]
    assert asked == [("k[0] + k[1]", 3, 3), ("k[0]", 0, 3), ("k[1]", 0, 3)]


def test_a_size_of_all_parts_at_run_time_leaves_their_number_open() -> None:
    cut = "s = SplitToSequence <axis = 1> (x, k)"
    assert "reads a part of node '#6 SplitToSequence' (SplitToSequence), whose sizes are only known at run time" in refused(
        model(f"{cut} a = SequenceAt(s, one) z = Neg(a)", inputs=f"{INPUTS}, int64 k")
    )


def test_map() -> None:
    body = """(float[2,3] a, float[2,3] b, float[2,3] c) => (float[2,3] p, float[2,3] q) {
        d = Exp(y) p = Add(a, b) e = Mul(p, c) q = Sub(e, d) }"""
    nodes = f"""s = SequenceConstruct(x, y) t = SequenceConstruct(y, y)
        u, v = SequenceMap <body = b {body}> (s, t, x)
        m = ConcatFromSequence <axis = 0> (u) n = ConcatFromSequence <axis = 0> (v) z = Add(m, n)"""
    loaded = hold(model(nodes), FEEDS, by_reference=False)  # which does not let the body see the names around it
    assert ops(loaded).count("Exp") == 1


def test_sequence_grows_in_a_loop() -> None:
    body = (
        "(int64 i, bool c, seq(float[2,3]) a) => (bool c, seq(float[2,3]) b) { f = CastLike(i, x) t = Add(x, f) b = SequenceInsert(a, t) }"
    )
    nodes = f"""e = SequenceEmpty() on = Constant <value: tensor = bool {{1}}> ()
        s = Loop (five, on, e) <body: graph = b {body}> z = ConcatFromSequence <axis = 0> (s)"""
    loaded = hold(model(nodes), FEEDS)
    assert dict(loaded.graph.outputs)["z"].type.shape == (10, 3)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("o = Optional(x) h = OptionalHasElement(o)", True),
        ("o = Optional <type: type_proto = float[2,3]> () h = OptionalHasElement(o)", False),
        ("h = OptionalHasElement(x)", True),
        ("h = OptionalHasElement()", False),
        ("s = SequenceConstruct(x) o = Optional(s) t = OptionalGetElement(o) h = OptionalHasElement(t)", True),
    ],
)
def test_optional_has_an_element_or_not(nodes: str, expected: bool) -> None:
    loaded = hold(model(nodes, "bool h"), FEEDS, by_onnxruntime=False, by_reference=False)
    constant = dict(loaded.graph.outputs)["h"].constant
    assert constant is not None
    assert constant.item() is expected


def test_element_of_an_optional() -> None:
    nodes = "o = Optional(x) a = OptionalGetElement(o) b = OptionalGetElement(a) z = Neg(b)"
    loaded = hold(model(nodes), FEEDS, by_onnxruntime=False, by_reference=False)  # neither takes an optional tensor
    assert ops(loaded) == ["Neg"]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ("s = SequenceConstruct(x, y) z = SequenceAt(s, two)", "position is 2; for a sequence of 2 the specification allows -2 to 1"),
        ("s = SequenceConstruct(x, y) t = SequenceInsert(s, x, first) z = SequenceAt(t, one)", "position is -3; for a sequence of 2"),
        ("s = SequenceEmpty() z = SequenceAt(s, zero)", "reads from an empty sequence"),
        ("s = SequenceEmpty() t = SequenceErase(s) z = SequenceAt(t, zero)", "erases from an empty sequence"),
        ("s = SequenceEmpty() z = ConcatFromSequence <axis = 0> (s)", "joins an empty sequence"),
        ("s = SequenceConstruct(x, one) z = SequenceAt(s, one)", "puts f32 and i64 into one sequence"),
        ("s = SequenceConstruct(x, y) z = Neg(s)", "operand 's' is a sequence; the specification requires a tensor"),
        ("z = SequenceAt(x, one)", "operand 0 is a tensor; the specification requires a sequence"),
        (
            "s = SequenceConstruct(x, y) z = ConcatFromSequence <axis = 2> (s)",
            "axis is 2; for these tensors",
        ),
        ("s = SequenceConstruct(x, y) z = ConcatFromSequence(s)", "attribute 'axis' is missing"),
        ("s = SplitToSequence(x, zero) z = SequenceAt(s, one)", "split is 0; it must be positive"),
        ("p = Constant <value_ints = [1, 2]> () s = SplitToSequence(x, p) z = SequenceAt(s, one)", "the specification requires a sum of 2"),
        ("s = SequenceConstruct(x) o = Optional(s) p = Optional(o) z = OptionalGetElement(p)", "wraps an optional value"),
        ("o = Optional <type: type_proto = float[2,3]> () z = OptionalGetElement(o)", "reads an optional value that is empty"),
        ("s = SequenceConstruct(x, y) z = ConcatFromSequence <axes = 1> (s)", "attribute 'axes' is not supported | Known: axis, new_axis."),
        ("z = SequenceConstruct(x, y)", "output 'z': is a sequence; only dense tensors can leave a library"),
    ],
)
def test_malformed(nodes: str, message: str) -> None:
    assert message in refused(model(nodes))


def test_huge_split_is_refused_in_time() -> None:
    text = model("s = SplitToSequence(x) z = SequenceAt(s, one)", inputs="float[1000000000,3] x")
    assert "unroll to more than" in refused(text)
    by_one = model("s = SplitToSequence(x, one) z = SequenceAt(s, one)", inputs="float[1000000000,3] x")
    assert "unroll to more than" in refused(by_one)


@pytest.mark.parametrize("kind", ["seq(float[2,3])", "optional(float[2,3])"])
def test_input_that_is_no_tensor(kind: str) -> None:
    found = refused(model("z = Identity(x)", f"{kind} z", f"{kind} x"))
    assert found.startswith("input 'x': is a")
    assert "only dense tensors" in found

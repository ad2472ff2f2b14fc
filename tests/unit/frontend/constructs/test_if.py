"""If: the branch that is taken, or both under a condition at run time."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.frontend.constructs import if_
from nautilus_cli.ir.control import bodies
from nautilus_cli.ir.dims import upper
from tests.unit.frontend.constructs.held import drawn, hold, parsed, refused
from tests.unit.frontend.models import imported, ops

X = drawn(2, 3)


def choice(then: str, otherwise: str, *, inputs: str = "float[2,3] x, bool c", outputs: str = "float[2,3] y") -> str:
    results = ", ".join(part.split()[-1] for part in outputs.replace("2,3", "").replace("k,3", "").split(", "))
    return f"""g ({inputs}) => ({outputs}) {{
        shared = Abs(x)
        {results} = If (c) <then_branch: graph = t () => {then}, else_branch: graph = e () => {otherwise}> }}"""


def both(x: np.ndarray = X) -> list[dict[str, np.ndarray]]:
    return [{"x": x, "c": np.array(c)} for c in (True, False)]


def test_both_branches_and_a_choice() -> None:
    text = choice("(float[2,3] o) { o = Exp(shared) }", "(float[2,3] p) { q = Neg(x) p = Sqrt(shared) }")
    loaded = hold(text, *both())
    assert sorted(ops(loaded)) == ["Abs", "Exp", "Sqrt", "Where"]
    assert loaded.graph.outputs[0][1].tensor == "y"


def test_branch_that_is_taken_needs_no_choice() -> None:
    text = choice("(float[2,3] o) { o = Exp(shared) }", "(float[2,3] p) { p = Sqrt(shared) }")
    assert ops(hold(text, both()[1], bindings={"c": "false"})) == ["Abs", "Sqrt"]


def test_results_that_agree_need_no_choice() -> None:
    text = choice("(float[2,3] o) { o = Identity(shared) }", "(float[2,3] p) { p = Identity(shared) }")
    assert ops(hold(text, *both())) == ["Abs"]


def test_condition_with_a_dimension() -> None:
    text = choice("(float[2,3] o) { o = Exp(x) }", "(float[2,3] p) { p = Neg(x) }", inputs="float[2,3] x, bool[1] c")
    hold(text, *({"x": X, "c": np.array([c])} for c in (True, False)), by_reference=False)


def test_nested_choices() -> None:
    inner = (
        "If (d) <then_branch: graph = a () => (float[2,3] r) { r = Exp(x) }, else_branch: graph = b () => (float[2,3] s) { s = Neg(x) }>"
    )
    text = choice(f"(float[2,3] o) {{ o = {inner} }}", "(float[2,3] p) { p = Sqrt(shared) }", inputs="float[2,3] x, bool c, bool d")
    hold(text, *({"x": X, "c": np.array(c), "d": np.array(d)} for c in (True, False) for d in (True, False)))


def test_index_of_the_other_branch_may_be_out_of_range() -> None:
    take = "(float[3] o) { o = Gather(x, i) }"
    total = "(float[3] p) { zero = Constant <value_ints: ints = [0]> () p = ReduceSum <keepdims: int = 0> (x, zero) }"
    text = f"""g (float[2,3] x, int64 i) => (float[3] y) {{
        two = Constant <value_int: int = 2> ()
        c = Less(i, two)
        y = If (c) <then_branch: graph = t () => {take}, else_branch: graph = e () => {total}> }}"""
    loaded = hold(text, *({"x": X, "i": np.array(i)} for i in (0, 1, 7)))
    (gather,) = [node for node in loaded.graph.nodes if node.op == "Gather"]
    made = loaded.graph.producers()
    assert gather.inputs[1] is not None
    assert made[gather.inputs[1]].op == "Where"


def test_shapes_that_differ() -> None:
    text = choice("(float[2,3] o) { o = Exp(x) }", "(float[k,3] p) { p = Concat <axis: int = 0> (x, x) }", outputs="float[k,3] y")
    graph = imported(parsed(text)).graph
    ((_, y),) = graph.outputs
    assert str(y.type) == "f32[y.count, 3]"
    assert upper(y.type.static[0]) == 4
    assert [name for name, _ in graph.counts] == ["y.count"]


@pytest.mark.parametrize("other", ["(int64[2,3] p) { p = Cast <to: int = 7> (x) }", "(float[6] p) { p = Reshape(x, flat) }"])
def test_types_that_differ(other: str) -> None:
    text = choice("(float[2,3] o) { o = Exp(x) }", other).replace("shared = ", "flat = Constant <value_ints = [6]> () shared = ")
    found = refused(text)
    assert "in one case and" in found
    assert "one element type and rank is required" in found
    assert "--bind NAME=VALUE" in found


def test_large_branches_are_not_both_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(if_, "CHEAP_NODES", 3)
    text = choice("(float[2,3] o) { a = Exp(x) o = Neg(a) }", "(float[2,3] p) { b = Sqrt(shared) p = Neg(b) }")
    loaded = hold(text, *({"x": np.abs(X), "c": np.array(c)} for c in (True, False)))
    assert "nautilus::If" in ops(loaded)
    (held,) = [node for node in loaded.graph.nodes if node.op == "nautilus::If"]
    assert [[node.op for node in body.nodes] for body in bodies(held.attrs)] == [["Exp", "Neg"], ["Sqrt", "Neg"]]


@pytest.mark.parametrize(
    ("then", "message"),
    [
        ("(float[2,3] o) { shared = Exp(x) o = Neg(shared) }", "produces 'shared', which an input or initializer defines too"),
        ("(float[2,3] o) { a = Exp(a) o = Neg(x) }", "the nodes form a cycle"),
        ("(float[2,3] o) { a = Exp(x) }", "reads 'o', which no node produces"),
    ],
)
def test_malformed(then: str, message: str) -> None:
    assert message in refused(choice(then, "(float[2,3] p) { p = Neg(x) }"))


def test_sequences_of_equal_structure() -> None:
    text = choice(
        "(seq(float[2,3]) o) { a = Exp(x) o = SequenceConstruct(a, x) }",
        "(seq(float[2,3]) p) { b = Neg(x) p = SequenceConstruct(x, b) }",
    ).replace("y = If", "s = If")
    text = text.replace("}> }", "}> y = ConcatFromSequence <axis: int = 1> (s) }").replace("(float[2,3] y)", "(float[2,6] y)")
    hold(text, *both())


def test_optional_that_is_empty_in_one_branch() -> None:
    text = choice(
        "(optional(float[2,3]) o) { o = Optional(x) }",
        "(optional(float[2,3]) p) { p = Optional <type: type_proto = float[2,3]> () }",
    ).replace("y = If", "s = If")
    text = text.replace("}> }", "}> y = OptionalGetElement(s) }")
    found = refused(text)
    assert "is an optional value with f32[2, 3] in one case and an empty optional value in the other" in found

"""Loop: unrolled where it has few iterations, computed under masks with a condition at run time, else held whole; always in time."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend import importer
from nautilus_cli.frontend.constructs import loop as loop_module
from nautilus_cli.ir.control import bodies
from nautilus_cli.ops.evaluate import evaluate
from tests.unit.frontend.constructs.held import drawn, hold, refused
from tests.unit.frontend.models import ops

X = drawn(3)


def loop(
    body: str, *, trips: str = "n", condition: str = "on", inputs: str = "float[3] x", outputs: str = "float[3] y", count: int = 4
) -> str:
    """A model of one loop over one state that starts as x."""
    results = ", ".join(part.split()[-1] for part in outputs.split(", "))
    return f"""g ({inputs}) => ({outputs}) {{
        n = Constant <value_int: int = {count}> ()
        on = Constant <value: tensor = bool {{1}}> ()
        off = Constant <value: tensor = bool {{0}}> ()
        {results} = Loop ({trips}, {condition}, x) <body: graph = b {body}> }}"""


SUM = "(int64 i, bool c, float[3] a) => (bool c2, float[3] b, float[3] s) { c2 = Identity(c) b = Add(a, x) s = Mul(a, b) }"
BOTH = "float[3] y, float[k,3] z"


def test_states_and_scan_outputs() -> None:
    loaded = hold(loop(SUM, outputs=BOTH), {"x": X})
    assert ops(loaded).count("Add") == 4
    y, z = (value for _, value in loaded.graph.outputs)
    assert (y.tensor, z.tensor) == ("y", "z")
    assert y.type.shape == (3,)
    assert z.type.shape == (4, 3)
    (last,) = [node for node in loaded.graph.nodes if y in node.outputs]
    assert last.origin == ("#3 Loop[3]/#1 Add",)


def test_iteration_number_is_a_constant_in_each_copy() -> None:
    body = """(int64 i, bool c, float[3] a) => (bool c2, float[3] b) {
        c2 = Identity(c) two = Constant <value_int: int = 2> () odd = Mod(i, two) f = Cast <to: int = 1> (odd) b = Add(a, f) }"""
    loaded = hold(loop(body), {"x": X})
    assert set(ops(loaded)) == {"Add"}


def test_what_does_not_depend_on_the_iteration_is_imported_once() -> None:
    body = "(int64 i, bool c, float[3] a) => (bool c2, float[3] b) { c2 = Identity(c) e = Exp(x) t = Tanh(e) b = Add(a, t) }"
    assert sorted(ops(hold(loop(body), {"x": X}))) == ["Add"] * 4 + ["Exp", "Tanh"]


@pytest.mark.parametrize(("count", "steps"), [(0, 0), (-3, 0), (1, 1)])
def test_few_iterations(count: int, steps: int) -> None:
    loaded = hold(loop(SUM, outputs=BOTH, count=count), {"x": X}, by_reference=steps > 0)
    assert dict(loaded.graph.outputs)["z"].type.shape == (steps, 3)


def test_no_iterations_and_no_declared_shape() -> None:
    body = """(int64 i, bool c, float[3] a) => (bool c2, float[3] b, float[p,q] s) {
        c2 = Identity(c) b = Add(a, x) o = Constant <value_ints: ints = [1]> () s = Unsqueeze(b, o) }"""
    loaded = hold(loop(body, outputs="float[3] y, float[k,p,q] z", count=0), {"x": X}, by_reference=False, by_onnxruntime=False)
    assert dict(loaded.graph.outputs)["z"].type.shape == (0, 3, 1)
    assert loaded.graph.nodes == ()


def test_condition_that_the_body_computes_from_constants_ends_it() -> None:
    body = """(int64 i, bool c, float[3] a) => (bool c2, float[3] b, float[3] s) {
        two = Constant <value_int: int = 2> () c2 = Less(i, two) b = Add(a, x) s = Neg(b) }"""
    for trips in ("n", '""'):
        loaded = hold(loop(body, trips=trips, condition='""', outputs=BOTH, count=10**12), {"x": X}, by_reference=False)
        assert dict(loaded.graph.outputs)["z"].type.shape == (3, 3)


def test_a_state_that_counts_ends_it() -> None:
    """As Keras writes its recurrent layers: a state that begins as a constant, and a condition that reads nothing else."""
    text = """g (float[3] x) => (float[3] y, float[k,3] z) {
        zero = Constant <value_int: int = 0> () step = Constant <value_int: int = 2> () end = Constant <value_int: int = 7> ()
        y, last, z = Loop (, , x, zero) <body = b (int64 i, bool c, float[3] a, int64 t) => (bool c2, float[3] b, int64 t2, float[3] s)
            { t2 = Add(t, step) c2 = Less(t2, end) b = Add(a, x) s = Neg(b) }> }"""
    loaded = hold(text, {"x": X}, by_reference=False)
    assert dict(loaded.graph.outputs)["z"].type.shape == (4, 3)


def test_false_condition_means_no_iteration() -> None:
    body = "(int64 i, bool c, float[3] a) => (bool c2, float[3] b) { c2 = Identity(c) b = Add(a, a) }"
    assert hold(loop(body, condition="off"), {"x": X}).graph.nodes == ()


def test_loop_carried_value_that_grows() -> None:
    body = "(int64 i, bool c, float[p] a) => (bool c2, float[q] b) { c2 = Identity(c) b = Concat <axis: int = 0> (a, x) }"
    loaded = hold(loop(body, outputs="float[r] y"), {"x": X})
    assert dict(loaded.graph.outputs)["y"].type.shape == (15,)


def test_condition_at_run_time_masks() -> None:
    """The state doubles until its sum passes a bound that only the run knows."""
    body = """(int64 i, bool c, float[3] a) => (bool c2, float[3] b) {
        b = Add(a, a) s = ReduceSum <keepdims: int = 0> (b) c2 = Less(s, bound) }"""
    text = loop(body, inputs="float[3] x, float bound", count=6)
    x = np.ones(3, np.float32)
    hold(text, *({"x": x, "bound": np.array(bound, np.float32)} for bound in (0, 7, 25, 1000)))


def test_first_condition_at_run_time() -> None:
    body = "(int64 i, bool c, float[3] a) => (bool c2, float[3] b) { c2 = Identity(c) b = Add(a, a) }"
    text = loop(body, condition="go", inputs="float[3] x, bool go")
    loaded = hold(text, *({"x": X, "go": np.array(go)} for go in (True, False)))
    assert ops(loaded).count("Where") == 1  # chosen once, at the end


def test_index_that_is_out_of_range_behind_the_end_is_not_used() -> None:
    """A walk along a list whose end mark only the run sees: the iterations behind it would read what does not exist."""
    body = """(int64 i, bool c, int64 at) => (bool c2, int64 next) {
        z = Constant <value_int: int = 0> () next = Gather(links, at) c2 = GreaterOrEqual(next, z) }"""
    text = f"""g (int64[5] links, int64 x) => (int64 y) {{
        n = Constant <value_int: int = 8> () on = Constant <value: tensor = bool {{1}}> ()
        y = Loop (n, on, x) <body: graph = b {body}> }}"""
    links = np.array([2, 4, 3, -77, 1], np.int64)
    loaded = hold(text, *({"links": links, "x": np.array(x, np.int64)} for x in (0, 2, 3)))
    gathers = [node for node in loaded.graph.nodes if node.op == "Gather"]
    assert len(gathers) == 8
    made = loaded.graph.producers()
    assert [made[node.inputs[1]].op if node.inputs[1] in made else None for node in gathers[1:]] == ["Where"] * 7  # type: ignore[index]


def test_scan_output_of_unknown_length_is_an_error_where_it_is_read() -> None:
    body = """(int64 i, bool c, float[3] a) => (bool c2, float[3] b, float[3] s) {
        b = Add(a, a) s = Neg(b) r = ReduceSum <keepdims: int = 0> (b) c2 = Less(r, bound) }"""
    text = loop(body, inputs="float[3] x, float bound", outputs=BOTH)
    assert "reads scan output 0 of node '#3 Loop' (Loop): it has as many elements as the loop has iterations" in refused(text)
    unread = text.replace("float[3] y, float[k,3] z)", "float[3] y)")
    hold(unread, {"x": X, "bound": np.array(1, np.float32)})


@pytest.mark.parametrize("trips", ['""', "n"])
def test_many_iterations_under_a_condition_are_not_unrolled(trips: str) -> None:
    body = """(int64 i, bool c, float[3] a) => (bool c2, float[3] b) {
        one = Constant <value_float = 1.0> () b = Add(a, one) s = ReduceSum <keepdims: int = 0> (b) c2 = Less(s, bound) }"""
    text = loop(body, trips=trips, inputs="float[3] x, float bound", count=1001)
    loaded = hold(text, *({"x": X, "bound": np.array(bound, np.float32)} for bound in (-100, 10, 300)))
    assert ops(loaded) == ["nautilus::Loop"]


@pytest.mark.parametrize(("trips", "bound"), [('""', "without a trip count"), ("n", "with 1000 iterations that may or may not happen")])
def test_too_many_iterations_under_a_condition_of_what_must_be_unrolled(trips: str, bound: str) -> None:
    body = """(int64 i, bool c, float[p] a) => (bool c2, float[q] b) {
        b = Concat <axis: int = 0> (a, a) s = ReduceSum <keepdims: int = 0> (b) z = CastLike(i, s) c2 = Less(s, z) }"""
    found = refused(loop(body, trips=trips, count=1001, outputs="float[r] y"))
    assert f"node '#3 Loop' (Loop): its condition is only known at run time, {bound}; at most 64" in found


def test_trip_count_at_run_time() -> None:
    body = "(int64 i, bool c, float[3] a) => (bool c2, float[3] b) { c2 = Identity(c) b = Add(a, x) }"
    text = loop(body, trips="k", inputs="float[3] x, int64 k")
    hold(text, *({"x": X, "k": np.array(k)} for k in (-1, 0, 1, 3, 100)))
    hold(text, {"x": X, "k": np.array(3)}, bindings={"k": "3"})


def test_trip_count_at_run_time_of_what_must_be_unrolled() -> None:
    body = "(int64 i, bool c, float[p] a) => (bool c2, float[q] b) { c2 = Identity(c) b = Concat <axis: int = 0> (a, a) }"
    found = refused(loop(body, trips="k", inputs="float[3] x, int64 k", outputs="float[r] y"))
    assert "its trip count is only known at run time, and its body cannot be repeated as it is: state 0 is f32[3] before" in found
    assert "--bind NAME=VALUE" in found


def test_states_that_grow_are_not_unrolled() -> None:
    """Through many iterations, or until a condition says; behind an empty loop, it is what it was before."""
    body = "(int64 i, bool c, float[p] a) => (bool c2, float[q] b) { c2 = Identity(c) b = Concat <axis: int = 0> (a, x) }"
    assert "nautilus::Loop" in ops(hold(loop(body, trips="n", count=100, outputs="float[r] y"), {"x": X}))
    body = """(int64 i, bool c, float[p] a) => (bool c2, float[q] b) {
        b = Concat <axis: int = 0> (a, x) s = ReduceSumSquare <keepdims: int = 0> (b) c2 = Less(s, bound) }"""
    text = loop(body, trips='""', inputs="float[3] x, float bound", outputs="float[r] y")
    hold(text, *({"x": X, "bound": np.array(bound, np.float32)} for bound in (-1, 20, 90)))


COUNTED = "(int64 i, bool c, float[3] a) => (bool c2, float[3] b, float[3] s) { c2 = Identity(c) b = Add(a, x) s = Mul(a, b) }"


def test_trip_count_that_an_output_declares() -> None:
    """The library is for that many iterations, and a run with another number fails: by an index, the one way in which a run can fail."""
    text = loop(COUNTED, trips="k", condition="go", inputs="float[3] x, int64 k, bool go", outputs="float[3] y, float[4,3] z")
    loaded = hold(text, {"x": X, "k": np.array(4), "go": np.array(True)})
    (checked,) = [value for name, value in loaded.graph.outputs if name == "z"]
    assert (checked.type.shape, checked.tensor) == ((4, 3), "z")
    for count, go in ((3, True), (5, True), (4, False), (-1, True)):
        with pytest.raises(ModelError, match="index 1 is outside a dimension of 1"):
            evaluate(loaded.graph, {"x": X, "k": np.array(count), "go": np.array(go)})


def test_declared_length_behind_a_conversion() -> None:
    text = loop(COUNTED, trips="k", inputs="float[3] x, int64 k", outputs="float[3] y, float[k,3] z").replace(
        "}> }", "}> w = Cast <to = 11> (z) }"
    )
    text = text.replace("float[k,3] z)", "double[4,3] w)")
    hold(text, {"x": X, "k": np.array(4)})


def test_length_of_an_endless_loop_that_an_output_declares() -> None:
    body = """(int64 i, bool c, float[3] a) => (bool c2, float[3] b, float[3] s) {
        b = Add(a, a) s = Neg(b) r = ReduceSum <keepdims: int = 0> (b) c2 = Less(r, bound) }"""
    text = loop(body, trips='""', inputs="float[3] x, float bound", outputs="float[3] y, float[3,3] z")
    x = np.ones(3, np.float32)  # sums of 6, 12 and 24
    loaded = hold(text, {"x": x, "bound": np.array(20, np.float32)})
    for bound in (10, 30):
        with pytest.raises(ModelError, match="index 1 is outside a dimension of 1"):
            evaluate(loaded.graph, {"x": x, "bound": np.array(bound, np.float32)})


def test_declared_length_that_cannot_be() -> None:
    body = COUNTED.replace("c2 = Identity(c)", "two = Constant <value_int: int = 2> () c2 = Less(i, two)")
    text = loop(body, trips="k", inputs="float[3] x, int64 k", outputs="float[3] y, float[5,3] z")
    assert "has 3 iterations, but an output is declared with 5" in refused(text)
    endless = loop(COUNTED, trips='""', condition="go", inputs="float[3] x, bool go", outputs="float[3] y, float[5,3] z")
    assert "does not end after 5 iterations, as many as an output is declared with" in refused(endless)
    huge = loop(COUNTED, trips="k", inputs="float[3] x, int64 k", outputs="float[3] y, float[1000000000,3] z")
    assert "unroll to more than" in refused(huge)


def test_state_that_changes_its_shape_under_a_condition() -> None:
    body = """(int64 i, bool c, float[p] a) => (bool c2, float[q] b) {
        b = Concat <axis: int = 0> (a, a) s = ReduceSum <keepdims: int = 0> (b) c2 = Less(s, bound) }"""
    found = refused(loop(body, inputs="float[3] x, float bound", outputs="float[r] y"))
    assert "loop-carried value 0 is f32[12] in one case and f32[6] in the other" in found


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("(int64 i, bool c) => (bool c2, float[3] b) { c2 = Identity(c) b = Neg(x) }", "body has 2 inputs and 2 outputs; the node needs 3"),
        ("(int64 i, bool c, float[3] a) => (bool c2) { c2 = Identity(c) }", "body has 3 inputs and 1 outputs; the node needs 3 and 2"),
        ("(int64 i, bool c, float[3] a) => (float[3] b, float[3] d) { b = Neg(a) d = Abs(a) }", "its body's condition has the type f32[3]"),
        (
            "(int64 i, bool c, float[3] c) => (bool c2, float[3] b) { c2 = Identity(c) b = Neg(x) }",
            "two inputs of its subgraph have one name",
        ),
        ("(int64 i, bool c, float[3] a) => (bool c2, float[3] x) { c2 = Identity(c) x = Neg(a) }", "an input or initializer defines too"),
        ("(int64 i, bool c, float[3] a) => (bool c2, float[3] b) { c2 = Identity(c) b = Neg(ghost) }", "'ghost', which no node produces"),
    ],
)
def test_malformed(body: str, message: str) -> None:
    assert message in refused(loop(body))


def test_operands_of_the_wrong_type() -> None:
    body = "(int64 i, bool c, float[3] a) => (bool c2, float[3] b) { c2 = Identity(c) b = Neg(a) }"
    assert "operand 'M' has the type f32[3]; the specification requires one integer" in refused(loop(body, trips="x"))
    assert "operand 'cond' has the type i64[]; the specification requires one bool" in refused(loop(body, condition="n"))


def test_nested_loops_capture_and_shadow() -> None:
    """The inner body reads names of both graphs around it; its own input of an outer name goes before that one."""
    inner = "(int64 j, bool d, float[3] x) => (bool d2, float[3] o) { d2 = Identity(d) t = Mul(x, w) o = Add(t, a) }"
    body = (
        f'(int64 i, bool c, float[3] a) => (bool c2, float[3] b) {{ c2 = Identity(c) b = Loop (m, "", a) <body: graph = inner {inner}> }}'
    )
    text = loop(body, inputs="float[3] x, float[3] w", count=3)
    text = text.replace("n = ", "m = Constant <value_int: int = 2> ()\nn = ", 1)
    loaded = hold(text, {"x": X, "w": drawn(3, seed=1)}, by_reference=False)  # the reference lets the outer name go before
    assert len(ops(loaded)) == 12
    assert loaded.graph.nodes[-1].origin == ("#4 Loop[2]/#1 Loop[1]/#2 Add",)


def test_initializer_of_a_body_is_one_constant() -> None:
    body = "(int64 i, bool c, float[3] a) => (bool c2, float[3] b) <float[3] w = {1, 2, 3}> { c2 = Identity(c) b = Add(a, w) }"
    loaded = hold(loop(body), {"x": X})
    assert len({node.inputs[1] for node in loaded.graph.nodes}) == 1


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("(int64 i, bool c, float[3] a) => (bool c2, float[3] b) { c2 = Identity(c) b = Add(a, x) }", "has 1000000000000 iterations"),
        ("(int64 i, bool c, float[3] a) => (bool c2, int64 b) { c2 = Identity(c) b = Add(i, i) }", "unroll to more than"),
        ("(int64 i, bool c, float[p] a) => (bool c2, float[q] b) { c2 = Identity(c) b = Concat <axis = 0> (a, x) }", "unroll to more than"),
    ],
)
def test_endless_loops_are_refused(body: str, why: str) -> None:
    """Those that are unrolled by a count of nodes, which is there in seconds."""
    outputs = "float[r] y" if "Concat" in body else "float[3] y"
    assert why in refused(loop(body, count=10**12, outputs=outputs))


def test_a_loop_without_an_end_is_refused() -> None:
    body = "(int64 i, bool c, float[3] a) => (bool c2, float[3] b) { c2 = Identity(c) b = Add(a, x) }"
    assert "never ends: it has no trip count, and its condition stays true" in refused(loop(body, trips='""'))


def test_states_that_stay_as_they_are_need_no_loop() -> None:
    assert hold(loop("(int64 i, bool c, float[3] a) => (bool c, float[3] a) { }", count=10**12), by_reference=False).graph.nodes == ()


INNER = "(int64 j, bool d, float[3] e) => (bool d2, float[3] o) { d2 = Identity(d) f = Cast <to = 1> (i) g = Add(x, f) o = Add(e, g) }"


def test_nested_loops_unroll_under_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "MAX_UNROLLED_NODES", 200)
    inner = "(int64 j, bool d, float[p] e) => (bool d2, float[q] o) { d2 = Identity(d) o = Concat <axis = 0> (e, x) }"
    body = f"""(int64 i, bool c, float[p] a) => (bool c2, float[q] b) {{
        c2 = Identity(c) b = Loop (n, "", a) <body: graph = inner {inner}> }}"""
    assert "unroll to more than 200 nodes" in refused(loop(body, count=12, outputs="float[r] y"))


def test_nested_loops_that_are_not_unrolled() -> None:
    body = f"""(int64 i, bool c, float[3] a) => (bool c2, float[3] b) {{
        c2 = Identity(c) b = Loop (k, "", a) <body: graph = inner {INNER}> }}"""
    loaded = hold(
        loop(body, trips="k", inputs="float[3] x, int64 k"), *({"x": X, "k": np.array(k)} for k in (0, 1, 2, 5)), by_reference=False
    )
    (outer,) = loaded.graph.nodes
    (body_graph,) = bodies(outer.attrs)
    assert [node.op for node in body_graph.nodes if node.op == "nautilus::Loop"] == ["nautilus::Loop"]


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_what_is_not_unrolled_gives_the_same(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_module, "MOST_UNROLLED", 0)
    body = """(int64 i, bool c, float[3] a) => (bool c2, float[3] b, float[3] s, int64 t) {
        c2 = Identity(c) f = Cast <to = 1> (i) g = Add(a, f) b = Add(g, x) s = Neg(a) t = Add(i, i) }"""
    loaded = hold(loop(body, outputs="float[3] y, float[k,3] z, int64[k] w", count=count), {"x": X}, by_reference=False)
    assert ops(loaded) == ([] if count == 0 else ["nautilus::Loop"])
    assert [value.tensor for _, value in loaded.graph.outputs][: 2 if count else 0] == ["y", "z"][: 2 if count else 0]

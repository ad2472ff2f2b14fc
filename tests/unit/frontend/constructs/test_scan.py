"""Scan in both of its forms: directions, axes, several states and scanned tensors, lengths."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend import load_model
from nautilus_cli.frontend.constructs import loop as loop_module
from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.ir.ranges import DimRange
from tests.unit.frontend.constructs.held import drawn, hold, parsed, refused
from tests.unit.frontend.models import ops

STATE = drawn(2, seed=1)
X = drawn(5, 2, seed=2)
SUM = "(float[2] s, float[2] e) => (float[2] t, float[2] o) { t = Add(s, e) o = Tanh(t) }"


def scan(body: str, attributes: str = "", *, inputs: str = "float[2] s0, float[5,2] x", outputs: str = "float[2] y, float[p,q] z") -> str:
    operands, results = (", ".join(part.split()[-1] for part in ports.split(", ")) for ports in (inputs, outputs))
    count = 1 if "num_scan_inputs" not in attributes else None
    given = ", ".join(part for part in ("num_scan_inputs = 1" if count else "", attributes) if part)
    return f"g ({inputs}) => ({outputs}) {{ {results} = Scan <body = b {body}, {given}> ({operands}) }}"


def test_state_and_output() -> None:
    loaded = hold(scan(SUM), {"s0": STATE, "x": X})
    (_, y), (_, z) = loaded.graph.outputs
    assert (y.tensor, z.tensor) == ("y", "z")
    assert ops(loaded).count("Add") == 5


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("reads", [0, 1])
@pytest.mark.parametrize("writes", [0, 1])
def test_directions(reads: int, writes: int) -> None:
    hold(
        scan(SUM, f"scan_input_directions = [{reads}], scan_output_directions = [{writes}]"),
        {"s0": STATE, "x": X},
        by_reference=False,  # it has no directions of outputs
    )


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("axis", "shape"), [(0, (5, 2)), (1, (2, 5)), (-1, (2, 5))])
@pytest.mark.parametrize("out", [0, 1, -2])
def test_axes(axis: int, shape: tuple[int, int], out: int) -> None:
    text = scan(SUM, f"scan_input_axes = [{axis}], scan_output_axes = [{out}]", inputs=f"float[2] s0, float[{shape[0]},{shape[1]}] x")
    hold(text, {"s0": STATE, "x": drawn(*shape)}, by_reference=False)


@pytest.fixture(params=["unrolled", "held"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unrolls scans, and holds their bodies."""
    monkeypatch.setattr(loop_module, "MOST_UNROLLED", 64 if request.param == "unrolled" else 0)


@pytest.mark.usefixtures("way")
def test_several_of_everything() -> None:
    body = """(float[2] s, float t, float[2] a, float[2,3] b) => (float[2] s2, float t2, float[2] p, float[2,3] q, float r) {
        m = ReduceMean <keepdims = 0> (b) t2 = Add(t, m) s2 = Mul(s, a) p = Add(s2, t2) c = Neg(b) q = Add(c, t2) r = Identity(t2) }"""
    text = scan(
        body,
        "num_scan_inputs = 2, scan_input_axes = [1, 2], scan_input_directions = [0, 1], scan_output_axes = [1, 0, 0], "
        "scan_output_directions = [0, 1, 0]",
        inputs="float[2] s0, float t0, float[2,4] a, float[2,3,4] b",
        outputs="float[2] s9, float t9, float[2,4] p9, float[4,2,3] q9, float[4] r9",
    )
    feeds = {"s0": STATE, "t0": np.array(0.5, np.float32), "a": drawn(2, 4), "b": drawn(2, 3, 4)}
    hold(text, feeds, by_reference=False)


def test_no_state() -> None:
    hold(scan("(float[2] e) => (float[2] o) { o = Exp(e) }", inputs="float[5,2] x", outputs="float[5,2] z"), {"x": X})


def test_no_steps() -> None:
    loaded = hold(scan(SUM, inputs="float[2] s0, float[0,2] x"), {"s0": STATE, "x": X[:0]}, by_reference=False, by_onnxruntime=False)
    assert dict(loaded.graph.outputs)["y"] is loaded.graph.inputs[0][1]
    assert dict(loaded.graph.outputs)["z"].type.shape == (0, 2)
    along = scan(SUM, "scan_output_axes = [1]", inputs="float[2] s0, float[0,2] x")
    assert dict(hold(along, by_reference=False).graph.outputs)["z"].type.shape == (2, 0)


def test_body_that_captures() -> None:
    body = "(float[2] s, float[2] e) => (float[2] t, float[2] o) { k = Exp(s0) u = Mul(e, k) t = Add(s, u) o = Sub(t, w) }"
    text = f"""g (float[2] s0, float[5,2] x, float[2] v) => (float[2] y, float[5,2] z) {{
        w = Neg(v) y, z = Scan <body = b {body}, num_scan_inputs = 1> (s0, x) }}"""
    loaded = hold(text, {"s0": STATE, "x": X, "v": drawn(2)})
    assert ops(loaded).count("Exp") == 1  # it depends on no step


BATCH = "float[3,2] s0, float[3,5,2] x"
BATCHED = "float[3,2] y, float[3,5,2] z"


def test_pieces_of_a_size_that_a_kernel_gives() -> None:
    """The host cannot walk along them: a few steps are copies of the body, and more are refused before anything is compiled."""
    body = "{ t = Neg(s) o = ReduceSum <keepdims = 0> (e) }"
    scanned = f"Scan <body = b (float[2] s, float[c] e) => (float[2] t, float o) {body}, num_scan_inputs = 1> (s0, u)"
    text = f"g (float[2] s0, float[N,3] x) => (float[2] y, float[p] z) {{ u = Unique <axis = 1> (x) y, z = {scanned} }}"
    hold(text.replace("N", "4", 1), {"s0": STATE, "x": np.float32([[1, 2, 1]] * 4)}, {"s0": STATE, "x": drawn(4, 3)})
    proto = parsed(text.replace("N", "n", 1))
    with pytest.raises(ModelError, match=r"pieces of f32\[.*u\.count.*\], whose size a kernel gives"):
        load_model(proto, ExternalData(None), "", dims={"n": DimRange(1, 500)})


def batched(attributes: str = "", lengths: str = '""', inputs: str = BATCH) -> str:
    given = f", {attributes}" if attributes else ""
    return f"g ({inputs}) => ({BATCHED}) {{ y, z = Scan <body = b {SUM}, num_scan_inputs = 1{given}> ({lengths}, s0, x) }}"


@pytest.mark.parametrize("attributes", ["", "directions = [1]"])
def test_batched_form(attributes: str) -> None:
    hold(batched(attributes), {"s0": drawn(3, 2), "x": drawn(3, 5, 2)}, opset=8, by_reference=False)


def test_lengths_at_run_time() -> None:
    """Behind its length a sequence's state stays, and its outputs are zero."""
    feeds = [{"n": np.array(n, np.int64), "s0": drawn(3, 2), "x": drawn(3, 5, 2)} for n in ([5, 2, 1], [3, 5, 4])]
    hold(batched(lengths="n", inputs=f"int64[3] n, {BATCH}"), *feeds, opset=8, by_reference=False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (scan(SUM, "num_scan_inputs = 3"), "num_scan_inputs is 3; with its operands the specification allows 1 to 2"),
        (scan(SUM, "scan_input_axes = [2]"), "scan_input_axes has 2; for a tensor of rank 2 the specification allows -2 to 1"),
        (scan(SUM, "scan_input_axes = [0, 1]"), "attribute 'scan_input_axes' is no list of 1 integers"),
        (scan(SUM, "scan_output_directions = [2]"), "scan_output_directions is [2]; the specification allows 0 and 1"),
        (scan("(float[2] s, float[2] e) => (float[4] t, float[2] o) { t = Concat <axis = 0> (s, e) o = Neg(e) }"),
         "state variable 0 is f32[4] after step 0 and f32[2] before it"),
        (scan("(float[2] e) => (float[2] o, float[2] p) { o = Neg(e) p = Abs(e) }"), "body has 1 inputs and 2 outputs; the node needs 2"),
        (
            scan("(float[2] a, float[2] b) => (float[2] o) { o = Add(a, b) }", "num_scan_inputs = 2",
                 inputs="float[4,2] a, float[5,2] b", outputs="float[p,q] z"),
            "its scan inputs have 4, 5 elements; the specification requires one number",
        ),
        (scan(SUM, inputs="float[2] s0, float[100000000,2] x"), "has 100000000 iterations; at most 1048576 are possible"),
    ],
)  # fmt: skip
def test_malformed(text: str, message: str) -> None:
    assert message in refused(text)

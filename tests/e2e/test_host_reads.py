"""Numbers of kernels without a bound that memory could be planned for: the host waits for them, and plans what follows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.errors import NotServedError
from nautilus_cli.ir.ranges import DimRange
from tests.e2e.test_counts import Network, hold
from tests.e2e.test_run_time_control_flow import Compiled, drawn

TARGET = "emulated"


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "model.json").read_text())
    return found


def steps(folder: Path) -> list[str]:
    return [step["kind"] for step in manifest(folder)["steps"]]


def single(number: int) -> np.ndarray:
    """Many numbers whose sum is one of them."""
    return np.array([number] + [0] * 99)


def test_a_number_without_a_bound(tmp_path: Path) -> None:
    """A tensor of as many elements as the model computes, which no output has: the default bound of sizes does not bound it."""
    s = Network()
    number = s.node("ReduceSum", s.input("mask", np.int64, 100), s.constant([0]))
    filled = s.node("Expand", s.constant([0.25], np.float32), number)  # of sums that are exact
    s.node("ReduceSum", s.node("Sqrt", s.node("Concat", filled, s.constant([4.0], np.float32), axis=0)), s.constant([0]))
    hold(s.model(), [{"mask": single(n)} for n in (3, 10000, 1, 0, 65536, 7)], tmp_path)
    assert "read" in steps(tmp_path)


def attention(s: Network, rows: int) -> str:
    """Of the rows that count: each over all of them."""
    x, w = s.input("x", np.float32, rows, 4), s.constant(drawn(4, 4, scale=0.4), np.float32)
    likely = s.node("NonZero", s.node("Greater", s.input("score", np.float32, rows), s.constant(0.5, np.float32)))
    kept = s.node("Gather", x, s.node("Squeeze", likely, s.constant([0])), axis=0)
    scores = s.node("MatMul", s.node("MatMul", kept, w), s.node("Transpose", kept, perm=[1, 0]))
    return s.node("MatMul", s.node("Softmax", scores, axis=1), kept)


def rows_of(rows: int, count: int) -> dict[str, np.ndarray]:
    return {"x": drawn(rows, 4, seed=count), "score": (np.arange(rows) * 7 % rows < count).astype(np.float32)}


def test_a_bound_that_is_too_great(tmp_path: Path) -> None:
    """All of them at once would take 10 GB; there are few, and memory is what these take."""
    rows = 50000 + 1
    s = Network()
    s.node("ReduceSum", attention(s, rows), s.constant([0]))
    hold(s.model(), [rows_of(rows, count) for count in (5, 200, 17, 5, 1)], tmp_path)
    (read,) = [step for step in manifest(tmp_path)["steps"] if step["kind"] == "read"]
    assert read["size"] == "n1_0.count"
    with nautilus_cli.load(tmp_path / "model.so") as library:
        told = library.model.workspace_bytes_for([tensor.shape for tensor in library.inputs])
        assert told < 4 << 20 and library.manifest["arena_bytes"] < 4 << 20, "what is planned for is what is known before"


def test_a_note_says_so(tmp_path: Path) -> None:
    s = Network()
    s.node("ReduceSum", attention(s, 50000), s.constant([0]))
    path = tmp_path / "model.onnx"
    onnx.save(s.model(), path)

    def notes(**dims: DimRange) -> tuple[str, ...]:
        return driver.preview(driver.PreviewOptions(model=path, target=TARGET, dims=dims)).notes

    (note,) = notes()
    assert "n1_0.count is up to 50000, for which a tensor would take 9.3 GiB: a run waits for it, and plans what follows; --dim" in note
    assert notes(**{"n1_0.count": DimRange(0, 1000)}) == ()
    sections = driver.preview(driver.PreviewOptions(model=path, target=TARGET)).sections
    assert any("read n1_0.count: the host waits for it" in section.text for section in sections)


def test_beside_numbers_that_outputs_have(tmp_path: Path) -> None:
    """Of two numbers that one tensor has the host reads one; the other one is for kernels, since the caller has to give memory for it."""
    rows = 30000
    s = Network()
    found = attention(s, rows)
    others = s.node("Compress", s.input("y", np.float32, 20, 4), s.input("keep", bool, 20), axis=0)
    crossed = s.node("MatMul", others, s.node("Transpose", found, perm=[1, 0]))
    s.node("ReduceMax", s.node("Add", crossed, s.node("Sin", crossed)), s.constant([1]), keepdims=0)
    s.node("Relu", others)
    feeds = [
        {**rows_of(rows, count), "y": drawn(20, 4), "keep": np.arange(20) < some} for count, some in ((3, 1), (300, 20), (40, 7), (3, 1))
    ]
    hold(s.model(), feeds, tmp_path)
    assert "read" in steps(tmp_path)


def test_two_in_a_row(tmp_path: Path) -> None:
    """The second is counted among what the first one left; what is computed before each wait is as it was behind it."""
    rows = 40000
    s = Network()
    first = attention(s, rows)
    means = s.node("ReduceMean", first, s.constant([1]), keepdims=0)
    places = s.node("Squeeze", s.node("NonZero", s.node("Greater", means, s.constant(0.0, np.float32))), s.constant([0]))
    second = s.node("Gather", first, places, axis=0)
    pairs = s.node("Exp", s.node("MatMul", second, s.node("Transpose", second, perm=[1, 0])))
    s.node("ReduceSum", s.node("MatMul", pairs, second), s.constant([0]))
    s.node("ReduceSum", first, s.constant([0]))
    hold(s.model(), [rows_of(rows, count) for count in (6, 150, 2, 6)], tmp_path)
    assert steps(tmp_path).count("read") == 2


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_with_branches_and_loops_around(launch: str, tmp_path: Path) -> None:
    """A loop and a branch read what has such a size, with an open dimension beside it."""
    text = """g (float[50000] x, float[B,2] z, int64 k, bool c) => (float[B] y, float total) {
        least = Constant <value_float = 0.5> () axis = Constant <value_ints = [0]> () last = Constant <value_ints = [1]> ()
        m = Greater(x, least) found = NonZero(m) places = Squeeze(found, axis) v = Gather(x, places)
        column = Unsqueeze(v, last) row = Unsqueeze(v, axis) pairs = MatMul(column, row) some = Softmax <axis = 1> (pairs)
        looped = Loop (k, , v) <body = b (int64 i, bool d, float[n] a) => (bool e, float[n] f) {
            e = Identity(d) col = Unsqueeze(a, last) p = MatMul(some, col) q = Squeeze(p, last) f = Tanh(q) }>
        total = If (c) <then_branch = t () => (float o) { o = ReduceSum <keepdims = 0> (looped, axis) },
            else_branch = u () => (float r) {
                s = MatMul(row, column) w = MatMul(column, s) h = ReduceMax <keepdims = 0> (w) r = Tanh(h) }>
        zs = ReduceSum <keepdims = 0> (z, last) y = Add(zs, total) }"""
    compiled = Compiled(text, tmp_path, B=DimRange(1, 8))
    assert any("found.count is up to 50000" in note for note in compiled.result.notes)
    feeds = []
    for batch, count, k, c in (
        (1, 4, 2, True),
        (5, 100, 3, True),
        (5, 9, 1, False),
        (8, 100, 0, True),
        (5, 100, 3, True),
        (5, 100, 3, True),
    ):
        x = np.where(np.arange(50000) * 7 % 50000 < count, 0.5 + np.abs(drawn(50000)), 0).astype(np.float32)
        feeds.append({"x": x, "z": drawn(batch, 2), "k": np.int64(k), "c": np.bool_(c)})
    compiled.hold(*feeds, launch=launch)


def test_a_number_beyond_what_can_be(tmp_path: Path) -> None:
    s = Network()
    number = s.node("ReduceSum", s.input("mask", np.int64, 100), s.constant([0]))
    s.node("ReduceSum", s.node("Expand", s.constant([0.5], np.float32), number), s.constant([0]))
    path, output = tmp_path / "model.onnx", tmp_path / "model.so"
    onnx.save(s.model(), path)
    driver.compile(driver.CompileOptions(model=path, output=output, target=TARGET, verify=False, jobs=1))
    with nautilus_cli.load(output) as library:
        with pytest.raises(NotServedError, match="is at least 2147483647; the library was compiled for at most 268435456"):
            library({"mask": single(2**33)})
        np.testing.assert_array_equal(library({"mask": single(12)})["n2_0"], [6])

"""Numbers that iterations and branches compute and that decide shapes there: kept on the device where they have a bound, else read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.errors import NautilusError, NotServedError
from nautilus_cli.ir.ranges import DimRange
from tests.e2e.test_run_time_control_flow import Compiled, drawn

NUMBERS = """zero = Constant <value_float = 0.0> () one = Constant <value_int = 1> () nought = Constant <value_int = 0> ()
    axis = Constant <value_ints = [0]> () last = Constant <value_ints = [1]> () flat = Constant <value_ints = [-1]> ()
    least = Constant <value_float = 0.5> () quarter = Constant <value_floats = [0.25]> ()"""
"""Constants that the models read."""


def kinds(steps: list[dict[str, Any]]) -> Iterator[str]:
    """The kinds of steps, those that steps hold included."""
    for step in steps:
        yield step["kind"]
        for held in ("body", "then", "else"):
            yield from kinds(step.get(held, []))


def steps_of(compiled: Compiled) -> list[str]:
    return list(kinds(compiled.manifest["steps"]))


BY_NUMBER = f"""g (float[40] x, int64 k) => (float s) {{ {NUMBERS}
    s = Loop (k, , zero) <body = b (int64 i, bool c, float t) => (bool d, float u) {{
        d = Identity(c) e = Reshape(i, flat) y = Slice(x, axis, e) z = Sin(y) q = ReduceSum <keepdims = 0> (z) u = Add(t, q) }}> }}"""


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_a_slice_up_to_the_iterations_number(launch: str, tmp_path: Path) -> None:
    """It has the dimension for a bound, so nothing waits for it."""
    compiled = Compiled(BY_NUMBER, tmp_path)
    assert "read" not in steps_of(compiled)
    compiled.hold(*({"x": drawn(40), "k": np.int64(k)} for k in (0, 1, 7, 60)), launch=launch)


USES = {
    "count": "j = Reshape(i, flat) v, w = TopK(x, j)",
    "amounts": "nil = Constant <value_ints = [0]> () j = Reshape(i, flat) p = Concat <axis = 0> (nil, j) y = Pad(x, p) v = Cos(y)",
    "part": "j = Reshape(i, flat) e = Add(j, two) v = Slice(x, j, e)",
    "rest": "even = Mod(i, two) n = Add(even, one) j = Reshape(n, flat) h = Concat <axis = 0> (j, flat) r = Reshape(x, h) "
    "v = ReduceMax <axes = [0], keepdims = 0> (r)",
}
"""What may be made of an iteration's number; among constants, which stay what they are: the -1 of a shape, no amount at the front."""


@pytest.mark.parametrize("use", USES)
def test_beside_constants(use: str, tmp_path: Path) -> None:
    text = f"""g (float[24] x, int64 k) => (float s) {{ {NUMBERS} two = Constant <value_int = 2> ()
        s = Loop (k, , zero) <body = b (int64 i, bool c, float t) => (bool d, float u) {{
            d = Identity(c) {USES[use]} q = ReduceSum <keepdims = 0> (v) u = Add(t, q) }}> }}"""
    compiled = Compiled(text, tmp_path)
    compiled.hold(*({"x": drawn(24), "k": np.int64(k)} for k in (0, 1, 5, 9)))


def test_a_shape_of_a_number_and_constants(tmp_path: Path) -> None:
    """What is no number of the run stays a size that is known."""
    text = f"""g (int64[100] m, float[1,8] x) => (float[n,8] y) {{ {NUMBERS}
        n = ReduceSum (m, axis) eight = Constant <value_ints = [8]> () shape = Concat <axis = 0> (n, eight) w = Expand(x, shape)
        y = Sin(w) }}"""
    compiled = Compiled(text, tmp_path)
    assert any("n[0] is a size without a bound" in note for note in compiled.result.notes)
    compiled.hold(*({"m": (np.arange(100) < n).astype(np.int64), "x": drawn(1, 8)} for n in (3, 0, 1, 100)))


BY_STATE = f"""g (int64 k, int64 m, float[3] w) => (float s, int64 n) {{ {NUMBERS}
    s, n = Loop (k, , zero, m) <body = b (int64 i, bool c, float t, int64 a) => (bool d, float u, int64 b) {{
        d = Identity(c) r = Range(nought, a, one) f = Cast <to = 1> (r) y = Cos(f) z = Concat <axis = 0> (y, w)
        q = ReduceSum <keepdims = 0> (z) u = Add(t, q) b = Add(a, one) }}> }}"""


def test_as_many_as_a_state_says(tmp_path: Path) -> None:
    compiled = Compiled(BY_STATE, tmp_path)
    compiled.hold(*({"k": np.int64(k), "m": np.int64(m), "w": drawn(3)} for k, m in ((3, 0), (1, 700), (0, 5), (5, 100))))


def test_a_number_that_is_computed_around_the_loop(tmp_path: Path) -> None:
    """It is the same in each iteration: a kernel gives it once, and a state may have such a size."""
    text = f"""g (float[100] x, int64 k) => (float s) {{ {NUMBERS}
        big = Greater(x, least) ones = Cast <to = 7> (big) n = ReduceSum <keepdims = 0> (ones)
        s = Loop (k, , zero) <body = b (int64 i, bool c, float t) => (bool d, float u) {{
            d = Identity(c) r = Range(nought, n, one) f = Cast <to = 1> (r) y = Cos(f) q = ReduceSum <keepdims = 0> (y) v = Add(t, q)
            u = Tanh(v) }}> }}"""
    compiled = Compiled(text, tmp_path)
    compiled.hold(*({"x": drawn(100, scale=scale), "k": np.int64(k)} for k, scale in ((0, 1), (3, 1), (4, 0.01), (2, 5))))


def test_until_a_condition_ends_it(tmp_path: Path) -> None:
    """The first half of the part before, as long as there are two elements."""
    text = f"""g (float[64] x, int64 n) => (float s, int64 left) {{ {NUMBERS}
        two = Constant <value_int = 2> () on = Constant <value: tensor = bool {{1}}> ()
        s, left = Loop (, on, zero, n) <body = b (int64 i, bool c, float t, int64 a) => (bool d, float u, int64 b) {{
            e = Reshape(a, flat) y = Slice(x, axis, e) z = Exp(y) q = ReduceSum <keepdims = 0> (z) u = Add(t, q) b = Div(a, two)
            d = Greater(b, one) }}> }}"""
    compiled = Compiled(text, tmp_path)
    compiled.hold(*({"x": drawn(64), "n": np.int64(n)} for n in (1, 64, 3, 17)))


def in_a_branch(nodes: str) -> str:
    """A branch whose work is heavy, so that the run takes one, and has as many elements as it computes."""
    return f"""g (float[70] x, bool c) => (float s) {{ {NUMBERS}
        s = If (c) <then_branch = t () => (float o) {{
                big = Greater(x, least) ones = Cast <to = 7> (big) n = ReduceSum <keepdims = 0> (ones) {nodes}
                y = Softmax(f) o = ReduceMax <keepdims = 0> (y) }},
            else_branch = e () => (float r) {{ w = Softmax(x) r = ReduceSum <keepdims = 0> (w) }}> }}"""


RANGE = "z = Add(n, one) r = Range(nought, z, one) f = Cast <to = 1> (r)"


def test_in_a_branch(tmp_path: Path) -> None:
    compiled = Compiled(in_a_branch(RANGE), tmp_path)
    assert steps_of(compiled)[0] == "if"
    compiled.hold(*({"x": drawn(70, scale=2), "c": np.bool_(c)} for c in (True, False, True)))


def test_what_a_branch_that_is_not_taken_computes_is_no_error(tmp_path: Path) -> None:
    """Both are computed, as they are cheap; of the one that is not wanted the number may be anything."""
    text = f"""g (float[80] x, bool c) => (float s) {{ {NUMBERS} much = Constant <value_float = 900.0> ()
        s = If (c) <then_branch = t () => (float o) {{
                big = Mul(x, much) ones = Cast <to = 7> (big) n = ReduceSum <keepdims = 0> (ones) r = Range(nought, n, one)
                f = Cast <to = 1> (r) o = ReduceMax <keepdims = 0> (f) }},
            else_branch = e () => (float r) {{ r = ReduceSum <keepdims = 0> (x) }}> }}"""
    compiled = Compiled(text, tmp_path)
    assert "if" not in compiled.manifest["steps"]
    tenth, some = np.full(80, 0.01, np.float32), np.full(80, 5, np.float32)
    compiled.hold({"x": tenth, "c": np.bool_(True)}, {"x": some, "c": np.bool_(False)}, {"x": -some, "c": np.bool_(False)})
    with nautilus_cli.load(compiled.library) as library:
        with pytest.raises(NautilusError, match="compiled for at most 4096"):
            library({"x": some, "c": np.bool_(True)})
        assert library({"x": tenth, "c": np.bool_(True)})["s"] == 719


def test_iterations_behind_the_end_are_no_error(tmp_path: Path) -> None:
    """A few are computed whether or not the loop has ended: then the state stays, and with it the number of elements."""
    text = f"""g (int64[80] m, int64 stop) => (float s) {{ {NUMBERS} ten = Constant <value_int = 10> () six = Constant <value_int = 6> ()
        on = Constant <value: tensor = bool {{1}}> () first = ReduceSum <keepdims = 0> (m)
        s, n = Loop (six, on, zero, first) <body = b (int64 i, bool c, float t, int64 a) => (bool d, float u, int64 b) {{
            r = Range(nought, a, one) f = Cast <to = 1> (r) q = ReduceSum <keepdims = 0> (f) u = Add(t, q) b = Mul(a, ten)
            d = Less(b, stop) }}> }}"""
    compiled = Compiled(text, tmp_path)
    assert steps_of(compiled) == []
    feeds = [{"m": (np.arange(80) < n).astype(np.int64), "stop": np.int64(k)} for n, k in ((3, 1), (3, 1000), (40, 4000), (0, 5))]
    compiled.hold(*feeds)


BEYOND = f"""g (int64 k, int64 m) => (float s) {{ {NUMBERS} many = Constant <value_int = 1000> ()
    s, n = Loop (k, , zero, m) <body = b (int64 i, bool c, float t, int64 a) => (bool d, float u, int64 b) {{
        d = Identity(c) r = Range(nought, a, one) f = Cast <to = 1> (r) q = ReduceSum <keepdims = 0> (f) u = Add(t, q)
        b = Add(a, many) }}> }}"""


def test_a_number_beyond_its_range(tmp_path: Path) -> None:
    """In the last iteration; the message names it, its value and the range, and the context can be used as before."""
    compiled = Compiled(BEYOND, tmp_path)
    with nautilus_cli.load(compiled.library) as library:
        for _ in range(2):
            assert library({"k": np.int64(4), "m": np.int64(2)})["s"] == sum(sum(range(n)) for n in (2, 1002, 2002, 3002))
            with pytest.raises(NotServedError, match=r"Range\[0\]' is 4097; the library was compiled for at most 4096"):
                library({"k": np.int64(5), "m": np.int64(97)})
            with pytest.raises(NautilusError):
                library({"k": np.int64(1), "m": np.int64(-1)})


PAIRS = f"""g (float[R] x, int64 k) => (float s) {{ {NUMBERS} step = Constant <value_float = 0.25> ()
    s = Loop (k, , zero) <body = b (int64 i, bool c, float t) => (bool d, float u) {{
        d = Identity(c) j = Cast <to = 1> (i) part = Mul(j, step) rest = Sub(x, part) m = Greater(rest, least) found = NonZero(m)
        places = Squeeze(found, axis) v = Gather(x, places) column = Unsqueeze(v, last) row = Unsqueeze(v, axis)
        pairs = MatMul(column, row) some = Softmax <axis = 1> (pairs) w = MatMul(some, column) y = ReduceMax <keepdims = 0> (w)
        z = ReduceSum <keepdims = 0> (x) q = Add(y, z) u = Add(t, q) }}> }}"""


def few_of(rows: int, count: int) -> np.ndarray:
    """Numbers of which so many are above a half, and fewer are above more."""
    large = 0.5 + 3 * np.abs(drawn(rows, seed=count)) + 1e-3
    return np.where(np.arange(rows) * 7 % rows < count, large, 0).astype(np.float32)


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_each_iteration_waits_for_what_it_finds(launch: str, tmp_path: Path) -> None:
    """All pairs would take 9 GiB; each iteration has fewer, and the workspace moves where the first has more than there is room for."""
    rows = 50000
    compiled = Compiled(PAIRS.replace("R]", f"{rows}]"), tmp_path)
    assert any("found.count is up to 50000" in note for note in compiled.result.notes)
    assert steps_of(compiled) == ["launches", "loop", "launches", "read", "launches"]
    feeds = [{"x": few_of(rows, count), "k": np.int64(k)} for count, k in ((5, 3), (100, 5), (3, 7), (1, 0), (250, 9), (250, 9))]
    compiled.hold(*feeds, launch=launch)


FILLED = f"""g (float[100] x, int64 k) => (float s) {{ {NUMBERS}
    s = Loop (k, , zero) <body = b (int64 i, bool c, float t) => (bool d, float u) {{
        d = Identity(c) square = Mul(i, i) cube = Mul(square, i) n = Reshape(cube, flat) filled = Expand(quarter, n)
        y = Concat <axis = 0> (filled, x) q = ReduceSum <keepdims = 0> (y) u = Add(t, q) }}> }}"""


def test_a_number_without_a_bound(tmp_path: Path) -> None:
    """None of the default sizes bounds it, since no output has it in its shape."""
    compiled = Compiled(FILLED, tmp_path)
    (note,) = compiled.result.notes
    assert "Expand[0] has no bound: a run waits for it" in note
    compiled.hold(*({"x": np.zeros(100, np.float32), "k": np.int64(k)} for k in (0, 3, 30, 40, 5)))


def test_the_users_bound_of_it(tmp_path: Path) -> None:
    """Then no run waits, and more is an error."""
    name = "#8 Loop/#4 Expand[0]"
    compiled = Compiled(FILLED, tmp_path, **{name: DimRange(0, 1000)})
    assert "read" not in steps_of(compiled)
    x = np.zeros(100, np.float32)
    compiled.hold({"x": x, "k": np.int64(11)})
    with nautilus_cli.load(compiled.library) as library:
        with pytest.raises(NotServedError, match=r"Expand\[0\]' is 1331; the library was compiled for at most 1000"):
            library({"x": x, "k": np.int64(12)})
        assert library({"x": x, "k": np.int64(11)})["s"] == sum(0.25 * i**3 for i in range(11))


NESTED = f"""g (float[4] x, int64 k, int64 m, bool c) => (float s, float o) {{ {NUMBERS} three = Constant <value_int = 3> ()
    s, o = Loop (k, , zero, zero) <body = outer (int64 i, bool c0, float t, float t2) => (bool d0, float u, float u2) {{
        d0 = Identity(c0) i3 = Mul(i, three) a1 = Add(i3, one) a = Reshape(a1, flat) first = Expand(quarter, a)
        fx = Concat <axis = 0> (first, x) inner_m = Add(m, i)
        v = Loop (inner_m, , zero) <body = inner (int64 j, bool c1, float p) => (bool d1, float q) {{
            d1 = Identity(c1) j5 = Sub(m, j) j6 = Mul(j5, j5) b = Reshape(j6, flat) second = Expand(quarter, b)
            both = Concat <axis = 0> (second, first) h = ReduceSum <keepdims = 0> (both) q = Add(p, h) }}>
        w = If (c) <then_branch = yes () => (float r) {{
                e1 = Mul(i, i) e = Reshape(e1, flat) third = Expand(quarter, e) four = Concat <axis = 0> (third, first)
                soft = Softmax(four) r = ReduceSum <keepdims = 0> (soft) }},
            else_branch = no () => (float n) {{ l = Softmax(fx) n = ReduceMax <keepdims = 0> (l) }}>
        vw = Add(v, w) u = Add(t, vw) lasts = ReduceSum <keepdims = 0> (fx) u2 = Add(t2, lasts) }}> }}"""


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_reads_within_loops_and_branches_of_loops(launch: str, tmp_path: Path) -> None:
    """What an outer iteration read stays while inner ones read more, and again."""
    compiled = Compiled(NESTED, tmp_path)
    assert steps_of(compiled).count("read") == 3
    feeds = [
        {"x": drawn(4), "k": np.int64(k), "m": np.int64(m), "c": np.bool_(c)}
        for k, m, c in ((1, 1, True), (4, 9, True), (4, 9, False), (0, 3, True), (3, 0, True), (9, 20, True), (4, 9, True))
    ]
    compiled.hold(*feeds, launch=launch)


APPENDED = f"""g (float[2] x, int64 k) => (float[n] y) {{ {NUMBERS} two = Constant <value_int = 2> ()
    y = Loop (k, , x) <body = b (int64 i, bool c, float[m] a) => (bool d, float[l] e) {{
        d = Identity(c) odd = Mod(i, two) o = Reshape(odd, flat) part = Expand(quarter, o) e = Concat <axis = 0> (a, part) }}> }}"""


def test_a_state_grows_by_a_number_of_the_iteration(tmp_path: Path) -> None:
    """What an iteration leaves lies where it did before, so such a number is not read: it has the default bound."""
    compiled = Compiled(APPENDED, tmp_path, **{"k[0]": DimRange(0, 9)})
    assert "read" not in steps_of(compiled)
    compiled.hold(*({"x": drawn(2), "k": np.int64(k)} for k in (0, 1, 2, 9)))


SCANNED = f"""g (float[S,6] x) => (float[S] y) {{ {NUMBERS}
    y = Scan <num_scan_inputs = 1, body = b (float[6] row) => (float s) {{
        big = Greater(row, least) ones = Cast <to = 7> (big) n = ReduceSum <keepdims = 0> (ones) r = Range(nought, n, one)
        f = Cast <to = 1> (r) z = Cos(f) s = ReduceSum <keepdims = 0> (z) }}> (x) }}"""


def test_in_a_scan(tmp_path: Path) -> None:
    compiled = Compiled(SCANNED, tmp_path, S=DimRange(1, 200))
    compiled.hold(*({"x": drawn(rows, 6, scale=2)} for rows in (1, 70, 200, 3)))


@pytest.mark.parametrize("text", [BY_NUMBER, BY_STATE, FILLED, NESTED, APPENDED])
def test_what_is_compiled_twice_is_the_same(text: str, tmp_path: Path) -> None:
    """Numbers of bodies that are imported more than once have the same names each time."""
    contents: list[Mapping[str, Any]] = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        contents.append(Compiled(text, folder).manifest["steps"])
    assert contents[0] == contents[1]
    assert "'2" not in str(contents[0])

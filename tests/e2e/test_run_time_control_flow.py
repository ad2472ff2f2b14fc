"""Branches and loops whose course only the run knows: steps of a library, held against onnxruntime."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.errors import UsageError
from nautilus_cli.ir.ranges import DimRange
from tests.unit.ops.oracle import same

Feeds = Mapping[str, Any]

TARGET = "emulated"
"""What libraries are for; tests on a GPU run these too."""

DEPTH = 256
"""Operations in a row that the tolerances allow for: a few for each iteration of the longest loop."""


def drawn(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


class Compiled:
    """A model, and the library that was made of it.

    Args:
        text: the model.
        folder: where both lie.
        dims: ranges of its open dimensions.
    """

    def __init__(self, text: str, folder: Path, **dims: DimRange) -> None:
        self.model, self.library = folder / "model.onnx", folder / "libmodel.so"
        onnx.save(parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'), self.model)
        options = driver.CompileOptions(model=self.model, output=self.library, target=TARGET, dims=dims, verify=False)
        self.result = driver.compile(options)

    def says(self, feeds: Feeds) -> dict[str, np.ndarray]:
        """What onnxruntime gives."""
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        session = onnxruntime.InferenceSession(str(self.model), options, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, {name: np.asarray(array) for name, array in feeds.items()}), strict=True))

    def hold(self, *feeds: Feeds, launch: str = "graph") -> None:
        """Run one library with each set of inputs, and hold what it gives against onnxruntime."""
        with nautilus_cli.load(self.library, launch=launch) as library:
            for given in feeds:
                found = library(given)
                for name, wanted in self.says(given).items():
                    same(np.asarray(found[name]), wanted, terms=64, depth=DEPTH)

    @property
    def manifest(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.library.with_suffix(".json").read_text())
        return content


BRANCHES = """g (float[4,32] x, float[32,32] w, bool c) => (float[4,32] y) {
    b = Add(x, x)
    y = If (c) <
        then_branch = dense () => (float[4,32] p) { q = MatMul(b, w) p = Tanh(q) },
        else_branch = weigh () => (float[4,32] s) { s = Softmax <axis = 1> (b) }> }"""


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_the_run_takes_a_branch(launch: str, tmp_path: Path) -> None:
    """Branches with kernels of their own, which read what is computed around them."""
    compiled = Compiled(BRANCHES, tmp_path)
    compiled.hold(*({"x": drawn(4, 32), "w": drawn(32, 32, scale=0.2), "c": np.bool_(c)} for c in (True, False, True)), launch=launch)


COLLATZ = """g (int64 n) => (int64 steps) {
    one = Constant <value_int = 1> () zero = Constant <value_int = 0> ()
    two = Constant <value_int = 2> () three = Constant <value_int = 3> ()
    begins = Greater(n, one)
    last, steps = Loop (, begins, n, zero) <body = step (int64 i, bool c, int64 x, int64 k) => (bool more, int64 y, int64 next) {
        r = Mod(x, two) is_odd = Equal(r, one) half = Div(x, two) tripled = Mul(x, three) up = Add(tripled, one)
        y = Where(is_odd, up, half) next = Add(k, one) more = Greater(y, one) }> }"""


def test_a_loop_ends_when_its_condition_says(tmp_path: Path) -> None:
    Compiled(COLLATZ, tmp_path).hold(*({"n": np.int64(n)} for n in (1, 2, 3, 27, 97)))


NEWTON = """g (float[8] a, float tolerance) => (float[8] root) {
    on = Constant <value: tensor = bool {1}> () half = Constant <value_float = 0.5> ()
    root = Loop (, on, a) <body = step (int64 i, bool c, float[8] x) => (bool more, float[8] next) {
        q = Div(a, x) s = Add(x, q) next = Mul(s, half) d = Sub(next, x) m = Abs(d)
        worst = ReduceMax <keepdims = 0> (m) more = Greater(worst, tolerance) }> }"""


def test_newton_until_nothing_changes(tmp_path: Path) -> None:
    a = np.array([1, 2, 3, 4, 5, 6, 7, 1e4], np.float32)
    Compiled(NEWTON, tmp_path).hold(*({"a": a, "tolerance": np.float32(tolerance)} for tolerance in (1e3, 1, 1e-3)))


COUNTED = """g (float[3] x, int64 k) => (float[3] y, float[n,3] z, int64[n] squares) {
    y, z, squares = Loop (k, , x) <body = add (int64 i, bool c, float[3] a) => (bool c2, float[3] b, float[3] s, int64 t) {
        c2 = Identity(c) f = Cast <to = 1> (i) ax = Add(a, x) b = Add(ax, f) s = Neg(b) t = Mul(i, i) }> }"""


def test_a_trip_count_that_only_the_run_knows(tmp_path: Path) -> None:
    """States end where they belong after an even and an odd number of iterations; scan outputs are as long as the loop was."""
    Compiled(COUNTED, tmp_path).hold(*({"x": drawn(3), "k": np.int64(k)} for k in (0, 1, 2, 3, 100, -1)))


DRAINED = """g (float[3] x, float bound) => (float[3] y, float[n,3] z, int64[n] numbers, float[3] total) {
    most = Constant <value_int = 100> () on = Constant <value: tensor = bool {1}> () first = Constant <value_ints = [0]> ()
    y, z, numbers = Loop (most, on, x) <body = b (int64 i, bool c, float[3] a) => (bool c2, float[3] b, float[3] s, int64 t) {
        b = Add(a, x) s = Neg(b) r = ReduceSum <keepdims = 0> (b) c2 = Less(r, bound) t = Add(i, i) }>
    total = ReduceSum <keepdims = 0> (z, first) }"""


def test_scan_outputs_of_a_loop_with_a_condition(tmp_path: Path) -> None:
    """Their length is told with them, and what reads them is right for it."""
    feeds = ({"x": np.ones(3, np.float32), "bound": np.float32(bound)} for bound in (0, 5, 7, 100, 1000))
    Compiled(DRAINED, tmp_path).hold(*feeds)


NESTED = """g (float[4] x, int64 k, int64 m) => (float[4] y, int64 t) {
    zero = Constant <value_int = 0> ()
    y, t = Loop (k, , x, zero) <body = outer (int64 i, bool c, float[4] a, int64 n) => (bool c2, float[4] a2, int64 n2) {
        c2 = Identity(c) e = Exp(x) often = Add(m, i)
        a2, n2 = Loop (often, , a, n) <body = inner (int64 j, bool d, float[4] u, int64 v) => (bool d2, float[4] u2, int64 v2) {
            d2 = Identity(d) scaled = Mul(u, e) f = Cast <to = 1> (j) h = Cast <to = 1> (i)
            moved = Add(scaled, f) further = Add(moved, h) u2 = Tanh(further) v2 = Add(v, j) }> }> }"""


FOUND = """g (float[n] x, float[4] y) => (float[4] last, float[found,4] all) {
    zero = Constant <value_float = 0.0> () one = Constant <value_float = 1.0> () nine = Constant <value_float = 9.0> ()
    kept = Greater(x, zero) found = Compress <axis = 0> (x, kept) trips = Shape(found)
    last, all = Loop (trips, , y) <body = step (int64 i, bool c, float[4] s) => (bool more, float[4] t, float[4] o) {
        total = ReduceSum <keepdims = 0> (s) more = Less(total, nine) t = Add(s, one) o = Neg(s) }> }"""


def test_as_many_iterations_as_a_kernel_finds_at_most(tmp_path: Path) -> None:
    """The host plans for what can be found, and a condition may end the loop before."""
    x = np.array([1, -1, 2, 3, -4, 5, 1], np.float32)
    compiled = Compiled(FOUND, tmp_path, n=DimRange(1, 9))
    compiled.hold(*({"x": given, "y": drawn(4)} for given in (x, x[:1], x[3:], -np.abs(x), np.abs(x), np.ones(9, np.float32))))


def test_loops_within_loops(tmp_path: Path) -> None:
    """The inner one reads its trip count, its first state and the number of the iteration from the outer one."""
    Compiled(NESTED, tmp_path).hold(*({"x": drawn(4), "k": np.int64(k), "m": np.int64(m)} for k in (0, 1, 2, 5) for m in (0, 1, 3)))


LOOP_IN_BRANCH = """g (float[B,16] x, float[16,16] w, bool c, int64 k) => (float[B,16] y) {
    y = If (c) <
        then_branch = again () => (float[B,16] p) { p = Loop (k, , x) <body = b (int64 i, bool d, float[B,16] a) => (bool e, float[B,16] a2)
            { e = Identity(d) m = MatMul(a, w) a2 = Tanh(m) }> },
        else_branch = once () => (float[B,16] q) { m2 = MatMul(x, w) q = Softmax <axis = 1> (m2) }> }"""


def test_a_loop_in_a_branch_for_every_batch(tmp_path: Path) -> None:
    compiled = Compiled(LOOP_IN_BRANCH, tmp_path, B=DimRange(1, 32))
    w = drawn(16, 16, scale=0.3)
    cases = [(1, True, 4), (5, True, 1), (32, True, 3), (5, True, 0), (7, False, 2), (32, False, 1), (1, True, 4)]
    compiled.hold(*({"x": drawn(b, 16), "w": w, "c": np.bool_(c), "k": np.int64(k)} for b, c, k in cases))


LONG_OR_SHORT = """g (float[B,16] x, float[16,16] w) => (float[B,16] y) {
    zero = Constant <value_int = 0> () four = Constant <value_int = 4> ()
    s = Shape(x) b = Gather(s, zero) is_long = Greater(b, four)
    y = If (is_long) <
        then_branch = dense () => (float[B,16] p) { m = MatMul(x, w) p = Tanh(m) },
        else_branch = weigh () => (float[B,16] q) { q = Softmax <axis = 1> (x) }> }"""


def test_a_branch_by_a_size_needs_no_waiting(tmp_path: Path) -> None:
    compiled = Compiled(LONG_OR_SHORT, tmp_path, B=DimRange(1, 32))
    (choice,) = compiled.manifest["steps"]
    assert choice["condition"] == ["integer", 0, "[B - 4 > 0]"]
    compiled.hold(*({"x": drawn(b, 16), "w": drawn(16, 16, scale=0.3)} for b in (1, 4, 5, 32)))


SWAPPED = """g (float[4] a, float[4] b, int64 k) => (float[4] y, float[4] z) {
    y, z = Loop (k, , a, b) <body = fibonacci (int64 i, bool c, float[4] u, float[4] v) => (bool c2, float[4] v, float[4] s) {
        c2 = Identity(c) s = Add(u, v) }> }"""


def test_states_that_change_places(tmp_path: Path) -> None:
    Compiled(SWAPPED, tmp_path).hold(*({"a": drawn(4), "b": drawn(4, seed=1), "k": np.int64(k)} for k in (0, 1, 2, 3, 9)))


RECURRENCE = """g (float[4,8] h0, float[100,4,8] x, float[8,8] w) => (float[4,8] y, float[100,4,8] z) {
    y, z = Scan <body = cell (float[4,8] h, float[4,8] e) => (float[4,8] n, float[4,8] o) {
        p = MatMul(h, w) s = Add(p, e) n = Tanh(s) o = Mul(n, n) },
        num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1]> (h0, x) }"""


def test_a_long_scan_is_a_few_kernels(tmp_path: Path) -> None:
    """What is scanned is read, and what is collected written, where it lies: from the end, here."""
    compiled = Compiled(RECURRENCE, tmp_path)
    assert compiled.result.targets[0].launches <= 3
    compiled.hold({"h0": drawn(4, 8), "x": drawn(100, 4, 8, seed=1), "w": drawn(8, 8, scale=0.3)})


OPEN_SCAN = """g (float[3] h0, float[3,T] x, float[T] t) => (float[3] y, float[3,T] z, float[T] s) {
    y, z, s = Scan <body = cell (float[3] h, float[3] e, float f) => (float[3] n, float[3] o, float q) {
        a = Add(h, e) b = Mul(a, f) n = Tanh(b) o = Mul(n, n) q = ReduceSum <keepdims = 0> (n) },
        num_scan_inputs = 2, scan_input_axes = [1, 0], scan_output_axes = [1, 0], scan_output_directions = [1, 0]> (h0, x, t) }"""


def test_a_scan_of_open_length(tmp_path: Path) -> None:
    """Pieces of 4 and 12 bytes, which lie where no kernel reads or writes: they are copied."""
    compiled = Compiled(OPEN_SCAN, tmp_path, T=DimRange(1, 64))
    compiled.hold(*({"h0": drawn(3), "x": drawn(3, t), "t": drawn(t, seed=1)} for t in (1, 2, 7, 64, 33)))


RESHAPED = """g (float[4,B] x, bool c) => (float[p,q] y, float[q] s) {
    first = Constant <value_ints = [0]> ()
    y = If (c) <
        then_branch = negated () => (float[4,B] a) { a = Neg(x) },
        else_branch = turned () => (float[B,4] b) { b = Transpose <perm = [1, 0]> (x) }>
    s = ReduceSum <keepdims = 0> (y, first) }"""


def test_branches_with_results_of_other_shapes(tmp_path: Path) -> None:
    compiled = Compiled(RESHAPED, tmp_path, B=DimRange(1, 9))
    compiled.hold(*({"x": drawn(4, b), "c": np.bool_(c)} for b in (1, 4, 9) for c in (True, False)))


TALLIED = """g (float[40] x, int64 k) => (float[40] y, float total) {
    zero = Constant <value_float = 0.0> () least = Constant <value_float = 0.3> () axis = Constant <value_ints = [0]> ()
    y, total = Loop (k, , x, zero) <body = b (int64 i, bool c, float[40] a, float s) => (bool c2, float[40] b, float s2) {
        c2 = Identity(c) m = Greater(a, least) found = NonZero(m) places = Squeeze(found, axis) v = Gather(a, places)
        squares = Mul(v, v) t = ReduceSum <keepdims = 0> (squares, axis) s2 = Add(s, t) b = Sin(a) }> }"""


def test_sizes_that_kernels_give_in_an_iteration(tmp_path: Path) -> None:
    Compiled(TALLIED, tmp_path).hold(*({"x": drawn(40, scale=2), "k": np.int64(k)} for k in (0, 1, 2, 5, 9)))


VOCABULARY, WIDTH, END = 12, 8, 3

DECODER = f"""g (float[1,1,{WIDTH}] h0, float[{VOCABULARY},{WIDTH}] table, float[1,{3 * WIDTH},{WIDTH}] w, float[1,{3 * WIDTH},{WIDTH}] r,
    float[{WIDTH},{VOCABULARY}] head, int64[1] begin) => (int64[n,1] tokens, float[1,1,{WIDTH}] h) {{
    most = Constant <value_int = 40> () on = Constant <value: tensor = bool {{1}}> () end = Constant <value_int = {END}> ()
    one = Constant <value_ints = [1]> () zero = Constant <value_ints = [0]> ()
    last, h, tokens = Loop (most, on, begin, h0) <body = step (int64 i, bool c, int64[1] token, float[1,1,{WIDTH}] before)
        => (bool more, int64[1] next, float[1,1,{WIDTH}] after, int64[1] said) {{
        row = Gather(table, token) x = Unsqueeze(row, zero)
        all, after = GRU <hidden_size = {WIDTH}> (x, w, r, , , before)
        flat = Squeeze(after, zero) scores = MatMul(flat, head) next = ArgMax <axis = 1, keepdims = 0> (scores)
        said = Identity(next) is_end = Equal(next, end) ended = Squeeze(is_end, zero) more = Not(ended) }}> }}"""


def decoder_feeds(seed: int) -> Feeds:
    shapes = {"table": (VOCABULARY, WIDTH), "w": (1, 3 * WIDTH, WIDTH), "r": (1, 3 * WIDTH, WIDTH), "head": (WIDTH, VOCABULARY)}
    weights = {name: drawn(*shape, seed=seed + place) for place, (name, shape) in enumerate(shapes.items())}
    return {**weights, "h0": drawn(1, 1, WIDTH, seed=seed + 9), "begin": np.array([0])}


def test_a_decoder_speaks_until_the_end(tmp_path: Path) -> None:
    """Greedy decoding by a GRU: how many tokens there are depends on what is said."""
    compiled = Compiled(DECODER, tmp_path)
    feeds = [decoder_feeds(seed) for seed in range(0, 200, 10)]
    assert len({compiled.says(given)["tokens"].shape[0] for given in feeds}) > 3
    compiled.hold(*feeds)


def test_threads_run_loops_at_once(tmp_path: Path) -> None:
    """Each has a context, and with it places of its own for states and conditions."""
    compiled = Compiled(COLLATZ, tmp_path)
    numbers = [27, 1, 97, 6, 2, 25, 54, 3]
    wanted = {n: compiled.says({"n": np.int64(n)})["steps"] for n in numbers}
    with nautilus_cli.load(compiled.library) as library, ThreadPoolExecutor(4) as pool:
        for n, found in zip(numbers * 3, pool.map(lambda n: library({"n": np.int64(n)})["steps"], numbers * 3), strict=True):
            assert int(found) == int(wanted[n])


def test_a_loop_that_does_not_end_is_an_error(tmp_path: Path) -> None:
    """It names the loop, and what it says of the most iterations is what the manifest says; the next run is none the worse."""
    compiled = Compiled(DRAINED.replace("most = Constant <value_int = 100> ()", "").replace("Loop (most,", "Loop (,"), tmp_path)
    loop, _ = compiled.manifest["steps"]
    assert loop["most"] == 512
    with nautilus_cli.load(compiled.library) as library:
        x = np.ones(3, np.float32)
        with pytest.raises(UsageError, match=f"loop '#2 Loop' goes on after {loop['most']} iterations"):
            library({"x": x, "bound": np.float32(1e9)})
        np.testing.assert_array_equal(library({"x": x, "bound": np.float32(0)})["y"], [2, 2, 2])


def test_a_range_of_a_trip_count_is_the_users(tmp_path: Path) -> None:
    """An input that is one gets a range as sizes have it; scan outputs then lie where the caller wants them, and nothing waits."""
    compiled = Compiled(COUNTED, tmp_path, **{"k[0]": DimRange(0, 700)})
    (loop,) = compiled.manifest["steps"]
    assert loop["trips"] == ["integer", 0, "k[0]"]
    assert [element["base"][0] for element in loop["elements"]] == ["output", "output"]
    compiled.hold(*({"x": drawn(3), "k": np.int64(k)} for k in (0, 1, 700)))
    with nautilus_cli.load(compiled.library) as library, pytest.raises(UsageError, match="input 'k' holds 701 in element 0"):
        library({"x": drawn(3), "k": np.int64(701)})


UNFIT = """g (float[1,N] x, float[12,5] w, bool c) => (float[1,5] y) {
    y = If (c) <then_branch = right () => (float[1,5] p) { m = MatMul(x, w) p = Tanh(m) },
        else_branch = wrong () => (float[1,5] q) { n = MatMul(w, x) q = Tanh(n) }> }"""


def test_a_branch_that_cannot_be_is_an_error_where_it_is_taken(tmp_path: Path) -> None:
    """As onnxruntime has it, which looks at a branch when a run takes it; the compiler tells beforehand."""
    model, output = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    onnx.save(parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {UNFIT}'), model)
    options = driver.CompileOptions(model=model, output=output, target=TARGET, shapes={"x": (1, 12)}, verify=False)
    (note,) = driver.compile(options).notes
    assert "takes its else_branch, which cannot be for the shapes that the library was compiled for" in note
    with nautilus_cli.load(output) as library:
        x, w = drawn(1, 12), drawn(12, 5, scale=0.3)
        same(np.asarray(library({"x": x, "w": w, "c": np.bool_(True)})["y"]), np.tanh(x @ w), terms=64, depth=DEPTH)
        with pytest.raises(UsageError, match="takes its else_branch, which cannot be"):
            library({"x": x, "w": w, "c": np.bool_(False)})
        same(np.asarray(library({"x": x, "w": w, "c": np.bool_(True)})["y"]), np.tanh(x @ w), terms=64, depth=DEPTH)


WALK = """g (int64[5] links, int64 x) => (int64 y) {
    zero = Constant <value_int = 0> () begins = GreaterOrEqual(x, zero)
    y = Loop (, begins, x) <body = b (int64 i, bool c, int64 at) => (bool c2, int64 next) {
        next = Gather(links, at) c2 = GreaterOrEqual(next, zero) }> }"""


def test_an_index_out_of_range_in_a_loop_is_reported(tmp_path: Path) -> None:
    compiled = Compiled(WALK, tmp_path)
    links = np.array([2, 4, 3, -77, 1])
    compiled.hold(*({"links": links, "x": np.int64(x)} for x in (0, 2, 3, -4)))
    with nautilus_cli.load(compiled.library) as library:
        with pytest.raises(UsageError, match="index outside"):
            library({"links": np.array([5, 9, 3, -77, 1]), "x": np.int64(1)})
        assert int(library({"links": links, "x": np.int64(0)})["y"]) == -77

"""Loops whose states change their shapes from iteration to iteration: each appends to a tensor, as to a cache of keys."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.errors import ModelError, UsageError
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.lowering.memory import placement
from tests.e2e.test_run_time_control_flow import Compiled, Feeds, drawn

APPENDED = """g (float[2,4] x, int64 k) => (float[n,4] y, float[4] total) {
    axis = Constant <value_ints = [0]> ()
    y = Loop (k, , x) <body = b (int64 i, bool c, float[m,4] a) => (bool d, float[l,4] e) {
        d = Identity(c) s = ReduceMean <axes = [0], keepdims = 1> (a) f = Cast <to = 1> (i) r = Add(s, f) e = Concat <axis = 0> (a, r) }>
    total = ReduceSum <keepdims = 0> (y, axis) }"""


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_each_iteration_appends_a_row(launch: str, tmp_path: Path) -> None:
    """How many rows there are in the end follows from the trip count, which has a bound by default."""
    compiled = Compiled(APPENDED, tmp_path)
    compiled.hold(*({"x": drawn(2, 4), "k": np.int64(k)} for k in (0, 1, 2, 5, 100, -3, 100)), launch=launch)


def test_a_trip_count_that_is_known(tmp_path: Path) -> None:
    """Too long to be unrolled: the sizes in an iteration are all that the run gives."""
    text = APPENDED.replace(", int64 k)", ")").replace("axis = Constant", "k = Constant <value_int = 300> () axis = Constant", 1)
    compiled = Compiled(text, tmp_path)
    assert compiled.manifest["counts"] == [{"name": "y.count", "most": 302}]
    compiled.hold({"x": drawn(2, 4)})


def test_a_bound_of_the_users(tmp_path: Path) -> None:
    compiled = Compiled(APPENDED, tmp_path, **{"y.count": DimRange(0, 30)})
    compiled.hold(*({"x": drawn(2, 4), "k": np.int64(k)} for k in (0, 28)))
    with nautilus_cli.load(compiled.library) as library, pytest.raises(UsageError, match="goes on after 28 iterations"):
        library({"x": drawn(2, 4), "k": np.int64(29)})


GROWS_UNTIL = """g (float[B,1] x, float least) => (float[B,n] y) {
    on = Constant <value: tensor = bool {1}> () last = Constant <value_ints = [1]> () half = Constant <value_float = 0.5> ()
    y = Loop (, on, x) <body = b (int64 i, bool c, float[B,m] a) => (bool d, float[B,l] e) {
        s = ReduceSum <keepdims = 1> (a, last) r = Mul(s, half) e = Concat <axis = 1> (r, a)
        v = Abs(r) w = ReduceMax <keepdims = 0> (v) d = Less(w, least) }> }"""


def test_a_condition_says_how_much_it_grows(tmp_path: Path) -> None:
    """At the front, along the second dimension, for every batch; without a bound there is a default, of which a note tells."""
    compiled = Compiled(GROWS_UNTIL, tmp_path, B=DimRange(1, 8))
    (note,) = compiled.result.notes
    assert "its states grow without a bound: up to 512 iterations are taken; --dim y.count=0..N" in note
    feeds = [{"x": drawn(batch, 1) + 2, "least": np.float32(least)} for batch, least in ((1, 100), (3, 1e4), (8, 0), (3, 1e3))]
    compiled.hold(*feeds)


def test_a_condition_ends_a_short_loop(tmp_path: Path) -> None:
    """So few iterations would be unrolled, but for the states, which have another shape behind each."""
    text = GROWS_UNTIL.replace("on = Constant", "few = Constant <value_int = 6> () on = Constant", 1).replace("Loop (, on", "Loop (few, on")
    compiled = Compiled(text, tmp_path, B=DimRange(1, 8))
    assert compiled.result.notes == ()
    compiled.hold(*({"x": drawn(2, 1) + 2, "least": np.float32(least)} for least in (1, 3, 1e4)))


def test_what_decides_a_step_may_have_no_room_on_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is copied from the workspace."""
    monkeypatch.setattr(placement, "MOST_HOST_BYTES", 0)
    compiled = Compiled(GROWS_UNTIL, tmp_path, B=DimRange(1, 8))
    assert "host" not in str(compiled.manifest["steps"])
    compiled.hold({"x": drawn(2, 1) + 2, "least": np.float32(100)})


FOUND = """g (float[40] x, int64[0] none, int64 k) => (int64[n] places, float s) {
    axis = Constant <value_ints = [0]> () least = Constant <value_float = 0.8> () zero = Constant <value_float = 0.0> ()
    places, s = Loop (k, , none, zero) <body = b (int64 i, bool c, int64[m] a, float t) => (bool d, int64[l] e, float u) {
        d = Identity(c) f = Cast <to = 1> (i) y = Add(x, f) z = Sin(y) h = Greater(z, least) w = NonZero(h) p = Squeeze(w, axis)
        e = Concat <axis = 0> (a, p) v = Gather(z, p) q = ReduceSum <keepdims = 0> (v) u = Add(t, q) }> }"""


def test_as_much_as_a_kernel_finds_is_appended(tmp_path: Path) -> None:
    """From nothing on, and another number in each iteration."""
    compiled = Compiled(FOUND, tmp_path, **{"k[0]": DimRange(0, 20)})
    empty = np.empty(0, np.int64)
    compiled.hold(*({"x": drawn(40, scale=2), "none": empty, "k": np.int64(k)} for k in (0, 1, 7, 20)))


REPLACED = """g (float[3] x, float[50] data, int64 k) => (float[n] y) {
    axis = Constant <value_ints = [0]> ()
    y = Loop (k, , x) <body = b (int64 i, bool c, float[m] a) => (bool d, float[l] e) {
        d = Identity(c) top = ReduceMax <keepdims = 0> (a) h = Greater(data, top) w = NonZero(h) p = Squeeze(w, axis) g = Gather(data, p)
        e = Concat <axis = 0> (x, g) }> }"""


def test_each_iteration_makes_it_another_size(tmp_path: Path) -> None:
    """What it was before decides nothing of its size."""
    compiled = Compiled(REPLACED, tmp_path)
    compiled.hold(*({"x": drawn(3) * 0.1, "data": drawn(50), "k": np.int64(k)} for k in (0, 1, 2, 5)))


WIDTH, WORDS, END = 8, 20, 5

DECODER = f"""g (float[1,P,{WIDTH}] keys0, float[1,P,{WIDTH}] values0, float[1,P] mask0, float[{WORDS},{WIDTH}] table,
    float[{WIDTH},{WIDTH}] wq, float[{WIDTH},{WIDTH}] wk, float[{WIDTH},{WIDTH}] wv, float[{WIDTH},{WORDS}] head, int64[1] begin)
    => (int64[n,1] tokens, float[1,m,{WIDTH}] keys, float[1,m] mask) {{
    most = Constant <value_int = 90> () on = Constant <value: tensor = bool {{1}}> () end = Constant <value_int = {END}> ()
    zero = Constant <value_ints = [0]> () one = Constant <value_floats = [0.1]> () second = Constant <value_ints = [1]> ()
    last, keys, values, mask, tokens = Loop (most, on, begin, keys0, values0, mask0) <body = step (int64 i, bool c, int64[1] token,
        float[1,p,{WIDTH}] ka, float[1,p,{WIDTH}] va, float[1,p] ma)
        => (bool more, int64[1] next, float[1,q,{WIDTH}] kb, float[1,q,{WIDTH}] vb, float[1,q] mb, int64[1] said) {{
        row = Gather(table, token) x = Unsqueeze(row, zero) query = MatMul(x, wq) key = MatMul(x, wk) value = MatMul(x, wv)
        kb = Concat <axis = 1> (ka, key) vb = Concat <axis = 1> (va, value) seen = Unsqueeze(one, zero)
        mb = Concat <axis = 1> (ma, seen)
        kt = Transpose <perm = [0, 2, 1]> (kb) scores = MatMul(query, kt) wide = Unsqueeze(mb, second) masked = Add(scores, wide)
        weights = Softmax <axis = 2> (masked) mixed = MatMul(weights, vb) after = Add(mixed, x) flat = Squeeze(after, zero)
        logits = MatMul(flat, head) next = ArgMax <axis = 1, keepdims = 0> (logits) said = Identity(next)
        is_end = Equal(next, end) ended = Squeeze(is_end, zero) more = Not(ended) }}> }}"""


def decoder_feeds(past: int, seed: int) -> Feeds:
    shapes = dict.fromkeys(("wq", "wk", "wv"), (WIDTH, WIDTH)) | {"table": (WORDS, WIDTH), "head": (WIDTH, WORDS)}
    weights = {name: drawn(*shape, seed=seed + place) for place, (name, shape) in enumerate(shapes.items())}
    caches = {name: drawn(1, past, WIDTH, seed=seed + 7) for name in ("keys0", "values0")} | {"mask0": np.zeros((1, past), np.float32)}
    return {**weights, **caches, "begin": np.array([seed % WORDS])}


def test_a_decoder_with_its_caches_in_the_loop(tmp_path: Path) -> None:
    """Attention over a cache to which each token appends, mask beside it, from a past of any length on, until a token ends it."""
    compiled = Compiled(DECODER, tmp_path, P=DimRange(0, 12))
    feeds = [decoder_feeds(past, seed) for past, seed in ((0, 0), (3, 10), (12, 30), (5, 40), (5, 50), (0, 60), (7, 70))]
    assert len({compiled.says(given)["tokens"].shape[0] for given in feeds}) > 2
    compiled.hold(*feeds)


DOUBLED = """g (float[1] x, int64 k) => (float[n] y) {
    y = Loop (k, , x) <body = b (int64 i, bool c, float[m] a) => (bool d, float[l] e) { d = Identity(c) e = Concat <axis = 0> (a, a) }> }"""


def test_a_size_that_follows_no_rule_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="one type and shape is required"):
        Compiled(DOUBLED, tmp_path)

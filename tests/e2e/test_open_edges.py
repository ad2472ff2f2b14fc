"""Edges of what a run decides: dimensions of nothing, conditions shorter than what they select of, values that no size is near."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.errors import ModelError, UsageError
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.runtime.description import EmulatorOptions
from tests.e2e.networks import model, port, saved
from tests.support.closeness import assert_close

POISONED = EmulatorOptions(poison=True)
HIGHEST, LOWEST = 2**63 - 1, -(2**63)


def compiled(text: str, folder: Path, dims: Mapping[str, DimRange] | None = None) -> Path:
    """Compile a graph in ONNX's textual form."""
    onnx.save(onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]>\n{text}'), folder / "model.onnx")
    output = folder / "libmodel.so"
    options = driver.CompileOptions(model=folder / "model.onnx", output=output, target="emulated", dims=dims or {}, verify=False)
    driver.compile(options)
    return output


def test_a_dimension_of_nothing_is_no_multiple(tmp_path: Path) -> None:
    """Kernels for multiples of 8 take it that there is one."""
    text = """edges (float[N, M] x) => (float[N, M] soft, float[N] mean, float[N] product, float[N, N] matrix) {
      axis = Constant <value = int64[1] {1}> ()
      soft = Softmax (x)
      mean = ReduceMean <keepdims = 0> (soft, axis)
      product = ReduceProd <keepdims = 0> (x, axis)
      turned = Transpose <perm = [1, 0]> (x)
      matrix = MatMul (x, turned)
    }"""
    path = compiled(text, tmp_path, {"N": DimRange(0, 8), "M": DimRange(0, 8)})
    with nautilus_cli.load(path, emulator=POISONED) as library:
        for rows, columns in ((8, 8), (8, 0), (1, 0), (0, 8), (0, 0), (3, 0), (5, 7)):
            x = np.random.default_rng(rows).uniform(0.5, 2, (rows, columns)).astype(np.float32)
            found = library(x=x)
            assert found["soft"].shape == x.shape
            where = f"{rows} by {columns}"
            assert_close(found["mean"], np.full(rows, 1 / columns if columns else 0, np.float32), where, terms=8, depth=3)
            assert_close(found["product"], x.prod(axis=1), where, terms=8)
            assert_close(found["matrix"], x @ x.T, where, terms=8)


@pytest.mark.parametrize(("condition", "axis"), [("3", ""), ("N", ""), ("2", "<axis = 1>")])
def test_a_condition_may_be_shorter_than_what_it_selects_of(condition: str, axis: str, tmp_path: Path) -> None:
    text = f"edges (float[N, 4] x, bool[{condition}] chosen) => (float[a{', b' if axis else ''}] y) {{ y = Compress {axis} (x, chosen) }}"
    path = compiled(text, tmp_path, {"N": DimRange(1, 5)})
    with nautilus_cli.load(path, emulator=POISONED) as library:
        for rows in (1, 5, 2):
            x = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
            chosen = np.array([True, False, True, True, False][: rows if condition == "N" else int(condition)])
            wanted = x[:, : len(chosen)][:, chosen] if axis else x.reshape(-1)[: len(chosen)][chosen]
            np.testing.assert_array_equal(library(x=x, chosen=chosen)["y"], wanted)


def test_a_limit_that_is_beyond_all_sizes_is_cut_and_one_of_which_a_remainder_is_needed_refused(tmp_path: Path) -> None:
    text = """edges (float[10] x, int64[1] a, int64[1] b) => (float[n] cut, float[m] rest) {
      zero = Constant <value = int64[1] {0}> ()
      end = Sub (a, b)
      cut = Slice (x, zero, end)
      rest = Slice (x, b, a)
    }"""
    x = np.arange(10, dtype=np.float32)
    with nautilus_cli.load(compiled(text, tmp_path), emulator=POISONED) as library:

        def holds(a: int, b: int) -> None:
            found = library(x=x, a=np.array([a]), b=np.array([b]))
            np.testing.assert_array_equal(found["cut"], x[: a - b])
            np.testing.assert_array_equal(found["rest"], x[b:a])

        for a, b in ((7, 2), (HIGHEST, 3), (7, LOWEST + 8), (2, 7), (2**40, -1)):
            holds(a, b)
        for a, b in ((2**40 + 5, 2**40), (LOWEST + 3, LOWEST), (HIGHEST, HIGHEST - 4)):
            with pytest.raises(UsageError, match=rf"input 'a' holds {a} in element 0"):
                library(x=x, a=np.array([a]), b=np.array([b]))
            holds(9, 4)


def test_a_product_of_values_that_is_too_large_is_no_damage(tmp_path: Path) -> None:
    text = """edges (float[10] x, int64[1] a) => (float[n] y) {
      zero = Constant <value = int64[1] {0}> ()
      square = Mul (a, a)
      cube = Mul (square, a)
      y = Slice (x, zero, cube)
    }"""
    x = np.arange(10, dtype=np.float32)
    with nautilus_cli.load(compiled(text, tmp_path), emulator=POISONED) as library:
        for a in (2, 1 << 22, -(1 << 40), 1):
            if abs(a) > 1 << 20:
                with pytest.raises(UsageError, match=f"too large, or none; input 'a' holds {a} in element 0"):
                    library(x=x, a=np.array([a]))
            else:
                np.testing.assert_array_equal(library(x=x, a=np.array([a]))["y"], x[: a**3])


def test_a_number_that_a_kernel_gives_is_a_trip_count(tmp_path: Path) -> None:
    text = """edges (float[N] x) => (int64 sum, float last, float[M] steps) {
      zero = Constant <value = float {0}> ()
      mask = Greater (x, zero)
      kept = Compress (x, mask)
      number = Size (kept)
      go = Constant <value = bool {1}> ()
      sum = Loop (number, go, number) <body = count (int64 i, bool c, int64 s) => (bool o, int64 r) { o = Identity (c) r = Add (s, i) }>
      last, steps = Scan (zero, kept) <num_scan_inputs = 1,
        body = walk (float s, float e) => (float r, float o) { r = Add (s, e) o = Neg (r) }>
    }"""
    with nautilus_cli.load(compiled(text, tmp_path, {"N": DimRange(1, 90)}), emulator=POISONED) as library:
        for x in ([-1], [1], [1, -2, 3], [0] * 80, [2] * 90):
            found = library(x=np.array(x, np.float32))
            kept = [one for one in x if one > 0]
            assert found["sum"] == len(kept) + sum(range(len(kept)))
            np.testing.assert_allclose(found["last"], sum(kept))
            np.testing.assert_allclose(found["steps"], -np.cumsum(kept))


def test_sizes_that_loops_branches_and_outputs_take_are_stored(tmp_path: Path) -> None:
    """A size is an argument of kernels; a loop's state, a branch's operand and an output lie in memory."""
    text = """edges (float[N] x, bool b, int64 t) => (int64 sum, int64 chosen, int64[1] shape, int64 size) {
      size = Size (x)
      shape = Shape (x)
      go = Constant <value = bool {1}> ()
      sum = Loop (t, go, size) <body = count (int64 i, bool c, int64 s) => (bool o, int64 r) { o = Identity (c) r = Add (s, i) }>
      chosen = If (b) <then_branch = yes () => (int64 p) { p = Identity (size) }, else_branch = no () => (int64 q) { q = Neg (size) }>
    }"""
    with nautilus_cli.load(compiled(text, tmp_path, {"N": DimRange(1, 90)}), emulator=POISONED) as library:
        for length, trips in ((1, 0), (7, 3), (90, 70)):
            for b in (True, False):
                found = library(x=np.zeros(length, np.float32), b=np.array(b), t=np.array(trips))
                assert found["sum"] == length + sum(range(trips))
                assert (found["chosen"], found["shape"], found["size"]) == (length if b else -length, [length], length)


def test_a_scan_from_the_end_of_what_a_kernel_counts_is_refused(tmp_path: Path) -> None:
    text = """edges (float[N] x) => (float last) {
      zero = Constant <value = float {0}> ()
      mask = Greater (x, zero)
      kept = Compress (x, mask)
      last = Scan (zero, kept) <num_scan_inputs = 1, scan_input_directions = [1],
        body = walk (float s, float e) => (float r) { r = Sub (e, s) }>
    }"""
    with pytest.raises(ModelError, match="goes backwards along a dimension of which only the run knows the size"):
        compiled(text, tmp_path, {"N": DimRange(1, 90)})


def test_vectors_of_sizes_within_operators_are_stored(tmp_path: Path) -> None:
    """OneHot holds its indices against all places: 101 expressions of the size that an index is."""
    text = """edges (float[N] x) => (float[101] y) {
      size = Size (x)
      depth = Constant <value = int64 {101}> ()
      values = Constant <value = float[2] {0, 1}> ()
      y = OneHot (size, depth, values)
    }"""
    with nautilus_cli.load(compiled(text, tmp_path, {"N": DimRange(1, 90)}), emulator=POISONED) as library:
        for length in (1, 33, 90):
            np.testing.assert_array_equal(library(x=np.zeros(length, np.float32))["y"], np.eye(101, dtype=np.float32)[length])


def test_a_count_that_is_the_lesser_of_a_value_and_what_a_kernel_counts(tmp_path: Path) -> None:
    """How many of a detector's boxes are wanted, of which there may be fewer."""
    text = """edges (float[N] x, int64[1] k) => (float[n] best) {
      zero = Constant <value = float {0}> ()
      mask = Greater (x, zero)
      kept = Compress (x, mask)
      number = Shape (kept)
      wanted = Min (k, number)
      best, places = TopK (kept, wanted)
    }"""
    with nautilus_cli.load(compiled(text, tmp_path, {"N": DimRange(1, 16)}), emulator=POISONED) as library:
        x = np.array([3, -1, 7, 2, 0, 5], np.float32)
        for k in (2, 0, 4, 100, 1):
            np.testing.assert_array_equal(library(x=x, k=np.array([k]))["best"], [7, 5, 3, 2][:k])
            with pytest.raises(UsageError, match="input 'k' holds -1 in element 0; the library was compiled for 0 to"):
                library(x=x, k=np.array([-1]))


def test_nothing_has_no_places(tmp_path: Path) -> None:
    text = "edges (float[0, 3] x, float[N, 0] w) => (int64[2, a] y, int64[2, b] z) { y = NonZero (x) z = NonZero (w) }"
    with nautilus_cli.load(compiled(text, tmp_path, {"N": DimRange(1, 3)}), emulator=POISONED) as library:
        found = library(x=np.zeros((0, 3), np.float32), w=np.zeros((2, 0), np.float32))
        assert found["y"].shape == found["z"].shape == (2, 0)


def test_the_greatest_of_nothing(tmp_path: Path) -> None:
    """The count decides no size then, and is checked all the same."""
    text = "edges (float[0] x, int64[1] k) => (float[n] best, int64[n] places) { best, places = TopK (x, k) }"
    x = np.zeros(0, np.float32)
    with nautilus_cli.load(compiled(text, tmp_path), emulator=POISONED) as library:
        assert library(x=x, k=np.array([0]))["best"].shape == (0,)
        with pytest.raises(UsageError, match="input 'k' holds 1 in element 0; the library was compiled for 0 to 0 there"):
            library(x=x, k=np.array([1]))


@pytest.mark.parametrize("axes", ["zero", "a"])
def test_the_longest_step_takes_one_element(axes: str, tmp_path: Path) -> None:
    text = f"""edges (float[N] x, int64[1] b, int64[1] e, int64[1] a, int64[1] s) => (float[n] y, int64[1] same) {{
      zero = Constant <value = int64[1] {{0}}> ()
      same = Identity (a)
      y = Slice (x, b, e, {axes}, s)
    }}"""
    x = np.arange(10, dtype=np.float32)
    with nautilus_cli.load(compiled(text, tmp_path, {"N": DimRange(0, 12)}), emulator=POISONED) as library:
        for step in (HIGHEST, 2**31, 10, 3, 1, -1, -4, -(2**40), LOWEST):
            for b, e in ((0, HIGHEST), (3, 7), (-1, LOWEST), (HIGHEST, LOWEST), (5, 0)):
                found = library(x=x, b=np.array([b]), e=np.array([e]), a=np.array([0]), s=np.array([step]))["y"]
                np.testing.assert_array_equal(found, x[b:e:step], err_msg=f"{b}:{e}:{step}")


def nested_loops(depth: int, trips: int) -> onnx.ModelProto:
    """Return loops within loops, of which the innermost adds 1 to s0 and multiplies s1 by -1."""
    body = [helper.make_node("Add", [f"s{depth}", "one"], ["r"]), helper.make_node("Neg", [f"t{depth}"], ["u"])]
    given = ("r", "u")
    for level in range(depth, 0, -1):
        inputs = [(f"i{level}", TensorProto.INT64), (f"c{level}", TensorProto.BOOL)]
        inputs += [(f"s{level}", TensorProto.FLOAT), (f"t{level}", TensorProto.FLOAT)]
        outputs = [(f"o{level}", TensorProto.BOOL), *((name, TensorProto.FLOAT) for name in given)]
        body.append(helper.make_node("Identity", [f"c{level}"], [f"o{level}"]))
        ports = ([helper.make_tensor_value_info(name, type_, []) for name, type_ in side] for side in (inputs, outputs))
        given = (f"r{level - 1}", f"u{level - 1}")
        loop = helper.make_graph(body, f"body{level}", *ports)
        body = [helper.make_node("Loop", ["trips", "go", f"s{level - 1}", f"t{level - 1}"], list(given), body=loop)]
    constants = {"trips": np.array(trips), "go": np.array(True), "one": np.array(1, np.float32)}
    return model(body, [port("s0"), port("t0")], [port(name) for name in given], constants)


@pytest.mark.parametrize(("depth", "trips"), [(12, 2), (5, 5), (30, 1)])
def test_loops_within_loops_are_steps_where_they_unroll_to_much(depth: int, trips: int, tmp_path: Path) -> None:
    path, output = saved(nested_loops(depth, trips), tmp_path / "model.onnx"), tmp_path / "libmodel.so"
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", verify=False))
    with nautilus_cli.load(output, emulator=POISONED) as library:
        found = library(s0=np.float32(0.5), t0=np.float32(3))
        assert (found["r0"], found["u0"]) == (0.5 + trips**depth, 3 * (-1) ** (trips**depth % 2))


def test_a_convolution_of_an_open_length_may_have_a_result_of_one(tmp_path: Path) -> None:
    """A frame that is a little longer or shorter makes as many steps."""
    text = """edges (float[1, 2, N] x, float[3, 2, 4] w) => (float[1, 3, M] y, float[1, 3] one) {
      y = Conv <strides = [4]> (x, w)
      axis = Constant <value = int64[1] {2}> ()
      one = Squeeze (y, axis)
    }"""
    with pytest.raises(ModelError, match=r"it holds for N = 5\.\.7, it fails for N = 8\.\.9"):
        compiled(text, tmp_path, {"N": DimRange(5, 9)})
    random = np.random.default_rng(0)
    w = random.standard_normal((3, 2, 4)).astype(np.float32)
    with nautilus_cli.load(compiled(text, tmp_path, {"N": DimRange(5, 7)}), emulator=POISONED) as library:
        for length in (5, 7, 6):
            x = random.standard_normal((1, 2, length)).astype(np.float32)
            found = library(x=x, w=w)
            assert_close(found["y"], np.einsum("bct,oct->bo", x[..., :4], w)[..., None], f"{length} elements", terms=8)
            np.testing.assert_array_equal(found["one"], found["y"][..., 0])


def test_sums_of_products_of_open_sizes(tmp_path: Path) -> None:
    text = """edges (float[N, M] x, float[N, K] w, float[N, N] square, float[1, M] row)
        => (float[M, K] product, float[N, M, K] outer, float[N] diagonal, float[N, M] spread, float[P, P] kept) {
      product = Einsum <equation = "na,nb->ab"> (x, w)
      outer = Einsum <equation = "na,nb->nab"> (x, w)
      diagonal = Einsum <equation = "ii->i"> (square)
      spread = Einsum <equation = "na,na->na"> (x, row)
      zero = Constant <value = float {0}> ()
      first = Constant <value = int64 {0}> ()
      column = Gather <axis = 1> (x, first)
      mask = Greater (column, zero)
      some = Compress <axis = 0> (column, mask)
      kept = Einsum <equation = "i,j->ij"> (some, some)
    }"""
    dims = {"N": DimRange(1, 9), "M": DimRange(1, 12), "K": DimRange(1, 5)}
    random = np.random.default_rng(0)
    with nautilus_cli.load(compiled(text, tmp_path, dims), emulator=POISONED) as library:
        for n, m, k in ((1, 1, 1), (9, 12, 5), (4, 7, 1)):
            shapes = {"x": (n, m), "w": (n, k), "square": (n, n), "row": (1, m)}
            arrays = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
            found, x = library(arrays), arrays["x"]
            assert_close(found["product"], x.T @ arrays["w"], "product", terms=n)
            assert_close(found["outer"], x[:, :, None] * arrays["w"][:, None], "outer", terms=1)
            np.testing.assert_array_equal(found["diagonal"], np.diag(arrays["square"]))
            assert_close(found["spread"], x * arrays["row"], "spread", terms=1)
            some = x[:, 0][x[:, 0] > 0]
            assert_close(found["kept"], np.outer(some, some), "kept", terms=1)


def test_ones_on_a_diagonal_of_open_sizes(tmp_path: Path) -> None:
    text = """edges (float[N, M] x) => (float[N, M] y, int32[N, M] above) {
      y = EyeLike (x)
      above = EyeLike <dtype = 6, k = 2> (x)
    }"""
    with nautilus_cli.load(compiled(text, tmp_path, {"N": DimRange(0, 9), "M": DimRange(1, 7)}), emulator=POISONED) as library:
        for n, m in ((9, 7), (0, 3), (1, 1), (4, 6)):
            found = library(x=np.zeros((n, m), np.float32))
            np.testing.assert_array_equal(found["y"], np.eye(n, m))
            np.testing.assert_array_equal(found["above"], np.eye(n, m, 2))

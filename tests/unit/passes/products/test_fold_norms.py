"""Norms of rows that products alone read are found, and go into these."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import is_symbolic
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.text import print_graph
from nautilus_cli.ir.types import BF16, F16, F32, DType, TensorType
from nautilus_cli.ops.verifier import verify_graph
from nautilus_cli.passes import pipeline
from nautilus_cli.passes.dataflow import Dataflow
from nautilus_cli.passes.fusion.fuse import fuse
from nautilus_cli.passes.products.fold_norms import Folded, fold, fold_norms, outlined
from nautilus_cli.passes.products.row_norms import RowNorm, row_norms
from tests.unit.passes.sketches import Sketch, ops

NORMALIZED = "nautilus::NormalizedMatMul"
MOMENTS = "nautilus::RowMoments"
WIDTH = 96


def layer(s: Sketch, *, rows: int = 20) -> Value:
    """Return a stored residual sum of a product."""
    product = s.node("MatMul", (s.x(2, rows, 64), s.c(64, WIDTH)))
    return s.node("Add", (product, s.input("r", TensorType(s.dtype, (2, rows, WIDTH)))))


def by_operator(s: Sketch, h: Value) -> Value:
    return s.node("LayerNormalization", (h, s.c(WIDTH), s.c(WIDTH)))


def without_factors(s: Sketch, h: Value) -> Value:
    return s.node("LayerNormalization", (h, s.constant(np.ones(WIDTH, s.dtype.numpy))))


def written_out(s: Sketch, h: Value) -> Value:
    """As exporters of before opset 17 do: powers and a division, in 32 bits."""
    wide = s.node("Cast", (h,), to=1)
    axis = s.ints(-1)
    distance = s.node("Sub", (wide, s.node("ReduceMean", (wide, axis))))
    variance = s.node("ReduceMean", (s.node("Pow", (distance, s.constant(np.float32(2)))), axis))
    deviation = s.node("Sqrt", (s.node("Add", (variance, s.constant(np.float32(1e-6)))),))
    unit = s.node("Cast", (s.node("Div", (distance, deviation)),), to=10)
    return s.node("Add", (s.node("Mul", (unit, s.c(WIDTH))), s.c(WIDTH)))


def root_mean_square(s: Sketch, h: Value) -> Value:
    return s.node("RMSNormalization", (h, s.c(WIDTH)))


def by_one_over_the_root(s: Sketch, h: Value) -> Value:
    """As torch's older exporter writes a reciprocal root."""
    wide = s.node("Cast", (h,), to=1)
    squares = s.node("ReduceMean", (s.node("Pow", (wide, s.constant(np.float32(2)))), s.ints(-1)))
    root = s.node("Sqrt", (s.node("Add", (squares, s.constant(np.float32(1e-6)))),))
    inverse = s.node("Div", (s.constant(np.float32(1)), root))
    return s.node("Mul", (s.c(WIDTH), s.node("Cast", (s.node("Mul", (wide, inverse)),), to=10)))


def found_in(graph: Graph) -> list[RowNorm]:
    return list(row_norms(Dataflow(graph)))


def folded(graph: Graph) -> Graph:
    return fold_norms(graph, found_in(graph))


@pytest.mark.parametrize("norm", [by_operator, without_factors, written_out, root_mean_square, by_one_over_the_root])
def test_a_norm_goes_into_all_products_that_read_it(norm: Callable[[Sketch, Value], Value], same_results: Callable) -> None:
    s = Sketch(F16)
    h = layer(s)
    y = norm(s, h)
    first = s.node("Add", (s.node("MatMul", (y, s.c(WIDTH, 40))), s.c(40)))
    second = s.node("MatMul", (y, s.node("Transpose", (s.c(24, WIDTH),), perm=(1, 0))))
    before = pipeline.simplify(s.graph([("first", s.node("Relu", (first,))), ("second", second), ("h", h)]))
    (one,) = found_in(before)
    assert one.is_centred == (norm not in (root_mean_square, by_one_over_the_root)) and len(one.products) == 2
    after = folded(before)
    verify_graph(after)
    names = list(ops(after))
    assert names.count(MOMENTS) == 1 and names.count(NORMALIZED) == 2
    assert not {"ReduceMean", "Sqrt"}.intersection(names) and names.count("Add") == 1  # the bias is one with that of the norm
    same_results(before, after)
    assert print_graph(folded(after)) == print_graph(after)
    kinds = [(group.kind, len(group.outputs)) for group in fuse(after).groups]
    assert kinds == [("gemm", 2), ("gemm_normalized", 1), ("gemm_normalized", 1)]


def test_rows_that_products_reshape(same_results: Callable) -> None:
    """As a Gemm on flattened tokens."""
    s = Sketch(F16)
    flat = s.node("Reshape", (by_operator(s, layer(s)), s.ints(-1, WIDTH)))
    before = pipeline.simplify(s.graph([("y", s.node("MatMul", (flat, s.c(WIDTH, 8))))]))
    after = folded(before)
    verify_graph(after)
    assert NORMALIZED in ops(after)
    same_results(before, after)


@pytest.mark.parametrize("rows", [0, symbol("rows", 0, 9)], ids=["none", "open"])
def test_rows_that_products_reshape_may_be_none(rows: int, same_results: Callable) -> None:
    """In what Reshape takes, a 0 stands for a dimension of the operand, where it is not told that it is one."""
    s = Sketch(F16)
    y = by_operator(s, s.node("MatMul", (s.x(2, rows, 64), s.c(64, WIDTH))))
    shape = s.sizes((2 * rows, WIDTH))
    before = pipeline.simplify(s.graph([("y", s.node("MatMul", (s.node("Reshape", (y, shape), allowzero=1), s.c(WIDTH, 8))))]))
    after = folded(before)
    verify_graph(after)
    assert NORMALIZED in ops(after)
    if not is_symbolic(rows):
        same_results(before, after)


def test_one_column_and_a_bias_without_dimensions(same_results: Callable) -> None:
    s = Sketch(F16)
    y = s.node("Add", (s.node("MatMul", (by_operator(s, layer(s)), s.c(WIDTH, 1))), s.c()))
    before = pipeline.simplify(s.graph([("y", y)]))
    after = folded(before)
    assert NORMALIZED in ops(after)
    same_results(before, after)


@pytest.mark.parametrize("viewed", [False, True])
def test_a_product_that_leaves_before_its_bias(viewed: bool, same_results: Callable) -> None:
    s = Sketch(F16)
    product = s.node("MatMul", (by_operator(s, layer(s)), s.c(WIDTH, 8)))
    leaving = s.node("Reshape", (product, s.ints(-1))) if viewed else product
    before = pipeline.simplify(s.graph([("y", s.node("Add", (product, s.c(8)))), ("product", leaving)]))
    after = folded(before)
    verify_graph(after)
    names = list(ops(after))
    assert NORMALIZED in names and names.count("Add") == 2
    same_results(before, after)


def test_what_takes_a_norm_over_is_said_to_be_of_its_nodes() -> None:
    """So that the manifest, and `inspect --explain`, say which kernels compute it: none of it is left otherwise."""
    s = Sketch(F16)
    s.origin = ("rows",)
    h = layer(s)
    s.origin = ("norm",)
    y = by_operator(s, h)
    found = []
    for name in ("left", "right"):
        s.origin = (name,)
        found.append((name, s.node("Add", (s.node("MatMul", (y, s.c(WIDTH, 8))), s.c(8)))))
    groups = fuse(folded(pipeline.simplify(s.graph(found)))).groups
    names = [list(dict.fromkeys(name for node in group.nodes for name in node.origin)) for group in groups]
    assert names == [["rows", "norm"], ["norm", "left"], ["norm", "right"]]


def test_norms_of_the_same_rows_need_one_set_of_moments(same_results: Callable) -> None:
    """As of attention and a feed-forward layer that stand side by side."""
    s = Sketch(F16)
    h = layer(s)
    found = [s.node("MatMul", (norm(s, h), s.c(WIDTH, 8))) for norm in (by_operator, root_mean_square)]
    before = pipeline.simplify(s.graph([(f"y{number}", value) for number, value in enumerate(found)]))
    after = folded(before)
    verify_graph(after)
    names = list(ops(after))
    assert (names.count(MOMENTS), names.count(NORMALIZED)) == (1, 2)
    same_results(before, after)
    assert [(group.kind, len(group.outputs)) for group in fuse(after).groups] == [
        ("gemm", 2),
        ("gemm_normalized", 1),
        ("gemm_normalized", 1),
    ]


def test_moments_of_what_no_product_stores_are_a_kernel_of_their_own() -> None:
    s = Sketch(F16)
    graph = pipeline.simplify(s.graph([("y", s.node("MatMul", (by_operator(s, s.x(4, WIDTH)), s.c(WIDTH, 8))))]))
    assert [group.kind for group in fuse(folded(graph)).groups] == ["row_moments", "gemm_normalized"]


def of_floats(s: Sketch) -> Value:
    return s.node("MatMul", (by_operator(s, s.x(4, WIDTH)), s.c(WIDTH, 8)))


def read_elsewhere(s: Sketch) -> Value:
    y = by_operator(s, s.x(4, WIDTH))
    return s.node("Add", (y, s.node("MatMul", (y, s.c(WIDTH, WIDTH)))))


def by_no_constant(s: Sketch) -> Value:
    return s.node("MatMul", (by_operator(s, s.x(4, WIDTH)), s.input("w", TensorType(s.dtype, (WIDTH, 8)))))


def weight_read_twice(s: Sketch) -> Value:
    """It would be held twice."""
    w = s.c(WIDTH, 8)
    return s.node("Sub", (s.node("MatMul", (by_operator(s, s.x(4, WIDTH)), w)), s.node("MatMul", (s.x(4, WIDTH, name="z"), w))))


def no_whole_parts(s: Sketch) -> Value:
    y = s.node("LayerNormalization", (s.x(4, 40), s.c(40)))
    return s.node("MatMul", (y, s.c(40, 8)))


def no_columns(s: Sketch) -> Value:
    return s.node("MatMul", (s.node("LayerNormalization", (s.x(4, 0), s.c(0))), s.c(0, 8)))


def part_of_a_weight(s: Sketch) -> Value:
    """Which columns, the run says."""
    first = symbol("first", 0, 8)
    s.input("first", TensorType(F32, (first,)))
    part = s.node("Slice", (s.c(WIDTH, 16), s.sizes((first,)), s.sizes((first + 8,)), s.ints(1)))
    return s.node("MatMul", (by_operator(s, s.x(4, WIDTH)), part))


def along_both(s: Sketch) -> Value:
    y = s.node("LayerNormalization", (s.x(4, WIDTH), s.c(4, WIDTH)), axis=0)
    return s.node("MatMul", (y, s.c(WIDTH, 8)))


def factors_of_rows(s: Sketch) -> Value:
    y = s.node("LayerNormalization", (s.x(4, WIDTH), s.c(4, 1)))
    return s.node("MatMul", (y, s.c(WIDTH, 8)))


def transposed_rows(s: Sketch) -> Value:
    y = s.node("Transpose", (by_operator(s, s.x(WIDTH, WIDTH)),), perm=(1, 0))
    return s.node("MatMul", (y, s.c(WIDTH, 8)))


def sum_before_rounding(s: Sketch) -> Value:
    """As SkipLayerNormalization has it: what is stored is not what is normalised."""
    total, *_ = s.apply("com.microsoft::SkipLayerNormalization", (s.x(4, WIDTH), s.x(4, WIDTH, name="z"), s.c(WIDTH)), outputs=("t",))
    assert total is not None
    return s.node("MatMul", (total, s.c(WIDTH, 8)))


def unit_of(s: Sketch, x: Value, deviation: Callable[[Value], Value]) -> Value:
    """Return x over what DEVIATION makes of the root mean squares of its rows, without their last axis."""
    squares = s.node("ReduceMean", (s.node("Mul", (x, x)), s.ints(-1)), keepdims=0)
    root = s.node("Sqrt", (s.node("Add", (squares, s.constant(np.float16(1e-3)))),))
    return s.node("Div", (x, deviation(root)))


def deviations_of_columns(s: Sketch) -> Value:
    """As many rows as columns: without its last axis, what belongs to a row divides a column."""
    return s.node("MatMul", (unit_of(s, s.x(WIDTH, WIDTH), lambda root: root), s.c(WIDTH, 8)))


def two_over_the_root(s: Sketch) -> Value:
    x = s.x(4, WIDTH)
    root = s.node("Sqrt", (s.node("Add", (s.node("ReduceMean", (s.node("Mul", (x, x)), s.ints(-1))), s.constant(np.float16(1e-3)))),))
    return s.node("MatMul", (s.node("Mul", (x, s.node("Div", (s.constant(np.float16(2)), root)))), s.c(WIDTH, 8)))


def heads(s: Sketch) -> Value:
    """Norms of parts of the rows, as of the heads of queries, whose factors are of whole rows."""
    parts = s.node("Reshape", (s.x(4, WIDTH), s.ints(4 * 3, WIDTH // 3)))
    y = s.node("LayerNormalization", (parts, s.constant(np.ones(WIDTH // 3, np.float16))))
    return s.node("MatMul", (s.node("Mul", (s.node("Reshape", (y, s.ints(4, WIDTH))), s.c(WIDTH))), s.c(WIDTH, 8)))


def several_rows_at_once(s: Sketch) -> Value:
    y = s.node("LayerNormalization", (s.node("Reshape", (s.x(8, WIDTH), s.ints(4, 2 * WIDTH))), s.constant(np.ones(2 * WIDTH, np.float16))))
    return s.node("MatMul", (s.node("Mul", (s.node("Reshape", (y, s.ints(8, WIDTH))), s.c(WIDTH))), s.c(WIDTH, 8)))


def rounded_to_integers(s: Sketch) -> Value:
    whole = s.node("Cast", (by_operator(s, s.x(4, WIDTH)),), to=6)
    return s.node("MatMul", (s.node("Cast", (whole,), to=10), s.c(WIDTH, 8)))


def rounded_to_8_bits(s: Sketch) -> Value:
    narrow = s.node("Cast", (by_operator(s, s.x(4, WIDTH)),), to=17)
    return s.node("MatMul", (s.node("Cast", (narrow,), to=10), s.c(WIDTH, 8)))


def test_rows_whose_deviations_lose_their_axis_and_get_it_back(same_results: Callable) -> None:
    s = Sketch(F16)
    y = unit_of(s, s.x(WIDTH, WIDTH), lambda root: s.node("Unsqueeze", (root, s.ints(-1))))
    before = pipeline.simplify(s.graph([("y", s.node("MatMul", (y, s.c(WIDTH, 8))))]))
    after = folded(before)
    assert NORMALIZED in ops(after)
    same_results(before, after)


@pytest.mark.parametrize(
    ("build", "dtype"),
    [
        (of_floats, F32),
        (read_elsewhere, F16),
        (by_no_constant, F16),
        (weight_read_twice, F16),
        (no_whole_parts, F16),
        (no_columns, F16),
        (part_of_a_weight, F16),
        (along_both, F16),
        (factors_of_rows, F16),
        (transposed_rows, F16),
        (sum_before_rounding, F16),
        (deviations_of_columns, F16),
        (two_over_the_root, F16),
        (heads, F16),
        (several_rows_at_once, F16),
        (rounded_to_integers, F16),
        (rounded_to_8_bits, F16),
    ],
)
def test_norms_that_stay(build: Callable[[Sketch], Value], dtype: DType) -> None:
    s = Sketch(dtype)
    assert found_in(pipeline.simplify(s.graph([("y", build(s))]))) == []


def test_a_norm_that_leaves_stays() -> None:
    s = Sketch(F16)
    y = by_operator(s, s.x(4, WIDTH))
    graph = s.graph([("y", y), ("z", s.node("MatMul", (y, s.c(WIDTH, 8))))])
    assert found_in(pipeline.simplify(graph)) == []


def test_open_rows() -> None:
    s = Sketch(F16)
    graph = pipeline.simplify(s.graph([("y", s.node("MatMul", (by_operator(s, s.x(symbol("m", 1, 50), WIDTH)), s.c(WIDTH, 8))))]))
    assert NORMALIZED in ops(folded(graph))


def norm_of(depth: int, seed: int = 0, *, is_centred: bool = True) -> RowNorm:
    """Return a norm with factors as trained ones have them, one of which is far from the others."""
    random = np.random.default_rng(seed)
    gamma = 1 + random.standard_normal(depth) / 4
    gamma[depth // 3] = 20
    value = Value(TensorType(F16, (1, depth)))
    return RowNorm(value, value, 1e-5, is_centred, gamma, random.standard_normal(depth) / 4, ())


def weight_of(depth: int, dtype: np.dtype, scale: float = 0.02) -> np.ndarray:
    return np.asarray(np.random.default_rng(1).standard_normal((depth, 48)) * scale + scale / 2).astype(dtype)


def truth(norm: RowNorm, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    assert norm.gamma is not None and norm.beta is not None
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + norm.epsilon)
    return np.asarray((y * norm.gamma + norm.beta) @ weight.astype(np.float64))


def given(one: Folded | None) -> Folded:
    assert one is not None
    return one


@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize("depth", [32, 96, 768, 4096])
def test_columns_add_up_to_nothing_and_lose_no_more_than_roundings(depth: int, dtype: DType) -> None:
    norm, weight = norm_of(depth), weight_of(depth, dtype.numpy)
    one = given(fold(norm, weight))
    assert norm.gamma is not None and norm.beta is not None and one.bias is not None
    exact = norm.gamma[:, None] * weight.astype(np.float64)
    exact -= exact.mean(0)
    rounded = one.weight.T.astype(np.float64)
    assert one.weight.shape == (48, depth) and one.weight.dtype == weight.dtype
    unit = float(ml_dtypes.finfo(dtype.numpy).eps) / 2  # type: ignore[no-untyped-call]
    error = np.sqrt(np.square(rounded - exact).sum(0) / np.square(exact).sum(0))
    assert error.max() <= 2 * unit
    assert (np.abs(rounded.sum(0)) <= 2.0**-23 * np.abs(rounded).sum(0)).all()
    plain = exact.astype(np.float32).astype(dtype.numpy).astype(np.float64)
    assert np.abs(plain.sum(0)).max() > 100 * np.abs(rounded.sum(0)).max()  # what roundings alone would leave of a mean
    if depth > 200:  # of which a few are balanced
        assert error.max() <= 1.1 * np.sqrt(np.square(plain - exact).sum(0) / np.square(exact).sum(0)).max()
    np.testing.assert_array_equal(one.bias, (norm.beta @ weight.astype(np.float64)).astype(np.float32))


def chopped(x: np.ndarray, unit: np.ndarray) -> np.ndarray:
    return np.trunc(x / unit) * unit


def added_up(x: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return x·b as tensor cores add: sixteen products and the sum so far, cut to 24 bits of the largest of them, and the result too.

    Source: Fasi, Higham, Mikaitis and Pranesh, Numerical behavior of NVIDIA tensor cores (2021).
    """
    total = np.zeros((len(x), b.shape[1]))
    for k in range(0, x.shape[1], 16):
        products = x[:, k : k + 16, None] * b[None, k : k + 16]
        largest = np.maximum(np.abs(total), np.abs(products).max(1))
        unit = 2.0 ** (np.floor(np.log2(np.maximum(largest, 1e-300))) - 23)
        total = chopped(total, unit) + chopped(products, unit[:, None]).sum(1)
        total = chopped(total, 2.0 ** (np.floor(np.log2(np.maximum(np.abs(total), 1e-300))) - 23))
    return total


@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize("depth", [768, 2048])
@pytest.mark.parametrize("mean", [0.0, 1.0, 16.0, 64.0, 256.0, 1024.0, 1e4])
def test_a_mean_far_from_zero_costs_next_to_nothing_of_what_storing_has_left(mean: float, depth: int, dtype: DType) -> None:
    """The error is that of a kernel for the norm, which rounds its results, and a small share of what x lost when it was stored."""
    norm, weight = norm_of(depth), weight_of(depth, dtype.numpy)
    one = given(fold(norm, weight))
    x = np.random.default_rng(2).standard_normal((12, depth)) + mean
    stored = x.astype(dtype.numpy).astype(np.float64)
    scale = 1 / np.sqrt(stored.var(-1, keepdims=True) + norm.epsilon)
    found = scale * added_up(stored, one.weight.T.astype(np.float64)) + one.bias
    assert norm.gamma is not None and norm.beta is not None
    normalised = (stored - stored.mean(-1, keepdims=True)) * scale * norm.gamma + norm.beta
    apart = normalised.astype(dtype.numpy).astype(np.float64) @ weight.astype(np.float64)
    expected = truth(norm, stored, weight)
    # To first order: what a change of each x by half a unit does to the result, in squares.
    unit = float(ml_dtypes.finfo(dtype.numpy).eps) / 2  # type: ignore[no-untyped-call]
    by_storing = unit * scale * np.sqrt(np.square(stored) @ np.square(one.weight.T.astype(np.float64)))

    def deviation(array: np.ndarray) -> float:
        return float(np.sqrt(np.square(array).mean()))

    share = 1 / 100 if dtype == F16 else 1 / 800
    assert deviation(found - expected) <= 2 * deviation(apart - expected) + share * deviation(by_storing)


def test_weights_of_small_numbers_keep_their_norm() -> None:
    """They are rounded to multiples of 2⁻²⁴, which is more than relative to themselves."""
    assert fold(norm_of(WIDTH), weight_of(WIDTH, np.dtype(np.float16), 1e-6)) is None
    s = Sketch(F16)
    tiny = s.constant(weight_of(WIDTH, np.dtype(np.float16), 1e-6))
    graph = pipeline.simplify(s.graph([("y", s.node("MatMul", (by_operator(s, layer(s)), tiny)))]))
    assert folded(graph) is graph


def test_weights_that_grow_beyond_their_type_keep_their_norm() -> None:
    assert fold(norm_of(WIDTH), weight_of(WIDTH, np.dtype(np.float16), 1e4)) is None


def test_an_outline_has_the_types_of_what_it_stands_for() -> None:
    norm, weight = norm_of(WIDTH), weight_of(WIDTH, np.dtype(np.float16))
    one, other = given(fold(norm, weight)), outlined(norm, weight)
    assert (one.weight.shape, one.weight.dtype) == (other.weight.shape, other.weight.dtype)
    assert one.bias is not None and other.bias is not None and one.bias.shape == other.bias.shape

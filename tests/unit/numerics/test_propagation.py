"""Errors followed along a graph, against errors that computations really make."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nautilus_cli.ir.control import BranchAttrs, LoopAttrs
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.types import BOOL, F16, F32, I64, DType, TensorType
from nautilus_cli.numerics import compare
from nautilus_cli.numerics.propagation import Rounding, estimate, rounding, terms_of
from nautilus_cli.numerics.tolerance import from_deviation, unit_roundoff


def value(*shape: int, dtype: DType = F32, constant: np.ndarray | None = None) -> Value:
    return Value(TensorType(dtype, shape), constant=constant)


def node(op: str, inputs: list[Value], output: Value, **attributes: Any) -> Node:
    return Node(op, tuple(inputs), (output,), SimpleNamespace(**attributes))


def graph(nodes: list[Node], *outputs: Value) -> Graph:
    return Graph((), tuple((f"y{i}", v) for i, v in enumerate(outputs)), tuple(nodes))


def network(layers: int, width: int, dtype: DType) -> tuple[Graph, list[np.ndarray]]:
    """x -> tanh(x w) repeated, and its weights."""
    rng = np.random.default_rng(layers)
    weights = [(rng.standard_normal((width, width)) * 1.5 / width**0.5).astype(dtype.numpy) for _ in range(layers)]
    x = value(64, width, dtype=dtype)
    nodes = []
    for w in weights:
        product, activation = value(64, width, dtype=dtype), value(64, width, dtype=dtype)
        nodes += [node("MatMul", [x, value(width, width, dtype=dtype, constant=w)], product), node("Tanh", [product], activation)]
        x = activation
    return graph(nodes, x), weights


def run(x: np.ndarray, weights: list[np.ndarray], storage: type, accumulate: type) -> np.ndarray:
    """Evaluate the network: one rounding a term, every result stored."""
    for w in weights:
        total = np.zeros((x.shape[0], w.shape[1]), accumulate)
        for k in range(w.shape[0]):
            total = (total + x[:, k, None].astype(accumulate) * w[None, k].astype(accumulate)).astype(accumulate)
        x = np.tanh(total.astype(storage).astype(accumulate)).astype(storage)
    return x


@pytest.mark.parametrize(("dtype", "storage"), [(F32, np.float32), (F16, np.float16)])
@pytest.mark.parametrize("layers", [1, 12])
def test_estimate_covers_real_errors_within_an_order_of_magnitude(dtype: DType, storage: type, layers: int):
    model, weights = network(layers, 96, dtype)
    x = np.random.default_rng(0).standard_normal((64, 96)).astype(storage)
    exact = run(x, weights, np.float64, np.float64)
    actual = run(x, weights, storage, np.float32).astype(np.float64)
    deviation = float(np.sqrt(np.mean((actual - exact) ** 2)) / np.sqrt(np.mean(exact**2)))
    (predicted,) = estimate(model)
    assert predicted.deviation / 10 < deviation < predicted.deviation
    assert (predicted.steps, predicted.longest_sum) == (2 * layers, 96)
    reference = exact.astype(storage)
    assert compare(actual.astype(storage), reference, from_deviation(predicted.deviation, reference)).is_match


def test_a_wrong_layer_in_the_middle_fails():
    model, weights = network(12, 96, F32)
    x = np.random.default_rng(0).standard_normal((64, 96)).astype(np.float32)
    reference = run(x, weights, np.float64, np.float64).astype(np.float32)
    weights[5] = weights[5].copy()
    weights[5][17, 23] = 0  # one of 9216 weights of one of twelve layers
    actual = run(x, weights, np.float32, np.float32)
    (predicted,) = estimate(model)
    assert not compare(actual, reference, from_deviation(predicted.deviation, reference)).is_match


def test_fp16_accumulation_throughout_fails():
    model, weights = network(12, 96, F16)
    x = np.random.default_rng(0).standard_normal((64, 96)).astype(np.float16)
    reference = run(x, weights, np.float64, np.float64).astype(np.float16)
    (predicted,) = estimate(model)
    assert not compare(run(x, weights, np.float16, np.float16), reference, from_deviation(predicted.deviation, reference)).is_match


def test_movement_and_constants_are_exact():
    x, moved, shape = value(2, 3), value(3, 2), value(2, dtype=I64, constant=np.array([3, 2]))
    (predicted,) = estimate(graph([node("Reshape", [x, shape], moved)], moved))
    assert predicted.deviation == 0


def test_scatters_are_exact_unless_they_compute():
    x, indices, updates, y = value(4), value(2, dtype=I64), value(2), value(4)
    for reduction in ("none", "max", "min", "add", "mul"):
        (predicted,) = estimate(graph([node("ScatterElements", [x, indices, updates], y, reduction=reduction)], y))
        assert (predicted.steps == 0) == (reduction in ("none", "max", "min"))


def test_an_output_that_is_an_input_is_exact():
    x = value(2)
    (predicted,) = estimate(graph([], x))
    assert predicted.deviation == 0


def test_comparisons_end_an_error():
    x, y, z = value(2), value(2), value(2, dtype=BOOL)
    (predicted,) = estimate(graph([node("Exp", [x], y), node("Greater", [y, x], z)], z))
    assert predicted.deviation == 0


def test_each_output_has_its_own_path_and_the_worse_operand_rules():
    x, a, b, c = value(8), value(8), value(8), value(8)
    nodes = [node("Exp", [x], a), node("Exp", [a], b), node("Where", [x, a, b], c)]
    first, second, third = estimate(graph(nodes, a, b, c))
    assert first.steps == 1
    assert second.deviation == pytest.approx(first.deviation * 2**0.5)
    assert third == second


def test_storing_in_fp16_costs_its_roundoff():
    x, y = value(8, dtype=F16), value(8, dtype=F16)
    (predicted,) = estimate(graph([node("Add", [x, x], y)], y))
    assert predicted.deviation == pytest.approx(unit_roundoff(F16) / 3**0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("op", "inputs", "output", "attributes", "terms"),
    [
        ("MatMul", [(2, 5, 7), (7, 3)], (2, 5, 3), {}, 7),
        ("Gemm", [(7, 5), (3, 7)], (5, 3), {"transA": 1, "transB": 1}, 7),
        ("Conv", [(1, 8, 9, 9), (16, 4, 3, 3)], (1, 16, 7, 7), {"group": 2}, 36),
        ("ConvTranspose", [(1, 8, 9, 9), (8, 4, 3, 3)], (1, 8, 11, 11), {"group": 2}, 36),
        ("ReduceMean", [(2, 3, 5)], (2, 1, 1), {}, 15),
        ("GlobalAveragePool", [(2, 3, 5, 5)], (2, 3, 1, 1), {}, 25),
        ("AveragePool", [(1, 1, 9, 9)], (1, 1, 3, 3), {"kernel_shape": (3, 3)}, 9),
        ("Softmax", [(2, 3, 5)], (2, 3, 5), {"axis": 1}, 3),
        ("Softmax", [(2, 3, 5)], (2, 3, 5), {}, 5),
        ("LayerNormalization", [(2, 3, 5)], (2, 3, 5), {"axis": 1}, 15),
        ("InstanceNormalization", [(2, 3, 5, 5)], (2, 3, 5, 5), {}, 25),
        ("GroupNormalization", [(2, 6, 5, 5)], (2, 6, 5, 5), {"num_groups": 2}, 75),
        ("Einsum", [(5, 7), (7, 3)], (5, 3), {}, 7),
        ("ScatterElements", [(5, 7), (3, 7), (3, 7)], (5, 7), {"reduction": "add"}, 3),
        ("ScatterND", [(5, 7), (2, 3, 1), (2, 3, 7)], (5, 7), {"reduction": "mul"}, 6),
        ("LSTM", [(4, 2, 5), (1, 12, 5), (1, 12, 3)], (4, 1, 2, 3), {}, 8),
        ("Attention", [(1, 2, 4, 8), (1, 2, 6, 8), (1, 2, 6, 8)], (1, 2, 4, 8), {}, 14),
        ("Resize", [(1, 2, 5, 5)], (1, 2, 10, 7), {"mode": "linear"}, 4),
        ("Resize", [(1, 2, 5, 5)], (1, 2, 10, 5), {"mode": "cubic"}, 4),
        ("Resize", [(1, 2, 5, 5)], (1, 2, 10, 7), {}, 1),
        ("Add", [(2,), (2,)], (2,), {}, 1),
        ("DFT", [(2, 9, 4, 1)], (2, 5, 4, 2), {}, 9),
        ("STFT", [(2, 100, 1)], (2, 9, 17, 2), {}, 34),
        ("Det", [(2, 5, 5)], (2,), {}, 25),
        ("DeformConv", [(1, 8, 9, 9), (16, 4, 3, 3), (1, 18, 7, 7)], (1, 16, 7, 7), {"group": 2}, 36),
        ("com.microsoft::FusedMatMul", [(7, 5), (7, 3)], (5, 3), {"transA": 1}, 7),
        ("com.microsoft::FusedMatMul", [(7, 2, 5), (2, 7, 3)], (2, 5, 3), {"transA": 1, "transBatchA": 1}, 7),
        ("com.microsoft::FusedMatMul", [(2, 5, 7), (2, 7, 3)], (2, 5, 3), {}, 7),
        ("com.microsoft::SkipLayerNormalization", [(2, 3, 8), (2, 3, 8), (8,)], (2, 3, 8), {}, 8),
        ("com.microsoft::GroupNorm", [(2, 4, 5, 6), (6,), (6,)], (2, 4, 5, 6), {"groups": 3}, 40),
        ("com.microsoft::Attention", [(2, 5, 7), (7, 36), (36,)], (2, 5, 12), {}, 48),
        ("com.microsoft::MultiHeadAttention", [(2, 5, 12), (2, 7, 12), (2, 7, 12)], (2, 5, 12), {}, 26),
    ],
)
def test_lengths_of_sums(op: str, inputs: list[tuple[int, ...]], output: tuple[int, ...], attributes: dict[str, Any], terms: int):
    result = value(*output)
    assert terms_of(node(op, [value(*s) for s in inputs], result, **attributes), result) == terms


def test_a_recurrent_layer_is_as_deep_as_its_sequence():
    output = value(4, 1, 2, 3)
    (predicted,) = estimate(graph([node("LSTM", [value(4, 2, 5), value(1, 12, 5), value(1, 12, 3)], output)], output))
    assert predicted.steps == 4


def test_the_rounding_of_one_half_goes_where_values_only_move() -> None:
    """Through a concatenation with anything, but not past arithmetic, where it is relative to something else."""
    x, gate, other, joined, scaled = value(4), value(4), value(4), value(8), value(8)
    nodes = [
        node("Sigmoid", [x], gate),
        node("Exp", [x], other),
        node("Concat", [other, gate], joined, axis=0),
        node("Mul", [joined, value(8)], scaled),
    ]
    moved, computed, alone = estimate(graph(nodes, joined, scaled, other))
    assert 0 < moved.absolute == pytest.approx(4 * unit_roundoff(F32) / 3**0.5)
    assert computed.absolute == alone.absolute == 0
    tiny = np.full(8, 1e-9, np.float32)
    assert from_deviation(moved.deviation, tiny, absolute=moved.absolute).atol > 100 * from_deviation(moved.deviation, tiny).atol


def test_what_rounds_adds_up_to_the_estimate() -> None:
    """Relative and summed part together are the deviation of one step; what only moves has neither."""
    x, product = value(8, 16), value(8, 4)
    only = node("MatMul", [x, value(16, 4)], product)
    own = rounding(only, product)
    (found,) = estimate(graph([only], product))
    assert found.deviation == pytest.approx(np.hypot(own.relative, own.summed))
    assert own.summed > own.relative > 0
    turned = value(16, 8)
    assert rounding(node("Transpose", [x], turned), turned) == Rounding(relative=0.0, summed=0.0)


def _held(op: str, attrs: object, inputs: list[Value | None], *outputs: Value) -> Node:
    return Node(op, tuple(inputs), outputs, attrs)


def _layers(count: int) -> Graph:
    """A graph of its own: x -> tanh(x w), some times."""
    inner, _ = network(count, 8, F32)
    first, *_ = inner.nodes
    x = first.inputs[0]
    assert x is not None
    return Graph((("x", x),), inner.outputs, inner.nodes)


def test_the_worse_branch_rules() -> None:
    short, long = _layers(1), _layers(9)
    x, condition, y = value(64, 8), value(dtype=BOOL), value(64, 8)
    attrs = BranchAttrs(then_branch=short, else_branch=long, types=(y.type,))
    (found,) = estimate(graph([_held("nautilus::If", attrs, [condition, x, x], y)], y))
    (alone,) = estimate(long)
    assert (found.deviation, found.steps) == (alone.deviation, alone.steps)
    refused = BranchAttrs(then_branch=short, else_branch=Graph((), (), ()), types=(y.type,), refusals=("", "it cannot be"))
    (left,) = estimate(graph([_held("nautilus::If", refused, [condition, x], y)], y))
    assert left.deviation == estimate(short)[0].deviation


def test_a_loop_is_as_deep_as_its_iterations() -> None:
    x, y = value(64, 8), value(64, 8)
    loop = _held("nautilus::Loop", LoopAttrs(body=_layers(1), states=1, trips=25, most=100), [None, None, x], y)
    (found,) = estimate(graph([loop], y))
    (alone,) = estimate(_layers(25))
    assert found.deviation == pytest.approx(alone.deviation, rel=0.05)
    assert found.steps >= alone.steps

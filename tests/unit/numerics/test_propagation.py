"""Errors followed along a graph, against errors that computations really make."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.ir.control import BranchAttrs, LoopAttrs
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.types import BOOL, F16, F32, I64, DType
from nautilus_cli.numerics import compare
from nautilus_cli.numerics.propagation import estimate
from nautilus_cli.numerics.rounding import Rounding, rounding
from nautilus_cli.numerics.tolerance import from_deviation, unit_roundoff
from tests.unit.numerics.nodes import graph, node, value


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
    (predicted,) = estimate(model, fp32_mode="ffma")
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
    (predicted,) = estimate(model, fp32_mode="ffma")
    assert not compare(actual, reference, from_deviation(predicted.deviation, reference)).is_match


def test_fp16_accumulation_throughout_fails():
    model, weights = network(12, 96, F16)
    x = np.random.default_rng(0).standard_normal((64, 96)).astype(np.float16)
    reference = run(x, weights, np.float64, np.float64).astype(np.float16)
    (predicted,) = estimate(model, fp32_mode="ffma")
    assert not compare(run(x, weights, np.float16, np.float16), reference, from_deviation(predicted.deviation, reference)).is_match


def test_movement_and_constants_are_exact():
    x, moved, shape = value(2, 3), value(3, 2), value(2, dtype=I64, constant=np.array([3, 2]))
    (predicted,) = estimate(graph([node("Reshape", [x, shape], moved)], moved), fp32_mode="ffma")
    assert predicted.deviation == 0


def test_scatters_are_exact_unless_they_compute():
    x, indices, updates, y = value(4), value(2, dtype=I64), value(2), value(4)
    for reduction in ("none", "max", "min", "add", "mul"):
        (predicted,) = estimate(graph([node("ScatterElements", [x, indices, updates], y, reduction=reduction)], y), fp32_mode="ffma")
        assert (predicted.steps == 0) == (reduction in ("none", "max", "min"))


def test_an_output_that_is_an_input_is_exact():
    x = value(2)
    (predicted,) = estimate(graph([], x), fp32_mode="ffma")
    assert predicted.deviation == 0


def test_comparisons_end_an_error():
    x, y, z = value(2), value(2), value(2, dtype=BOOL)
    (predicted,) = estimate(graph([node("Exp", [x], y), node("Greater", [y, x], z)], z), fp32_mode="ffma")
    assert predicted.deviation == 0


def test_each_output_has_its_own_path_and_the_worse_operand_rules():
    x, a, b, c = value(8), value(8), value(8), value(8)
    nodes = [node("Exp", [x], a), node("Exp", [a], b), node("Where", [x, a, b], c)]
    first, second, third = estimate(graph(nodes, a, b, c), fp32_mode="ffma")
    assert first.steps == 1
    assert second.deviation == pytest.approx(first.deviation * 2**0.5)
    assert third == second


def test_storing_in_fp16_costs_its_roundoff():
    x, y = value(8, dtype=F16), value(8, dtype=F16)
    (predicted,) = estimate(graph([node("Add", [x, x], y)], y), fp32_mode="ffma")
    assert predicted.deviation == pytest.approx(unit_roundoff(F16) / 3**0.5, rel=1e-3)


def test_a_recurrent_layer_is_as_deep_as_its_sequence():
    output = value(4, 1, 2, 3)
    (predicted,) = estimate(graph([node("LSTM", [value(4, 2, 5), value(1, 12, 5), value(1, 12, 3)], output)], output), fp32_mode="ffma")
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
    moved, computed, alone = estimate(graph(nodes, joined, scaled, other), fp32_mode="ffma")
    assert 0 < moved.absolute == pytest.approx(4 * unit_roundoff(F32) / 3**0.5)
    assert computed.absolute == alone.absolute == 0
    tiny = np.full(8, 1e-9, np.float32)
    assert from_deviation(moved.deviation, tiny, absolute=moved.absolute).atol > 100 * from_deviation(moved.deviation, tiny).atol


def test_what_rounds_adds_up_to_the_estimate() -> None:
    """Relative and summed part together are the deviation of one step; what only moves has neither."""
    x, product = value(8, 16), value(8, 4)
    only = node("MatMul", [x, value(16, 4)], product)
    own = rounding(only, product, fp32_mode="ffma")
    (found,) = estimate(graph([only], product), fp32_mode="ffma")
    assert found.deviation == pytest.approx(np.hypot(own.relative, own.summed))
    assert own.summed > own.relative > 0
    turned = value(16, 8)
    assert rounding(node("Transpose", [x], turned), turned, fp32_mode="ffma") == Rounding(relative=0.0, summed=0.0)


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
    (found,) = estimate(graph([_held("nautilus::If", attrs, [condition, x, x], y)], y), fp32_mode="ffma")
    (alone,) = estimate(long, fp32_mode="ffma")
    assert (found.deviation, found.steps) == (alone.deviation, alone.steps)
    refused = BranchAttrs(then_branch=short, else_branch=Graph((), (), ()), types=(y.type,), refusals=("", "it cannot be"))
    (left,) = estimate(graph([_held("nautilus::If", refused, [condition, x], y)], y), fp32_mode="ffma")
    assert left.deviation == estimate(short, fp32_mode="ffma")[0].deviation


def test_a_loop_is_as_deep_as_its_iterations() -> None:
    x, y = value(64, 8), value(64, 8)
    loop = _held("nautilus::Loop", LoopAttrs(body=_layers(1), states=1, trips=25, most=100), [None, None, x], y)
    (found,) = estimate(graph([loop], y), fp32_mode="ffma")
    (alone,) = estimate(_layers(25), fp32_mode="ffma")
    assert found.deviation == pytest.approx(alone.deviation, rel=0.05)
    assert found.steps >= alone.steps

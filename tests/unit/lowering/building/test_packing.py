"""Packed weights."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import from_strides, identity, permuted, regroup
from nautilus_cli.ir.types import F16, TensorType, dtype_of
from nautilus_cli.lowering.building.packing import constant_behind, gather, pack_rows
from nautilus_cli.lowering.planner import plan
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.passes import pipeline
from nautilus_cli.targets.registry import target
from tests.support.random_graphs.building import analytic


def constant(array: np.ndarray) -> Value:
    """Return a constant value."""
    return Value(TensorType(dtype_of(array), array.shape), tensor="w", constant=array)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(("k", "n"), [(1, 1), (5, 3), (8, 16), (13, 7)])
def test_a_transposed_matrix_is_packed_along_k(dtype: type, k: int, n: int) -> None:
    """Rows hold k, start at multiples of 16 bytes, and are padded with zeros."""
    weights = np.arange(k * n, dtype=dtype).reshape(k, n)
    to_linear = regroup(permuted((1, k, n), (0, 2, 1)), [[0], [1], [2]])
    packed, index_map = pack_rows(constant(weights), to_linear, "gemm_nk")
    offsets, _ = index_map.offsets()
    assert np.array_equal(packed.array.reshape(-1)[offsets][0], weights.T)
    assert packed.array.shape[-1] * packed.array.itemsize % 16 == 0 or packed.recipe == "dense"


def test_a_matrix_that_lies_right_is_used_as_it_is() -> None:
    """An [n, k] constant with aligned rows is not copied: an embedding and the product with it share one weight."""
    weights = np.arange(24, dtype=np.float32).reshape(3, 8)
    packed, _ = pack_rows(constant(weights), identity((1, 3, 8)), "gemm_nk")
    assert packed.recipe == "dense"
    assert np.shares_memory(packed.array, weights)


@pytest.mark.parametrize(("k", "recipe"), [(8, "dense"), (6, "gemm_nk")])
@pytest.mark.parametrize("batch", [32, symbol("batch", 1, 4)])
def test_what_a_batch_repeats_is_packed_once(k: int, recipe: str, batch: int) -> None:
    """However large the batch is, or where only the run knows it."""
    weights = np.arange(3 * k, dtype=np.float32).reshape(3, k)
    packed, index_map = pack_rows(constant(weights), from_strides((batch, 3, k), (0, k, 1)), "gemm_nk")
    assert packed.recipe == recipe and packed.array.size == 3 * 8
    offsets, _ = bind(index_map, {"batch": 4}).offsets()
    assert all(np.array_equal(packed.array.reshape(-1)[rows], weights) for rows in offsets)


def test_gather_follows_any_map() -> None:
    """Strides, repeats and reversal."""
    array = np.arange(12)
    assert np.array_equal(gather(array, from_strides((3, 4), (4, 1))), array.reshape(3, 4))
    assert np.array_equal(gather(array, from_strides((2, 4), (0, 1), 4)), np.broadcast_to(array[4:8], (2, 4)))
    assert np.array_equal(gather(array, from_strides((4,), (-1,), 3)), array[3::-1])


def test_a_part_that_the_run_chooses_is_not_packed() -> None:
    """A product, or a convolution, loads it as it does what the run gives."""
    emit = GraphBuilder()
    first, columns = symbol("first", 0, 8), symbol("columns", 1, 8)
    for start, end in ((first, first + 8), (0, columns)):
        table = emit.constant(np.zeros((4, 16), np.float32))
        part = emit.node("Slice", (table, emit.sizes((start,)), emit.sizes((end,)), emit.constant(np.array([1]))))
        (node,) = (node for node in emit.nodes if part in node.outputs)
        assert constant_behind(part, {part: node}) is None


def test_a_constant_that_an_open_batch_repeats_is_one() -> None:
    emit = GraphBuilder()
    matrix = emit.constant(np.zeros((4, 16), np.float32))
    repeated = emit.node("Expand", (matrix, emit.sizes((symbol("batch", 1, 4), 4, 16))))
    found = constant_behind(repeated, {repeated: emit.nodes[-1]})
    assert found is not None and found[0] is matrix


@pytest.mark.parametrize("name", ["sm_80", "sm_90a", "emulated"])
def test_products_by_parts_that_the_run_chooses_are_planned(name: str) -> None:
    """Alone, and two of them as a gated unit, which is no pair: a pair's weights are packed together."""
    emit = GraphBuilder()
    first = symbol("first", 0, 8)
    emit.input("first", TensorType(F16, (first,)))
    x = emit.input("x", TensorType(F16, (40, 64)))
    parts = []
    for seed in range(2):
        table = emit.constant(np.random.default_rng(seed).standard_normal((64, 24)).astype(np.float16))
        ends = (emit.sizes((first,)), emit.sizes((first + 16,)), emit.constant(np.array([1])))
        parts.append(emit.node("MatMul", (x, emit.node("Slice", (table, *ends)))))
    y = emit.node("Mul", (emit.node("Sigmoid", parts[:1]), parts[1]))
    found = plan(pipeline.run(emit.graph([("y", y)])), target(name), analytic, fp32_mode="ffma")
    assert len(found.launches) == 2

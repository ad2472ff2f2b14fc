"""Packed weights."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import from_strides, identity, permuted, regroup
from nautilus_cli.ir.types import TensorType, dtype_of
from nautilus_cli.lowering.packing import gather, pack_rows


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

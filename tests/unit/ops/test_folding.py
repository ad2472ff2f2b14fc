"""Constant folding: what becomes a constant, and what stays a node because it would cost too much."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nautilus_cli.errors import InternalError, ModelError
from nautilus_cli.ops import fold_budget
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.folding import MAX_GROWTH_BYTES, MAX_REARRANGED_BYTES, MAX_WIDENED_BYTES
from nautilus_cli.ops.registry import operators

LARGE = MAX_REARRANGED_BYTES // 4 + 512


def test_small_transpose_folds() -> None:
    b = GraphBuilder()
    y = b.node("Transpose", [b.constant(np.arange(6, dtype=np.float32).reshape(2, 3))])
    assert y.constant is not None
    assert y.constant.flags.c_contiguous
    assert y.constant.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_large_transpose_stays_a_node() -> None:
    b = GraphBuilder()
    y = b.node("Transpose", [b.constant(np.zeros((LARGE // 512, 512), np.float32))])
    assert y.constant is None
    assert [n.op for n in b.nodes] == ["Transpose"]


def test_large_transpose_that_moves_nothing_is_a_view() -> None:
    b = GraphBuilder()
    array = np.zeros((1, LARGE), np.float32)
    y = b.node("Transpose", [b.constant(array)])
    assert y.constant is not None
    assert np.shares_memory(y.constant, array)


def test_large_reshape_is_a_view() -> None:
    b = GraphBuilder()
    array = np.zeros(LARGE, np.float32)
    y = b.node("Reshape", [b.constant(array), b.constant(np.array([-1, 512]))])
    assert y.constant is not None
    assert np.shares_memory(y.constant, array)


def test_expansion_beyond_the_limit_stays_a_node() -> None:
    b = GraphBuilder()
    one = b.constant(np.ones(1, np.float32))
    for bytes_, folded in ((MAX_GROWTH_BYTES, True), (MAX_GROWTH_BYTES + 4, False)):
        y = b.node("Expand", [one, b.constant(np.array([bytes_ // 4]))])
        assert (y.constant is not None) == folded


def test_large_weights_of_few_bits_stay_narrow() -> None:
    """A product reads them as they are; small ones fold."""
    for count, folded in ((MAX_WIDENED_BYTES // 4, True), (MAX_WIDENED_BYTES // 4 + 1, False)):
        b = GraphBuilder()
        weights = b.constant(np.ones(count, np.int8))
        assert (b.node("Cast", [weights], to=6).constant is not None) == folded
        assert b.node("Cast", [weights], to=1).constant is not None
        packed = b.constant(np.ones((4 * count // 2, 1), np.uint8))
        shifts = b.constant(np.array([0, 4], np.uint8))
        assert (b.node("nautilus::UnpackBits", [packed, shifts], bits=4).constant is not None) == folded


def test_heavy_product_of_constants_stays_a_node() -> None:
    b = GraphBuilder()
    small, large = (b.constant(np.zeros((n, n), np.float32)) for n in (8, 256))
    assert b.node("MatMul", [small, small]).constant is not None
    assert b.node("MatMul", [large, large]).constant is None


def test_index_outside_a_constant_names_the_node() -> None:
    b = GraphBuilder(origin=("pick",))
    table = b.constant(np.zeros((4, 2), np.float32))
    with pytest.raises(ModelError, match=r"node 'pick' \(Gather\)"):
        b.node("Gather", [table, b.constant(np.array([9]))])


def test_truth_that_disagrees_with_its_shape_rule_is_internal() -> None:
    wrong = replace(operators()["Abs"], evaluate=lambda *_: (np.zeros(7, np.float32),))
    b = GraphBuilder(known={"Abs": wrong})
    with pytest.raises(InternalError, match=r"evaluates to float32\[7\], its shape rule says f32\[2\]"):
        b.node("Abs", [b.constant(np.zeros(2, np.float32))])
    b = GraphBuilder(known={"Abs": replace(wrong, evaluate=lambda *_: ())})
    with pytest.raises(InternalError, match="evaluates to 0 results"):
        b.node("Abs", [b.constant(np.zeros(2, np.float32))])


def test_time_for_folding_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop of products of constants: what is beyond the time stays nodes."""
    monkeypatch.setattr(fold_budget, "MAX_FOLD_WORK", 10 * 32**4 - 4 * (1 << 17))
    b = GraphBuilder(fold_bytes=1 << 17)
    x = b.constant(np.eye(32, dtype=np.float32))
    for _ in range(25):
        x = b.node("MatMul", [x, x])
    assert [n.op for n in b.nodes] == ["MatMul"] * 15
    assert b.node("Reshape", [b.constant(np.zeros(4)), b.constant(np.array([2, 2]))]).constant is not None


def test_a_product_of_constants_without_a_kernel_of_its_name_stays_a_node() -> None:
    b = GraphBuilder()
    q = b.constant(np.zeros((1, 1, 4096, 16), np.float32))
    assert b.node("Attention", [q, q, q]).constant is None
    small = b.constant(np.zeros((1, 1, 4, 16), np.float32))
    assert b.node("Attention", [small, small, small]).constant is not None

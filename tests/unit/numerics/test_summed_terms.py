from __future__ import annotations

from typing import Any

import pytest

from nautilus_cli.numerics.summed_terms import terms_of
from tests.unit.numerics.nodes import node, value


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
def test_lengths_of_sums(op: str, inputs: list[tuple[int, ...]], output: tuple[int, ...], attributes: dict[str, Any], terms: int) -> None:
    result = value(*output)
    assert terms_of(node(op, [value(*s) for s in inputs], result, **attributes), result) == terms

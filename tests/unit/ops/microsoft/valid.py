"""A node that is allowed of each operator of the package: operands and attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.unit.ops.microsoft.contrib import floats

_RNG = np.random.default_rng(0)


def _f(*shape: int) -> np.ndarray:
    return floats(_RNG, *shape)


def _i(*values: Any) -> np.ndarray:
    return np.array(values, np.int32)


_CACHE = [_f(2, 2, 6, 16) for _ in range(2)]
_IDS = _i([0, 1, 2], [2, 1, 0])

_NODES: dict[str, tuple[tuple[np.ndarray | None, ...], dict[str, Any]]] = {
    "Attention": (
        (_f(2, 5, 7), _f(7, 36), _f(36), _i([1] * 8, [1] * 8), _f(2, 2, 3, 3, 4), _f(1, 3, 5, 8)),
        {"num_heads": 3, "qkv_hidden_sizes": [12, 12, 12]},
    ),
    "BiasAdd": ((_f(2, 3, 4), _f(4), _f(2, 3, 4)), {}),
    "BiasDropout": ((_f(2, 3, 4), _f(4), _f(2, 3, 4)), {}),
    "BiasGelu": ((_f(2, 3, 4), _f(4)), {}),
    "BiasSoftmax": ((_f(2, 3, 4), _f(3, 4)), {"axis": 1, "is_inner_broadcast": 0}),
    "BiasSplitGelu": ((_f(2, 3, 4), _f(4)), {}),
    "ConvTransposeWithDynamicPads": ((_f(1, 4, 5, 6), _f(4, 3, 3, 3), np.array([1, 0, 0, 1]), _f(3)), {}),
    "EmbedLayerNormalization": (
        (_IDS, _IDS % 2, _f(9, 8), _f(4, 8), _f(2, 8), _f(8), _f(8), np.ones((2, 3), np.int32), _IDS),
        {},
    ),
    "ExpandDims": ((_f(2, 3), _i(1)), {}),
    "FastGelu": ((_f(2, 3, 4), _f(4)), {}),
    "FusedConv": ((_f(1, 4, 5, 6), _f(3, 4, 3, 3), _f(3), _f(1, 3, 3, 4)), {"activation": "Relu"}),
    "FusedGemm": ((_f(3, 4), _f(4, 5), _f(5)), {"activation": "Relu"}),
    "FusedMatMul": ((_f(3, 4), _f(4, 5)), {}),
    "FusedMatMulActivation": ((_f(3, 4), _f(4, 5)), {"activation": "Relu"}),
    "GatherND": ((_f(3, 4), _i([0, 1], [2, 3])), {}),
    "Gelu": ((_f(2, 3),), {}),
    "GemmFastGelu": ((_f(3, 4), _f(4, 5), _f(5)), {}),
    "GridSample": ((_f(1, 2, 4, 5), _f(1, 3, 3, 2)), {}),
    "GroupNorm": ((_f(2, 3, 4, 6), _f(6), _f(6)), {"groups": 3, "activation": 1}),
    "GroupQueryAttention": (
        (_f(2, 1, 64), _f(2, 1, 32), _f(2, 1, 32), *_CACHE, _i(6, 6), np.int32(7), _f(9, 8), _f(9, 8), np.array([[6], [6]])),
        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1},
    ),
    "Inverse": ((_f(2, 3, 3),), {}),
    "MultiHeadAttention": (
        (_f(2, 5, 12), _f(2, 7, 12), _f(2, 7, 12), _f(36), _i([1] * 7, [1] * 7), _f(1, 3, 5, 7)),
        {"num_heads": 3},
    ),
    "NhwcConv": ((_f(1, 5, 6, 4), _f(3, 3, 3, 4), _f(3)), {}),
    "Pad": ((_f(2, 3), np.array([1, 0, 0, 1]), _f(1)), {}),
    "QuickGelu": ((_f(2, 3),), {}),
    "Range": ((np.float32(1), np.float32(9), np.float32(2)), {}),
    "RotaryEmbedding": ((_f(2, 5, 24), np.array([[0, 1, 2, 3, 4]] * 2), _f(9, 4), _f(9, 4)), {}),
    "SkipGroupNorm": ((_f(2, 3, 4, 6), _f(6), _f(6), _f(2, 6), _f(6)), {"groups": 3, "activation": 1}),
    "SkipLayerNormalization": ((_f(2, 3, 8), _f(2, 3, 8), _f(8), _f(8), _f(8)), {}),
    "SkipSimplifiedLayerNormalization": ((_f(2, 3, 8), _f(2, 3, 8), _f(8), _f(8)), {}),
    "TransposeMatMul": ((_f(3, 4), _f(4, 5)), {}),
    "Trilu": ((_f(3, 4), np.array(1)), {}),
    "Unique": ((_i(2, 1, 1, 3),), {}),
}

VALID = {f"com.microsoft::{name}": node for name, node in _NODES.items()} | {
    "SimplifiedLayerNormalization": ((_f(2, 3, 8), _f(8)), {"axis": -1})
}

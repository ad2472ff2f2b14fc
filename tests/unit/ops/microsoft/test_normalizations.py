from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.ops.registry import operators
from tests.unit.ops.microsoft.contrib import agrees, agrees_in_half, floats, refuses
from tests.unit.ops.oracle import check, onnxruntime_says, same

RNG = np.random.default_rng(2)
TERMS = 64


@pytest.mark.parametrize("shape", [(2, 3, 8), (1, 5, 33), (7, 16)])
def test_skip_layer_normalization(shape: tuple[int, ...]) -> None:
    x, skip, gamma, beta, bias = floats(RNG, *shape), floats(RNG, *shape), *(floats(RNG, shape[-1]) for _ in range(3))
    agrees("SkipLayerNormalization", [x, skip, gamma, beta, bias], {"epsilon": 1e-5}, terms=TERMS)
    agrees("SkipLayerNormalization", [x, skip, gamma, None, bias], terms=TERMS)
    agrees("SkipLayerNormalization", [x, skip, gamma], terms=TERMS)
    agrees("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], {"epsilon": 1e-5}, terms=TERMS)
    agrees("SkipSimplifiedLayerNormalization", [x, skip, gamma], terms=TERMS)
    agrees_in_half("SkipLayerNormalization", [x, skip, gamma, beta, bias], {"epsilon": 1e-3}, terms=TERMS)
    agrees_in_half("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], {"epsilon": 1e-3}, terms=TERMS)


@pytest.mark.parametrize("op", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
def test_the_sum_is_a_result(op: str) -> None:
    x, skip, gamma = floats(RNG, 2, 3, 8), floats(RNG, 2, 3, 8), floats(RNG, 8)
    operator = operators()[f"com.microsoft::{op}"]
    total = operator.evaluate(operator.attributes(), (x, skip, gamma), 4)[3]
    same(total, x + skip, terms=1, depth=1)


def test_one_skip_serves_every_sequence() -> None:
    x, gamma, beta = floats(RNG, 2, 3, 8), floats(RNG, 8), floats(RNG, 8)
    for shape in ((1, 3, 8), (3, 8)):
        agrees("SkipLayerNormalization", [x, floats(RNG, *shape), gamma, beta], terms=TERMS)


@pytest.mark.parametrize("axis", [-1, 1])
def test_simplified(axis: int) -> None:
    x = floats(RNG, 2, 3, 8)
    check(
        "SimplifiedLayerNormalization",
        [x, floats(RNG, *x.shape[axis:])],
        {"axis": axis, "epsilon": 1e-5},
        outputs=2,
        terms=TERMS,
        depth=8,
        oracle=onnxruntime_says,
    )


@pytest.mark.parametrize("positions", [None, (2, 5), (1, 5)])
@pytest.mark.parametrize("segmented", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_embed_layer_normalization(positions: tuple[int, ...] | None, segmented: bool, masked: bool) -> None:
    ids = RNG.integers(0, 11, (2, 5)).astype(np.int32)
    segments, table = (RNG.integers(0, 2, (2, 5)).astype(np.int32), floats(RNG, 2, 8)) if segmented else (None, None)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32) if masked else None
    places = None if positions is None else RNG.integers(0, 6, positions).astype(np.int32)
    arrays = [ids, segments, floats(RNG, 11, 8), floats(RNG, 6, 8), table, floats(RNG, 8), floats(RNG, 8), mask, places]
    agrees("EmbedLayerNormalization", arrays, {"epsilon": 1e-6}, outputs=3, terms=TERMS)


@pytest.mark.parametrize("channels_last", [0, 1])
@pytest.mark.parametrize("activation", [0, 1])
@pytest.mark.parametrize("groups", [1, 3, 6])
def test_group_norm(channels_last: int, activation: int, groups: int) -> None:
    # onnxruntime has no CPU kernel: held against ONNX's GroupNormalization.
    x, gamma, beta = floats(RNG, 2, 6, 4, 5), floats(RNG, 6), floats(RNG, 6)
    skip, bias = floats(RNG, 2, 6), floats(RNG, 6)
    for total, op, more in ((x, "GroupNorm", ()), (x + skip[..., None, None] + bias[:, None, None], "SkipGroupNorm", (skip, bias))):
        (wanted,) = onnxruntime_says("GroupNormalization", [total, gamma, beta], {"num_groups": groups, "epsilon": 1e-5}, 1, 21)
        if activation:
            wanted = wanted / (1 + np.exp(-wanted))
        operator = operators()[f"com.microsoft::{op}"]
        attrs = operator.attributes(activation=activation, groups=groups, channels_last=channels_last)
        given = np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if channels_last else x
        found = operator.evaluate(attrs, (given, gamma, beta, *more), 1 + bool(more))
        for result, expected in zip(found, (wanted, total), strict=False):
            same(result.transpose(0, 3, 1, 2) if channels_last else result, expected, terms=200, depth=8)


def test_refusals() -> None:
    x, gamma = floats(RNG, 2, 3, 8), floats(RNG, 8)
    refuses("SkipLayerNormalization", [x, floats(RNG, 2, 4, 8), gamma], {}, "'skip' has shape")
    refuses("SkipLayerNormalization", [x, x, floats(RNG, 7)], {}, r"'gamma' has shape \[7\]; the specification requires \[8\]")
    refuses("SkipLayerNormalization", [x[None], x[None], gamma], {}, "requires rank 2 or 3")
    refuses("GroupNorm", [floats(RNG, 2, 4, 4, 6), gamma[:6], gamma[:6]], {"groups": 4, "activation": 0}, "groups is 4 for 6 channels")
    refuses("GroupNorm", [floats(RNG, 2, 4, 4, 6), gamma[:6], gamma[:6]], {"groups": 3, "activation": 2}, "activation is 2")
    ids = np.zeros((2, 5), np.int32)
    tables = [ids, None, floats(RNG, 11, 8), floats(RNG, 4, 8), None, gamma, gamma]
    refuses("EmbedLayerNormalization", tables, {}, "'position_embedding' has 4 rows for sequences of 5")

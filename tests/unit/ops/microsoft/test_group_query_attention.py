from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nautilus_cli.ops.registry import operators
from tests.unit.ops.lowered import lowered
from tests.unit.ops.microsoft.contrib import floats, refuses
from tests.unit.ops.oracle import attributes, model, onnxruntime_says, same

RNG = np.random.default_rng(5)
NAME = "com.microsoft::GroupQueryAttention"
HEADS, GROUPS, SIZE = 6, 2, 32  # onnxruntime wants multiples of 16, and 8 columns of cosines
TERMS = 64


def arguments(
    batch: int, queries: int, held: int | None, lengths: list[int], total: int, *, packed: bool = False, half: int = SIZE // 2
) -> list[np.ndarray | None]:
    """Return operands up to the caches of cosines and sines."""
    q, k, v = (floats(RNG, batch, queries, n * SIZE) for n in (HEADS, GROUPS, GROUPS))
    past = [None, None] if held is None else [floats(RNG, batch, GROUPS, held, SIZE) for _ in range(2)]
    angles = floats(RNG, 40, half)
    sides = [np.concatenate([q, k, v], -1), None, None] if packed else [q, k, v]
    return [*sides, *past, np.array(lengths, np.int32), np.array(total, np.int32), np.cos(angles), np.sin(angles)]


def agrees(arrays: list[np.ndarray | None], attrs: dict[str, Any], lengths: list[int], *, half: bool = False) -> None:
    """Hold truth and lowering against onnxruntime, as far as sequences reach: what lies behind is unspecified."""
    attrs = {"num_heads": HEADS, "kv_num_heads": GROUPS, **attrs}
    if half:
        arrays = [a.astype(np.float16) if a is not None and a.dtype == np.float32 else a for a in arrays]
    expected = onnxruntime_says(NAME, arrays, attrs, 3, 22)
    operator = operators()[NAME]
    typed = attributes(operator, model(NAME, arrays, attrs, 3, 22).graph.node[0])
    queries = arrays[0].shape[1] if arrays[0] is not None else 0
    is_first = queries == int(arrays[6]) if arrays[6] is not None else False
    for found in (operator.evaluate(typed, tuple(arrays), 3), lowered(operator, typed, arrays, 3)):
        for number, last in enumerate(lengths):
            rows = min(queries, last + 1) if is_first else queries
            same(found[0][number, :rows], expected[0][number, :rows], terms=TERMS, depth=8)
            for cache in (1, 2):
                same(found[cache][number, :, : last + 1], expected[cache][number, :, : last + 1], terms=2, depth=4)


CASES = {
    "prompt": (2, 5, None, [4, 4], 5),
    "prompt of several lengths": (2, 5, None, [2, 4], 5),
    "prompt into a buffer": (2, 5, 9, [4, 3], 5),
    "one token, growing": (2, 1, 6, [6, 6], 7),
    "one token, several lengths": (3, 1, 8, [3, 7, 5], 8),
    "one token, long buffer": (2, 1, 12, [3, 6], 7),
    "several tokens": (1, 3, 6, [8], 9),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("rotary", [None, 0, 1])
@pytest.mark.parametrize("packed", [True, False])
def test_agrees_with_onnxruntime(name: str, rotary: int | None, packed: bool) -> None:
    batch, queries, held, lengths, total = CASES[name]
    arrays = arguments(batch, queries, held, lengths, total, packed=packed)
    attrs: dict[str, Any] = {} if rotary is None else {"do_rotary": 1, "rotary_interleaved": rotary}
    agrees(arrays if rotary is not None else arrays[:7], attrs, lengths)
    agrees(arrays if rotary is not None else arrays[:7], attrs, lengths, half=True)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "attrs",
    [{"local_window_size": 2}, {"local_window_size": 4, "softcap": 1.5}, {"scale": 0.7}, {"smooth_softmax": 1}, {"local_window_size": 20}],
    ids=str,
)
def test_numbers(name: str, attrs: dict[str, Any]) -> None:
    batch, queries, held, lengths, total = CASES[name]
    agrees(arguments(batch, queries, held, lengths, total)[:7], attrs, lengths)


@pytest.mark.parametrize("name", ["prompt", "one token, several lengths", "several tokens"])
def test_more_operands(name: str) -> None:
    batch, queries, held, lengths, total = CASES[name]
    arrays = arguments(batch, queries, held, lengths, total)
    bias = floats(RNG, 1, HEADS, queries, total)
    agrees([*arrays[:7], None, None, None, bias], {}, lengths)
    agrees([*arrays[:7], None, None, None, None, floats(RNG, HEADS)], {}, lengths)
    places = np.tile(np.arange(queries) + 3, (batch, 1))
    agrees([*arrays, places], {"do_rotary": 1}, lengths)
    agrees(arguments(batch, queries, held, lengths, total, half=8), {"do_rotary": 1}, lengths)


def test_heads_are_normalised_before_they_are_rotated() -> None:
    # onnxruntime's CPU kernel refuses the weights: the same norms as nodes before.
    arrays = arguments(2, 5, None, [4, 4], 5)
    weights = [floats(RNG, SIZE) for _ in range(2)]
    normed = list(arrays)
    for place, (weight, heads) in enumerate(zip(weights, (HEADS, GROUPS), strict=True)):
        x = arrays[place]
        assert x is not None
        (y,) = onnxruntime_says(
            "SimplifiedLayerNormalization", [x.reshape(2, 5, heads, SIZE), weight], {"epsilon": 1e-3, "axis": -1}, 1, 21
        )
        normed[place] = y.reshape(x.shape)
    attrs = {"num_heads": HEADS, "kv_num_heads": GROUPS, "do_rotary": 1}
    expected = onnxruntime_says(NAME, normed, attrs, 3, 22)
    operator = operators()[NAME]
    found = operator.evaluate(operator.attributes(**attrs, qk_norm_epsilon=1e-3), (*arrays, *(None,) * 5, *weights), 3)
    for result, wanted in zip(found, expected, strict=True):
        same(result, wanted, terms=TERMS, depth=8)


def test_refusals() -> None:
    arrays = arguments(2, 1, 6, [6, 6], 7)[:7]
    attrs = {"num_heads": HEADS, "kv_num_heads": GROUPS}
    refuses("GroupQueryAttention", arrays, {"num_heads": 6, "kv_num_heads": 4}, "second to divide the first")
    refuses("GroupQueryAttention", arrays, attrs, "decides the result's shape", known=False)
    refuses("GroupQueryAttention", arrays, {**attrs, "do_rotary": 1}, "'cos_cache' or 'sin_cache' is missing")
    refuses("GroupQueryAttention", arrays, {**attrs, "sliding_window_cache": 1}, "sliding_window_cache is 1, which is not supported")
    refuses("GroupQueryAttention", [*arrays[:3], None, None, *arrays[5:]], attrs, "there is no 'past_key'")
    refuses("GroupQueryAttention", [*arrays, *(None,) * 9, arrays[5]], attrs, "'query_seqlens' is given")
    refuses("GroupQueryAttention", [arrays[0], arrays[1], None, *arrays[3:]], attrs, "both or neither")

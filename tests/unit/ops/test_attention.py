from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F16, F32, I64, TensorType
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import seeds
from tests.unit.ops.lowered import Evaluator
from tests.unit.ops.oracle import check, reference, same

OPERATOR = operators()["Attention"]
BATCH, SIZE, WIDTH = 2, 4, 3


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def qkv(rng: np.random.Generator, heads: int, groups: int, queries: int, keys: int) -> list[np.ndarray]:
    return [normal(rng, BATCH, heads, queries, SIZE), normal(rng, BATCH, groups, keys, SIZE), normal(rng, BATCH, groups, keys, WIDTH)]


@given(st.data(), seeds(), st.integers(1, 2), st.integers(1, 3), st.integers(1, 4), st.integers(1, 5))
@settings(max_examples=80)
def test_against_the_reference(data: st.DataObject, rng: np.random.Generator, groups: int, share: int, queries: int, keys: int) -> None:
    """Heads that share keys, masks of every kind and rank, caches of both kinds, windows, caps, every look at the scores."""
    heads = groups * share
    arrays: list[np.ndarray | None] = [*qkv(rng, heads, groups, queries, keys), None, None, None, None]
    cache, past = data.draw(st.sampled_from(["none", "past", "lengths"])), 0
    if cache == "past":
        past = data.draw(st.integers(0, 3))
        arrays[4], arrays[5] = normal(rng, BATCH, groups, past, SIZE), normal(rng, BATCH, groups, past, WIDTH)
    if cache == "lengths":
        arrays[6] = rng.integers(0, keys + 1, BATCH)
    kind = data.draw(st.sampled_from(["none", "bool", "float"]))
    if kind != "none":
        known = keys + past if cache != "none" else data.draw(st.integers(1, keys))
        full = (
            data.draw(st.sampled_from([1, BATCH])),
            data.draw(st.sampled_from([1, heads])),
            data.draw(st.sampled_from([1, queries])),
            known,
        )
        drawn = rng.random(full[data.draw(st.integers(0, 2)) :])
        arrays[3] = drawn < 0.7 if kind == "bool" else np.where(drawn < 0.3, -np.inf, drawn).astype(np.float32)
    attrs: dict[str, Any] = {
        "is_causal": data.draw(st.integers(0, 1)),
        "left_window_size": data.draw(st.sampled_from([-1, -1, 0, 1, 3])),
        "right_window_size": data.draw(st.sampled_from([-1, -1, 0, 2])),
        "qk_matmul_output_mode": data.draw(st.integers(0, 3)),
    }
    if data.draw(st.booleans()):
        attrs["softcap"] = 1.5
    if data.draw(st.booleans()):
        attrs["scale"] = 0.7
    while arrays[-1] is None:
        arrays.pop()
    # The reference shows capped scores also where the specification says raw ones.
    outputs = 3 if "softcap" in attrs and attrs["qk_matmul_output_mode"] == 0 else 4
    check("Attention", arrays, attrs, outputs=outputs, terms=64, depth=24)


def test_raw_scores_are_not_capped() -> None:
    arrays = qkv(np.random.default_rng(8), 2, 2, 3, 4)
    shown = [OPERATOR.evaluate(OPERATOR.attributes(softcap=0.5, qk_matmul_output_mode=mode), tuple(arrays), 4)[3] for mode in (0, 1)]
    raw = np.einsum("bhqd,bhkd->bhqk", arrays[0], arrays[1]) / 2
    same(shown[0], raw.astype(np.float32), terms=4, depth=4)
    same(shown[1], (0.5 * np.tanh(raw / 0.5)).astype(np.float32), terms=4, depth=8)


@pytest.mark.parametrize("cache", [False, True])
def test_heads_that_are_no_dimension(cache: bool) -> None:
    rng = np.random.default_rng(1)
    arrays: list[np.ndarray | None] = [normal(rng, BATCH, 3, 4 * SIZE), normal(rng, BATCH, 5, 2 * SIZE), normal(rng, BATCH, 5, 2 * WIDTH)]
    if cache:
        arrays += [None, normal(rng, BATCH, 2, 6, SIZE), normal(rng, BATCH, 2, 6, WIDTH)]
    check("Attention", arrays, {"q_num_heads": 4, "kv_num_heads": 2, "is_causal": 1}, outputs=4, terms=64, depth=24)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("scale", [1, 60])
def test_sixteen_bits(dtype: Any, scale: float) -> None:
    """Rounded where a kernel stores, and nowhere else: as near to exact arithmetic as the storage of the weights allows."""
    rng = np.random.default_rng(2)
    arrays = [(a * scale ** (i < 2)).astype(dtype) for i, a in enumerate(qkv(rng, 4, 2, 6, 40))]
    (truth,) = OPERATOR.evaluate(OPERATOR.attributes(is_causal=1), tuple(arrays), 1)
    (exact, *_) = reference("Attention", [a.astype(np.float64) for a in arrays], {"is_causal": 1}, 4, 25)
    step = float(ml_dtypes.finfo(dtype).eps)
    assert truth.dtype == dtype
    weight = 6 * step * max(1.0, float(np.abs(exact).max()))
    scores = 0.0 if scale == 1 else step * scale * scale * 4 * float(np.abs(arrays[2]).max())  # a score of hundreds is rounded by itself
    assert np.abs(truth.astype(np.float64) - exact).max() <= weight + scores


def test_a_query_that_sees_nothing_is_zero_whatever_its_scores_are() -> None:
    rng = np.random.default_rng(3)
    q, k, v = qkv(rng, 1, 1, 3, 4)
    q[:, :, 1] = np.inf
    mask = np.zeros((3, 4), np.float32)
    mask[1] = -np.inf
    y, _, _, weights = OPERATOR.evaluate(OPERATOR.attributes(qk_matmul_output_mode=3), (q, k, v, mask), 4)
    assert not y[:, :, 1].any()
    assert not weights[:, :, 1].any()
    assert np.isfinite(y).all()


def test_a_masked_key_may_hold_anything() -> None:
    """What lies behind the valid part of a cache was never written."""
    rng = np.random.default_rng(4)
    q, k, v = qkv(rng, 1, 1, 1, 4)
    k[:, :, 2:] = np.nan
    (y,) = OPERATOR.evaluate(OPERATOR.attributes(), (q, k, np.nan_to_num(v), None, None, None, np.array([2, 2])), 1)
    (short,) = OPERATOR.evaluate(OPERATOR.attributes(), (q, k[:, :, :2], v[:, :, :2]), 1)
    same(y, short, terms=8, depth=8)


def test_softmax_in_another_precision() -> None:
    rng = np.random.default_rng(5)
    arrays = qkv(rng, 2, 2, 3, 5)
    check("Attention", arrays, {"softmax_precision": 11, "qk_matmul_output_mode": 3}, outputs=4, terms=64, depth=24)
    (half,) = OPERATOR.evaluate(OPERATOR.attributes(softmax_precision=10), tuple(arrays), 1)
    (exact,) = OPERATOR.evaluate(OPERATOR.attributes(), tuple(arrays), 1)
    assert 0 < np.abs(half - exact).max() < 1e-2


def test_heads_that_share_keys_are_rows_of_one_product() -> None:
    evaluator = Evaluator()
    arrays = [evaluator.constant(a) for a in qkv(np.random.default_rng(6), 6, 2, 1, 7)]
    evaluator.apply(OPERATOR, OPERATOR.attributes(), tuple(arrays), 1)
    assert evaluator.reached.count("MatMul") == 2
    assert not {"Tile", "Expand", "Gather"} & set(evaluator.reached)


@pytest.mark.parametrize("window", [-1, 100])
def test_a_long_causal_mask_is_not_a_constant(window: int) -> None:
    """Of 16384 queries and keys it would take 256 MiB; the kernel that needs it compares two numbers instead."""
    b = GraphBuilder()
    q = b.input("q", TensorType(F32, (1, 1, 16384, 8)))
    OPERATOR.lowering.build(b, OPERATOR.attributes(is_causal=1, left_window_size=window), (q, q, q))  # type: ignore[union-attr]
    constants = [v.constant for n in b.nodes for v in n.operands() if v.constant is not None]
    assert max(c.nbytes for c in constants) <= 8 * 16384
    assert "LessOrEqual" in [n.op for n in b.nodes]


def test_no_keys_at_all() -> None:
    q, k, v = qkv(np.random.default_rng(7), 2, 1, 3, 0)
    y, keys, _, scores = OPERATOR.evaluate(OPERATOR.attributes(), (q, k, v), 4)
    assert (y.shape, keys.shape, scores.shape) == ((BATCH, 2, 3, WIDTH), (BATCH, 1, 0, SIZE), (BATCH, 2, 3, 0))
    assert not y.any()


Q, K, V = (TensorType(F32, (2, 4, 3, 8)), TensorType(F32, (2, 2, 5, 8)), TensorType(F32, (2, 2, 5, 6)))


@pytest.mark.parametrize(
    ("attrs", "changes", "message"),
    [
        ({"is_causal": 2}, {}, "is_causal is 2; the specification allows 0 and 1"),
        ({"qk_matmul_output_mode": 4}, {}, "qk_matmul_output_mode is 4"),
        ({"left_window_size": -2}, {}, "left_window_size is -2"),
        ({"softmax_precision": 7}, {}, "softmax_precision is 7"),
        ({"q_num_heads": 3}, {}, "q_num_heads is 3 and kv_num_heads None, but operands of rank 4 have 4 and 2 heads"),
        ({}, {0: TensorType(F32, (2, 3, 8))}, "requires rank 3 or 4 for all"),
        ({}, {0: TensorType(F32, (2, 3, 3, 8))}, "do not fit; the specification requires one batch"),
        ({}, {1: TensorType(F32, (2, 2, 5, 7))}, "do not fit"),
        ({}, {2: TensorType(F32, (2, 2, 4, 6))}, "do not fit"),
        ({}, {1: TensorType(F16, (2, 2, 5, 8))}, "operand 'K' has type f16"),
        (
            {},
            {3: TensorType(F32, (3, 6))},
            r"'attn_mask' has shape \[3, 6\]; the specification requires one that broadcasts to \[2, 4, 3, 5\]",
        ),
        ({}, {3: TensorType(F32, (2, 5))}, "'attn_mask' has shape"),
        ({}, {4: TensorType(F32, (2, 2, 7, 8))}, "one of the operands 'past_key' and 'past_value' is missing"),
        ({}, {4: TensorType(F32, (2, 2, 7, 8)), 5: TensorType(F32, (2, 2, 6, 6))}, r"'past_value' has shape .* requires \[2, 2, 7, 6\]"),
        ({}, {6: TensorType(I64, (3,))}, r"'nonpad_kv_seqlen' has shape \[3\]; the specification requires \[2\]"),
        (
            {},
            {4: TensorType(F32, (2, 2, 7, 8)), 5: TensorType(F32, (2, 2, 7, 6)), 6: TensorType(I64, (2,))},
            "'nonpad_kv_seqlen' is given beside 'past_key'",
        ),
    ],
)
def test_refusals(attrs: dict[str, Any], changes: dict[int, TensorType], message: str) -> None:
    types = [Q, K, V, None, None, None, None]
    for index, type_ in changes.items():
        types[index] = type_
    with pytest.raises(ModelError, match=message):
        OPERATOR.infer(Inference(OPERATOR.attributes(**attrs), tuple(types), (None,) * 7, 1))


def test_rank_three_needs_the_numbers_of_heads() -> None:
    types = (TensorType(F32, (2, 3, 8)),) * 3
    with pytest.raises(ModelError, match="requires q_num_heads and kv_num_heads then"):
        OPERATOR.infer(Inference(OPERATOR.attributes(q_num_heads=2), types, (None,) * 3, 1))
    with pytest.raises(ModelError, match="requires a multiple of 3 heads"):
        OPERATOR.infer(Inference(OPERATOR.attributes(q_num_heads=3, kv_num_heads=3), types, (None,) * 3, 1))

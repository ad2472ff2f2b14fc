from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from nautilus_cli.ops.registry import operators
from tests.unit.ops.microsoft.contrib import agrees, agrees_in_half, floats, refuses
from tests.unit.ops.oracle import model, onnxruntime_says, same

RNG = np.random.default_rng(4)
TERMS = 64
BATCH, LENGTH, HEADS, SIZE = 2, 5, 3, 4
HIDDEN = HEADS * SIZE


def integers(*values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def projected(inner: int = 7, *, values: int = HIDDEN) -> list[np.ndarray]:
    """Return input, weights and bias of Attention."""
    width = 2 * HIDDEN + values
    return [floats(RNG, BATCH, LENGTH, inner), floats(RNG, inner, width), floats(RNG, width)]


MASKS = {
    "lengths": integers(3, 5),
    "ends and starts": integers(4, 5, 1, 0),
    "by key": integers([1, 1, 0, 1, 0], [1, 1, 1, 1, 1]),
    "by query and key": (RNG.random((BATCH, LENGTH, LENGTH)) < 0.6).astype(np.int32),
    "nothing seen": integers([0, 0, 0, 0, 0], [1, 0, 0, 0, 0]),
    "none in disguise": integers([1], [1]),
}


@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("mask", [None, *MASKS])
def test_attention(mask: str | None, unidirectional: int) -> None:
    arrays = [*projected(), None if mask is None else MASKS[mask]]
    agrees("Attention", arrays, {"num_heads": HEADS, "unidirectional": unidirectional}, terms=TERMS)
    if mask == "by key":
        agrees_in_half("Attention", arrays, {"num_heads": HEADS, "unidirectional": unidirectional}, terms=TERMS)


def test_attention_with_other_numbers() -> None:
    agrees("Attention", projected(values=6), {"num_heads": HEADS, "qkv_hidden_sizes": [HIDDEN, HIDDEN, 6]}, terms=TERMS)
    agrees("Attention", projected(), {"num_heads": HEADS, "scale": 0.3}, terms=TERMS)
    agrees("Attention", [*projected(), MASKS["lengths"]], {"num_heads": HEADS, "mask_filter_value": -1.5}, terms=TERMS)
    agrees("Attention", projected()[:2], {"num_heads": HEADS}, terms=TERMS)
    for shape in ((1, 1), (BATCH, HEADS), (1, HEADS), (BATCH, 1)):
        extra = floats(RNG, *shape, LENGTH, LENGTH)
        agrees("Attention", [*projected(), MASKS["by key"], None, extra], {"num_heads": HEADS}, terms=TERMS)


@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("before", [0, 3])
def test_attention_with_a_past(before: int, unidirectional: int) -> None:
    past = floats(RNG, 2, BATCH, HEADS, before, SIZE)
    mask = (RNG.random((BATCH, before + LENGTH)) < 0.7).astype(np.int32)
    for given in (None, mask):
        arrays = [*projected(), given, past]
        agrees("Attention", arrays, {"num_heads": HEADS, "unidirectional": unidirectional}, outputs=2, terms=TERMS)


def test_attention_mask_of_megatron_is_read_from_the_past_on() -> None:
    # onnxruntime's CPU kernel has no such mask: the same rows and columns as a mask by query and key.
    arrays, past = projected(), floats(RNG, 2, BATCH, HEADS, 3, SIZE)
    mask = (RNG.random((BATCH, 1, 10, 10)) < 0.6).astype(np.int32)
    operator = operators()["com.microsoft::Attention"]
    attrs = operator.attributes(num_heads=HEADS)
    (found,) = operator.evaluate(attrs, (*arrays, mask, past), 1)
    (wanted,) = operator.evaluate(attrs, (*arrays, np.ascontiguousarray(mask[:, 0, 3:8, :8]), past), 1)
    assert np.array_equal(found, wanted)


def test_attention_refusals() -> None:
    x, weights, bias = projected()
    refuses("Attention", [x, weights, bias], {"num_heads": 5}, "num_heads is 5 for hidden sizes")
    refuses("Attention", [x, weights[:, 1:], bias], {"num_heads": 3}, "three sizes that add up")
    refuses("Attention", [x, weights, bias], {"num_heads": 3, "do_rotary": 1}, "do_rotary is 1, which is not supported")
    refuses("Attention", [x, weights, bias, integers(1, 2, 3)], {"num_heads": 3}, "'mask_index' has shape")
    refuses("Attention", [x, weights, bias, bias], {"num_heads": 3}, "'mask_index' has type f32; the specification allows i32")
    refuses("Attention", [x, weights, bias, None, floats(RNG, 2, 2, 3, 4, 5)], {"num_heads": 3}, "'past' has shape")


def separate(keys: int = LENGTH, values: int = HIDDEN) -> list[np.ndarray]:
    """Return queries, keys and values of MultiHeadAttention."""
    return [floats(RNG, BATCH, LENGTH, HIDDEN), floats(RNG, BATCH, keys, HIDDEN), floats(RNG, BATCH, keys, values)]


@pytest.mark.parametrize("keys", [LENGTH, 7, 1])
@pytest.mark.parametrize("values", [HIDDEN, 6])
@pytest.mark.parametrize("biased", [True, False])
def test_multi_head_attention(keys: int, values: int, biased: bool) -> None:
    bias = floats(RNG, 2 * HIDDEN + values) if biased else None
    agrees("MultiHeadAttention", [*separate(keys, values), bias], {"num_heads": HEADS}, terms=TERMS)


@pytest.mark.parametrize(
    "mask",
    [
        integers(3, 7),
        integers([1, 1, 0, 1, 0, 1, 1], [0, 1, 1, 1, 1, 1, 1]),
        (np.random.default_rng(8).random((BATCH, LENGTH, 7)) < 0.6).astype(np.int32),
        integers(3, 7, 0, 5, 10, 0, 7, 14),
    ],
    ids=["lengths", "by key", "by query and key", "lengths and offsets"],
)
def test_masks_of_keys(mask: np.ndarray) -> None:
    agrees("MultiHeadAttention", [*separate(7), None, mask], {"num_heads": HEADS}, terms=TERMS)
    extra = floats(RNG, 1, HEADS, LENGTH, 7)
    agrees("MultiHeadAttention", [*separate(7), None, mask, extra], {"num_heads": HEADS, "mask_filter_value": -2.0}, terms=TERMS)


@pytest.mark.parametrize("before", [0, 4])
@pytest.mark.parametrize("unidirectional", [0, 1])
def test_multi_head_attention_with_a_past(before: int, unidirectional: int) -> None:
    past = [floats(RNG, BATCH, HEADS, before, SIZE) for _ in range(2)]
    arrays = [*separate(), floats(RNG, 3 * HIDDEN), None, None, *past]
    agrees("MultiHeadAttention", arrays, {"num_heads": HEADS, "unidirectional": unidirectional, "scale": 0.4}, outputs=3, terms=TERMS)
    agrees_in_half("MultiHeadAttention", arrays, {"num_heads": HEADS, "unidirectional": unidirectional}, outputs=3, terms=TERMS)


@pytest.mark.parametrize("keys", [1, 3, 7])
def test_queries_are_counted_from_the_first_key_where_there_is_no_past(keys: int) -> None:
    """Of more keys than queries onnxruntime's last query sees all."""
    arrays, attrs = separate(keys), {"num_heads": HEADS, "unidirectional": 1}
    operator = operators()["com.microsoft::MultiHeadAttention"]
    (found,) = operator.evaluate(operator.attributes(**attrs), tuple(arrays), 1)
    (wanted,) = onnxruntime_says("com.microsoft::MultiHeadAttention", arrays, attrs, 1, 22)
    alike = LENGTH if keys <= LENGTH else LENGTH - 1
    same(found[:, :alike], wanted[:, :alike], terms=TERMS, depth=8)


def test_keys_and_values_of_a_cache_have_no_bias() -> None:
    k, v = (floats(RNG, BATCH, HEADS, 6, SIZE) for _ in range(2))
    agrees("MultiHeadAttention", [separate()[0], k, v, floats(RNG, 3 * HIDDEN)], {"num_heads": HEADS}, terms=TERMS)


def test_scores_are_a_result() -> None:
    # onnxruntime does not infer their type: one declares it.
    arrays = [*separate(), None, integers(3, 5)]
    single = model("com.microsoft::MultiHeadAttention", arrays, {"num_heads": HEADS}, 4, 22)
    single.graph.output[3].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    session = onnxruntime.InferenceSession(single.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, {f"in{i}": a for i, a in enumerate(arrays) if a is not None})
    operator = operators()["com.microsoft::MultiHeadAttention"]
    for found, wanted in zip(operator.evaluate(operator.attributes(num_heads=HEADS), tuple(arrays), 4), expected, strict=True):
        same(found, wanted, terms=TERMS, depth=8)


@pytest.mark.parametrize("biased", [True, False])
def test_packed_layouts(biased: bool) -> None:
    # onnxruntime's CPU kernel has none of them: the same numbers unpacked.
    q, k, v = separate()
    bias = floats(RNG, 3 * HIDDEN) if biased else None
    (wanted,) = onnxruntime_says("com.microsoft::MultiHeadAttention", [q, k, v, bias], {"num_heads": HEADS}, 1, 22)
    by_head = [x.reshape(BATCH, LENGTH, HEADS, SIZE) for x in (q, k, v)]
    operator = operators()["com.microsoft::MultiHeadAttention"]
    attrs = operator.attributes(num_heads=HEADS)
    for arrays in ((np.stack(by_head, 3), None, None, bias), (q, np.stack(by_head[1:], 3), None, bias)):
        (found,) = operator.evaluate(attrs, arrays, 1)
        same(found, wanted, terms=TERMS, depth=8)


def test_multi_head_attention_refusals() -> None:
    q, k, v = separate()
    refuses("MultiHeadAttention", [q, k, v], {"num_heads": 5}, "num_heads is 5 for a hidden size of 12")
    refuses("MultiHeadAttention", [q, k], {"num_heads": 3}, "'value' is missing")
    refuses("MultiHeadAttention", [q, k[:1], v], {"num_heads": 3}, "'key' has shape")
    refuses("MultiHeadAttention", [q, k, v, None, integers(1, 2, 3)], {"num_heads": 3}, "'key_padding_mask' has shape")
    refuses("MultiHeadAttention", [q, k, v, None, None, q], {"num_heads": 3}, "'attention_bias' has shape")
    refuses("MultiHeadAttention", [q, k, v, *(None,) * 5, integers(3)], {"num_heads": 3}, "'past_sequence_length' is given")


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("one_place", [True, False])
@pytest.mark.parametrize("rank", [3, 4])
def test_rotary_embedding(interleaved: int, one_place: bool, rank: int) -> None:
    shape = (BATCH, LENGTH, 3 * 8) if rank == 3 else (BATCH, 3, LENGTH, 8)
    places = np.array([2]) if one_place else RNG.integers(0, 11, (BATCH, LENGTH))
    for half, more in ((4, {}), (2, {"rotary_embedding_dim": 4, "num_heads": 3})):
        angles = floats(RNG, 11, half)
        arrays = [floats(RNG, *shape), places, np.cos(angles), np.sin(angles)]
        agrees("RotaryEmbedding", arrays, {"interleaved": interleaved, **more}, terms=2)


def test_rotary_embedding_does_not_scale() -> None:
    angles = floats(RNG, 11, 4)
    arrays = [floats(RNG, BATCH, LENGTH, 24), np.array([0]), np.cos(angles), np.sin(angles)]
    agrees("RotaryEmbedding", arrays, {"scale": 3.0}, terms=2)
    refuses("RotaryEmbedding", arrays, {"is_packed_batching": 1}, "is_packed_batching is 1")
    refuses("RotaryEmbedding", arrays, {"rotary_embedding_dim": 6, "num_heads": 3}, "rotary_embedding_dim is 6 for heads of 8")
    refuses("RotaryEmbedding", [arrays[0], np.zeros((2, 4), np.int64), *arrays[2:]], {}, "'position_ids' has shape")

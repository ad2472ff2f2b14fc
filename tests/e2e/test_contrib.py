"""What onnxruntime's transformer optimiser leaves of networks, held against onnxruntime and against the operators' truths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.frontend.load import load
from nautilus_cli.numerics import compare, derived
from nautilus_cli.ops.evaluate import evaluate
from tests.e2e.every_order import ORDERS, Sketch

BATCH, LENGTH, HEADS, SIZE = 2, 6, 4, 16
HIDDEN = HEADS * SIZE


def weights(s: Sketch, *shape: int) -> str:
    return s.constant((np.random.default_rng(len(s.constants)).standard_normal(shape) / shape[0] ** 0.5).astype(np.float32))


def contrib(s: Sketch, op: str, *operands: str, outputs: int = 1, **attributes: Any) -> str:
    return s.node(op, *operands, outputs=outputs, domain="com.microsoft", **attributes)


def bert(s: Sketch) -> None:
    """Embeddings, two layers of attention with a mask of lengths and of keys, feed-forward parts."""
    ids, segments = s.integers(0, 50, BATCH, LENGTH, dtype=np.int32), s.integers(0, 2, BATCH, LENGTH, dtype=np.int32)
    mask = s.input(np.array([[1, 1, 1, 1, 0, 0], [1] * 6], np.int32))
    tables = [weights(s, rows, HIDDEN) for rows in (50, 8, 2)]
    vectors = [weights(s, HIDDEN) for _ in range(2)]
    x = contrib(s, "EmbedLayerNormalization", ids, segments, *tables, *vectors, mask, outputs=2)
    for masked in (s.nodes[-1].output[1], mask):
        found = contrib(s, "Attention", x, weights(s, HIDDEN, 3 * HIDDEN), weights(s, 3 * HIDDEN), masked, num_heads=HEADS)
        found = s.node("MatMul", found, weights(s, HIDDEN, HIDDEN))
        y = contrib(s, "SkipLayerNormalization", found, x, *(weights(s, HIDDEN) for _ in range(3)))
        inner = contrib(s, "BiasGelu", s.node("MatMul", y, weights(s, HIDDEN, 3 * HIDDEN)), weights(s, 3 * HIDDEN))
        outer = contrib(s, "FusedMatMul", inner, weights(s, 3 * HIDDEN, HIDDEN), alpha=0.5)
        x = contrib(s, "SkipLayerNormalization", outer, y, *(weights(s, HIDDEN) for _ in range(2)))


def decoder(s: Sketch) -> None:
    """One step of a decoder with rotary positions: caches that grow and caches of fixed length, and a prompt."""
    x = s.floats(BATCH, 1, HIDDEN)
    angles = np.random.default_rng(1).standard_normal((16, SIZE // 2)).astype(np.float32)
    cos, sin = s.constant(np.cos(angles)), s.constant(np.sin(angles))
    group = (HEADS + 2 * 2) * SIZE
    for held, lengths in ((7, [7, 7]), (12, [3, 7])):  # onnxruntime only reads a past whose present is asked for
        normed = s.node("SimplifiedLayerNormalization", x, weights(s, HIDDEN), axis=-1, epsilon=1e-5)
        qkv = s.node("MatMul", normed, weights(s, HIDDEN, group))
        past = [s.floats(BATCH, 2, held, SIZE) for _ in range(2)]
        for name in past:  # what lies behind the end of a sequence stays, where onnxruntime writes zeros
            for number, length in enumerate(lengths):
                s.feeds[name][number, :, length:] = 0
        said, total = s.input(np.array(lengths, np.int32)), s.constant(np.int32(8))
        found = contrib(
            s, "GroupQueryAttention", qkv, "", "", *past, said, total, cos, sin, outputs=3, num_heads=HEADS, kv_num_heads=2, do_rotary=1
        )
        found = s.node("MatMul", found, weights(s, HIDDEN, HIDDEN))
        y = contrib(s, "SkipSimplifiedLayerNormalization", found, x, weights(s, HIDDEN), outputs=4, epsilon=1e-5)
        residual = s.nodes[-1].output[3]
        s.nodes[-1].output[1] = s.nodes[-1].output[2] = ""
        gate = contrib(s, "QuickGelu", s.node("MatMul", y, weights(s, HIDDEN, 2 * HIDDEN)), alpha=1.0)
        x = s.node("Add", residual, s.node("MatMul", s.node("Mul", gate, gate), weights(s, 2 * HIDDEN, HIDDEN)))
    q, k, v = (s.floats(BATCH, LENGTH, HIDDEN) for _ in range(3))
    turned = [contrib(s, "RotaryEmbedding", side, s.constant([0]), cos, sin) for side in (q, k)]
    contrib(s, "MultiHeadAttention", *turned, v, "", s.input(np.array([4, 6], np.int32)), num_heads=HEADS)
    prompt = s.constant(np.int32(LENGTH))
    more = [s.floats(BATCH, LENGTH, 2 * SIZE) for _ in range(2)]
    lengths = s.input(np.full(BATCH, LENGTH - 1, np.int32))
    contrib(s, "GroupQueryAttention", q, *more, "", "", lengths, prompt, outputs=1, num_heads=HEADS, kv_num_heads=2, local_window_size=3)


def images(s: Sketch) -> None:
    x = contrib(s, "FusedConv", s.floats(1, 3, 9, 8), weights(s, 8, 3, 3, 3), weights(s, 8), activation="Relu", pads=[1] * 4)
    contrib(s, "FusedConv", x, weights(s, 8, 8, 1, 1), weights(s, 8), x, activation="LeakyRelu", activation_params=[0.1])
    contrib(s, "FusedGemm", s.floats(3, 5), weights(s, 7, 5), weights(s, 7), transB=1, activation="Tanh")


@pytest.fixture(scope="module")
def sketch() -> Sketch:
    sketch = Sketch()
    for part in (bert, decoder, images):
        part(sketch)
    return sketch


def contrib_model(sketch: Sketch) -> onnx.ModelProto:
    """Return the model, without the types that onnx's inference would add: it knows none of these operators."""
    found = sketch.untyped(20)
    found.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return found


def test_agrees_with_onnxruntime_and_the_truth_in_every_order(sketch: Sketch, tmp_path: Path) -> None:
    path, output = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    onnx.save(contrib_model(sketch), path)
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", verify=False))
    truths = evaluate(load(path).graph, sketch.feeds)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    said = dict(zip(names, session.run(names, sketch.feeds), strict=True))
    with nautilus_cli.load(output) as library:
        for options in ORDERS:
            library.configure_emulator(options)
            found = library(sketch.feeds)
            for name, truth in truths.items():
                for expected in (truth, said[name]):
                    # Two layers of products of up to 192 terms, normalised in between.
                    scale = float(np.abs(expected).max()) if expected.dtype.kind == "f" else None
                    result = compare(np.asarray(found[name]), expected, derived(expected, terms=192, depth=24, scale=scale))
                    assert result.is_match, f"{name} with {options}: {result}"


def halves(s: Sketch) -> None:
    """The same kinds of layers in float16, which onnxruntime's CPU kernels have for few of them."""
    half = {"dtype": np.float16}

    def narrow(*shape: int) -> str:
        return s.constant((np.random.default_rng(len(s.constants)).standard_normal(shape) / shape[0] ** 0.5).astype(np.float16))

    x = s.floats(BATCH, LENGTH, HIDDEN, **half)
    found = contrib(s, "Attention", x, narrow(HIDDEN, 3 * HIDDEN), narrow(3 * HIDDEN), s.input(np.array([4, 6], np.int32)), num_heads=HEADS)
    y = contrib(s, "SkipLayerNormalization", found, x, *(narrow(HIDDEN) for _ in range(3)), epsilon=1e-5)
    inner = contrib(s, "BiasGelu", s.node("MatMul", y, narrow(HIDDEN, 2 * HIDDEN)), narrow(2 * HIDDEN))
    contrib(s, "FusedMatMul", inner, narrow(2 * HIDDEN, HIDDEN), alpha=0.3)
    angles = np.random.default_rng(1).standard_normal((16, SIZE // 2))
    cos, sin = s.constant(np.cos(angles).astype(np.float16)), s.constant(np.sin(angles).astype(np.float16))
    past = [s.floats(BATCH, 2, 12, SIZE, **half) for _ in range(2)]
    qkv = s.floats(BATCH, 1, (HEADS + 4) * SIZE, **half)
    lengths, total = s.input(np.array([3, 7], np.int32)), s.constant(np.int32(8))
    contrib(s, "GroupQueryAttention", qkv, "", "", *past, lengths, total, cos, sin, outputs=3, num_heads=HEADS, kv_num_heads=2, do_rotary=1)
    contrib(s, "Inverse", s.node("Add", s.floats(3, 5, 5, **half), s.constant(4 * np.eye(5, dtype=np.float16))))


def test_half_precision_agrees_with_the_truth(tmp_path: Path) -> None:
    sketch, path, output = Sketch(), tmp_path / "model.onnx", tmp_path / "libmodel.so"
    halves(sketch)
    onnx.save(contrib_model(sketch), path)
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", verify=False))
    truths = evaluate(load(path).graph, sketch.feeds)
    with nautilus_cli.load(output) as library:
        found = library(sketch.feeds)
        for name, truth in truths.items():
            result = compare(np.asarray(found[name]), truth, derived(truth, terms=128, depth=12, scale=float(np.abs(truth).max())))
            assert result.is_match, f"{name}: {result}"

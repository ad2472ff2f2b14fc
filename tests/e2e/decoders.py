"""Small decoders of text with a cache: token ids, and the keys and values of earlier ones, to logits and the longer keys and values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, helper

from nautilus_cli.ir.ranges import DimRange
from tests.e2e.networks import model
from tests.e2e.sketch import Sketch
from tests.support import closeness

LAYERS, HEADS, HEAD, VOCABULARY, PLACES = 2, 3, 8, 61, 48
WIDTH = HEADS * HEAD

DIMS = {"batch": DimRange(1, 2), "sequence": DimRange(1, 6), "past": DimRange(0, 20)}

CACHES = [f"{layer}.{kind}" for layer in range(LAYERS) for kind in ("key", "value")]

PACKED = ("layers", "model")
"""What may be packed in one tensor: keys and values of each layer, as [2, batch, heads, rows, head], or those of all layers."""


def decoder(*, has_mask: bool = False, names: tuple[str, str] = ("past", "present"), packed: str = "") -> ModelProto:
    """Two layers of causal attention; with a mask, it and the positions are inputs as exporters of transformers have them.

    Args:
        has_mask: whether `attention_mask`, of dimension `total`, and `position_ids` are inputs.
        names: what names of inputs and outputs of the cache begin with.
        packed: how caches are packed in one tensor, of PACKED; empty where each is one of its own.
    """
    s = Sketch()
    past, present = names
    one = s.constant(np.array(1, np.int64))
    growing = {"": (f"{past}.0.key", 2), "layers": (f"{past}.0", 3), "model": (past, 4)}[packed]
    length, before = (s.node("Squeeze", s.dim(tensor, axis)) for tensor, axis in (("input_ids", 1), growing))
    total = s.node("Add", length, before)
    places = "position_ids" if has_mask else s.node("Unsqueeze", s.node("Range", before, total, one), s.constant(np.array([0])))
    x = s.node("Add", s.node("Gather", s.weight(VOCABULARY, WIDTH), "input_ids"), s.node("Gather", s.weight(PLACES, WIDTH), places))
    columns = s.node("Unsqueeze", s.node("Range", s.constant(np.array(0)), total, one), s.constant(np.array([0, 1])))
    is_seen = s.node("LessOrEqual", columns, s.node("Unsqueeze", places, s.constant(np.array([2]))))
    if has_mask:
        is_real = s.node("Cast", s.node("Unsqueeze", "attention_mask", s.constant(np.array([1]))), to=TensorProto.BOOL)
        is_seen = s.node("And", is_seen, is_real)
    bias = s.node("Where", s.node("Unsqueeze", is_seen, s.constant(np.array([1]))), s.constant(np.float32(0)), s.constant(np.float32(-1e4)))
    batch = s.dim("input_ids", 0)
    if packed:
        _unpack(s, past, packed)
    for layer in range(LAYERS):
        y = s.node("LayerNormalization", x, s.weight(WIDTH), s.weight(WIDTH), axis=-1)

        def heads(y: str = y) -> str:
            flat = s.node("Add", s.node("MatMul", y, s.weight(WIDTH, WIDTH)), s.weight(WIDTH))
            return s.node("Transpose", s.node("Reshape", flat, s.shape(batch, -1, HEADS, HEAD)), perm=[0, 2, 1, 3])

        query, key, value = heads(), heads(), heads()
        for kind, rows in (("key", key), ("value", value)):
            s.nodes.append(helper.make_node("Concat", [f"{past}.{layer}.{kind}", rows], [f"{present}.{layer}.{kind}"], axis=2))
        scores = s.node("MatMul", query, s.node("Transpose", f"{present}.{layer}.key", perm=[0, 1, 3, 2]))
        shares = s.node("Softmax", s.node("Add", s.node("Mul", scores, s.constant(np.float32(HEAD**-0.5))), bias), axis=-1)
        joined = s.node("Transpose", s.node("MatMul", shares, f"{present}.{layer}.value"), perm=[0, 2, 1, 3])
        x = s.node("Add", x, s.node("MatMul", s.node("Reshape", joined, s.shape(batch, -1, WIDTH)), s.weight(WIDTH, WIDTH)))
    s.nodes.append(
        helper.make_node("MatMul", [x, s.constant(2 * s.random.standard_normal((WIDTH, VOCABULARY)).astype(np.float32))], ["logits"])
    )
    if packed:
        _pack(s, present, packed)
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"])]
    if has_mask:
        inputs.append(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "total"]))
        inputs.append(helper.make_tensor_value_info("position_ids", TensorProto.INT64, ["batch", "sequence"]))
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "sequence", VOCABULARY])]
    outer = {"": [], "layers": [2], "model": [LAYERS, 2]}[packed]
    for name in {"": CACHES, "layers": list(map(str, range(LAYERS))), "model": [""]}[packed]:
        tail = f".{name}" if name else ""
        inputs.append(helper.make_tensor_value_info(f"{past}{tail}", TensorProto.FLOAT, [*outer, "batch", HEADS, "past", HEAD]))
        outputs.append(helper.make_tensor_value_info(f"{present}{tail}", TensorProto.FLOAT, [*outer, "batch", HEADS, "grown", HEAD]))
    return model(s.nodes, inputs, outputs, s.weights)


def _unpack(s: Sketch, past: str, packed: str) -> None:
    """Take keys and values of each layer out of packed tensors, as exporters do: by Split and Squeeze, or by Gather."""
    for layer in range(LAYERS):
        if packed == "layers":
            parts = [f"{past}.{layer}.{kind} of the packed" for kind in ("key", "value")]
            s.nodes.append(helper.make_node("Split", [f"{past}.{layer}"], parts, axis=0, num_outputs=2))
            for part in parts:
                s.nodes.append(helper.make_node("Squeeze", [part, s.constant(np.array([0]))], [part.removesuffix(" of the packed")]))
            continue
        own = s.node("Gather", past, s.constant(np.array(layer)), axis=0)
        for number, kind in enumerate(("key", "value")):
            s.nodes.append(helper.make_node("Gather", [own, s.constant(np.array(number))], [f"{past}.{layer}.{kind}"], axis=0))


def _pack(s: Sketch, present: str, packed: str) -> None:
    """Stack what the layers leave."""
    layers = []
    for layer in range(LAYERS):
        parts = [s.node("Unsqueeze", f"{present}.{layer}.{kind}", s.constant(np.array([0]))) for kind in ("key", "value")]
        if packed == "layers":
            s.nodes.append(helper.make_node("Concat", parts, [f"{present}.{layer}"], axis=0))
        else:
            layers.append(s.node("Unsqueeze", s.node("Concat", *parts, axis=0), s.constant(np.array([0]))))
    if layers:
        s.nodes.append(helper.make_node("Concat", layers, [present], axis=0))


def empty(batch: int) -> dict[str, np.ndarray]:
    """Return the past of the first step."""
    return {f"past.{name}": np.zeros((batch, HEADS, 0, HEAD), np.float32) for name in CACHES}


def next_ids(logits: np.ndarray) -> np.ndarray:
    """Return the most probable next token of every sample, [batch, 1]."""
    found: np.ndarray = logits[:, -1:].argmax(-1)
    return found


def assert_close(found: np.ndarray, truth: np.ndarray, where: str) -> None:
    """Assert that logits or caches are those of onnxruntime."""
    closeness.assert_close(found, truth, where, terms=100, depth=20, scale=float(np.abs(truth).max(initial=0)))


def reference_steps(path: Path, ids: np.ndarray, steps: int) -> Iterator[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]]:
    """Yield what goes into each step of onnxruntime's greedy generation, and what comes out, caches included."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    past = empty(len(ids))
    for _ in range(steps):
        inputs = {"input_ids": ids, **past}
        outputs = dict(zip(names, session.run(None, inputs), strict=True))
        yield inputs, outputs
        past = {f"past.{name}": outputs[f"present.{name}"] for name in CACHES}
        ids = next_ids(outputs["logits"])


def reference_tokens(path: Path, prompt: Sequence[int], count: int) -> list[int]:
    """Return what onnxruntime generates greedily after a prompt."""
    steps = reference_steps(path, np.array([prompt], np.int64), count)
    return [int(next_ids(outputs["logits"])[0, 0]) for _, outputs in steps]

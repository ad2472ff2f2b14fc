"""Networks of a few nodes, made in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

OPSET = 20

BATCH, WIDTH, HIDDEN, CLASSES = 2, 8, 16, 4
"""Of the perceptron."""

Rename = Callable[[str], str]
"""From a plain name of a node or tensor to the one that it shall have."""


def perceptron(*, batch: int | str = BATCH, rename: Rename = lambda name: name, seed: int = 0) -> ModelProto:
    """Two layers and a softmax: x [batch, 8] to probabilities y [batch, 4] and the layer between, hidden [batch, 16]."""
    random = np.random.default_rng(seed)
    weights = {
        "w1": random.standard_normal((WIDTH, HIDDEN)),
        "b1": random.standard_normal(HIDDEN),
        "w2": random.standard_normal((HIDDEN, CLASSES)) / 4,
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["product"], "first"),
        helper.make_node("Add", ["product", "b1"], ["sum"], "bias"),
        helper.make_node("Relu", ["sum"], ["hidden"], "activation"),
        helper.make_node("MatMul", ["hidden", "w2"], ["logits"], "second"),
        helper.make_node("Softmax", ["logits"], ["y"], "softmax", axis=-1),
    ]
    for node in nodes:
        node.name = rename(node.name)
        for names in (node.input, node.output):
            names[:] = [rename(name) for name in names]
    return model(
        nodes,
        [port(rename("x"), batch, WIDTH)],
        [port(rename("y"), batch, CLASSES), port(rename("hidden"), batch, HIDDEN)],
        {rename(name): array.astype(np.float32) for name, array in weights.items()},
    )


def resampled() -> ModelProto:
    """A network that takes its sampling rate as an input and branches on it: x [1, 16] and sr [] to y [1, 16]."""
    branches = {
        name: helper.make_graph([helper.make_node("Mul", ["x", factor], [name])], name, [], [port(name, 1, 16)])
        for name, factor in (("slow", "half"), ("fast", "two"))
    }
    nodes = [
        helper.make_node("Equal", ["sr", "rate"], ["is_fast"], "compare"),
        helper.make_node("If", ["is_fast"], ["scaled"], "choose", then_branch=branches["fast"], else_branch=branches["slow"]),
        helper.make_node("Relu", ["scaled"], ["y"], "activation"),
    ]
    constants = {"rate": np.array(16000), "half": np.array(0.5, np.float32), "two": np.array(2.0, np.float32)}
    return model(nodes, [port("x", 1, 16), port("sr", dtype=TensorProto.INT64)], [port("y", 1, 16)], constants)


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    weights: dict[str, np.ndarray] | None = None,
    *,
    opset: int = OPSET,
) -> ModelProto:
    """Return a model; it need not be valid."""
    tensors = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(nodes, "network", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9, producer_name="tests")


def port(name: str, *dims: int | str, dtype: int = TensorProto.FLOAT) -> ValueInfoProto:
    """Return the description of an input or output."""
    return helper.make_tensor_value_info(name, dtype, dims)


def saved(proto: ModelProto, path: Path) -> Path:
    """Write a model; return where."""
    onnx.save(proto, path)
    return path

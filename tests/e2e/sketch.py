"""Networks written node by node."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper


class Sketch:
    """Collects nodes and weights."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, np.ndarray] = {}
        self.random = np.random.default_rng(3)

    def node(self, op: str, *operands: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(op, operands, [f"t{len(self.nodes)}"], **attributes))
        return f"t{len(self.nodes) - 1}"

    def weight(self, *shape: int) -> str:
        return self.constant((self.random.standard_normal(shape) / np.sqrt(max(shape))).astype(np.float32))

    def constant(self, array: object) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def dim(self, tensor: str, axis: int) -> str:
        """A dimension as exporters read it: Shape, Gather, Unsqueeze."""
        number = self.node("Gather", self.node("Shape", tensor), self.constant(np.array(axis, np.int64)), axis=0)
        return self.node("Unsqueeze", number, self.constant(np.array([0], np.int64)))

    def shape(self, *pieces: str | int) -> str:
        rows = [piece if isinstance(piece, str) else self.constant(np.array([piece], np.int64)) for piece in pieces]
        return self.node("Concat", *rows, axis=0)

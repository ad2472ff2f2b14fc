"""Nodes of any operator, whose attributes are what a test gives them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.types import F32, DType, TensorType


def value(*shape: int, dtype: DType = F32, constant: np.ndarray | None = None) -> Value:
    return Value(TensorType(dtype, shape), constant=constant)


def node(op: str, inputs: list[Value], output: Value, **attributes: Any) -> Node:
    return Node(op, tuple(inputs), (output,), SimpleNamespace(**attributes))


def graph(nodes: list[Node], *outputs: Value) -> Graph:
    return Graph((), tuple((f"y{i}", v) for i, v in enumerate(outputs)), tuple(nodes))

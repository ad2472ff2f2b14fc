"""Vectors of sizes as data: a tensor of numbers that are known only when the model runs, which a kernel writes or loads like any other.

A shape that a model gives out, or computes with in ways that no rule follows, has no node: its elements are expressions. Each is an
argument of a kernel, and the kernel joins them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.concat import ConcatAttrs
from nautilus_cli.ops.contents import READERS
from nautilus_cli.ops.reshape import ReshapeAttrs


def with_stored_sizes(graph: Graph) -> Graph:
    """Return GRAPH with vectors of sizes computed by nodes, where they leave it or an operator reads them that needs a tensor."""
    known: dict[Value, Value] = {}
    nodes: list[Node] = []

    def stored(value: Value, origin: tuple[str, ...]) -> Value:
        if value not in known:
            made, known[value] = _joined(value, origin)
            nodes.extend(made)
        return known[value]

    for node in graph.nodes:
        readers = READERS.get(node.op, ())
        inputs = tuple(
            stored(v, node.origin) if v is not None and _is_vector(v) and number not in readers else v
            for number, v in enumerate(node.inputs)
        )
        nodes.append(node if all(a is b for a, b in zip(inputs, node.inputs, strict=True)) else replace(node, inputs=inputs))
    outputs = tuple((name, value if value.contents is None else stored(value, ())) for name, value in graph.outputs)
    return replace(graph, nodes=tuple(nodes), outputs=outputs) if known else graph


def _is_vector(value: Value) -> bool:
    """Whether VALUE has no node and is more than one number: one is an argument of the kernel that reads it."""
    return value.contents is not None and value.contents.size != 1


def _joined(value: Value, origin: tuple[str, ...]) -> tuple[list[Node], Value]:
    """Return nodes that compute a value of sizes, and what they compute."""
    assert value.contents is not None
    elements = value.contents.reshape(-1)
    dtype, row = value.type.dtype, TensorType(value.type.dtype, (1,))
    parts = tuple(Value(row, contents=np.array([element], dtype=object)) for element in elements)
    is_row = value.type.shape == (len(parts),)
    joined = Value(TensorType(dtype, (len(parts),)), tensor=value.tensor if is_row else None)
    nodes = [Node("Concat", parts, (joined,), ConcatAttrs(axis=0), origin)]
    if is_row:
        return nodes, joined
    shape = Value(TensorType(I64, (len(value.type.shape),)), constant=np.array(value.type.static, np.int64))
    result = Value(value.type, tensor=value.tensor)
    return [*nodes, Node("Reshape", (joined, shape), (result,), ReshapeAttrs(allowzero=1), origin)], result

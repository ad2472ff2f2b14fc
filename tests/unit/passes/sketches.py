"""Small graphs to try passes on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.types import F32, DType, TensorType
from nautilus_cli.ops.builder import GraphBuilder


class Sketch(GraphBuilder):
    """A graph builder with seeded constants."""

    def __init__(self, dtype: DType = F32) -> None:
        super().__init__(origin=("n",))
        self.dtype = dtype
        self.random = np.random.default_rng(7)

    def x(self, *shape: int, name: str = "x") -> Value:
        """Declare an input."""
        return self.input(name, TensorType(self.dtype, shape))

    def c(self, *shape: int) -> Value:
        """Return a constant of normal numbers."""
        return self.constant(self.random.standard_normal(shape).astype(self.dtype.numpy))

    def ints(self, *numbers: int) -> Value:
        """Return a constant int64 vector."""
        return self.constant(np.array(numbers, np.int64))


def seeded_inputs(graph: Graph) -> dict[str, np.ndarray]:
    """Return normal numbers for every input."""
    random = np.random.default_rng(3)
    return {name: random.standard_normal(v.type.static).astype(v.type.dtype.numpy) for name, v in graph.inputs}


def ops(graph: Graph) -> Iterator[str]:
    """Yield the operators of a graph in order."""
    return (node.op for node in graph.nodes)

"""Graphs to try the IR on, made by hand: the IR knows no operators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.types import F32, DType, TensorType, dtype_of


@dataclass(frozen=True, slots=True)
class Attrs:
    """One attribute of every kind that has a textual form."""

    axis: int = 0
    alpha: float = 0.01
    mode: str = "none"
    axes: tuple[int, ...] | None = None
    names: tuple[str, ...] = ()
    scales: tuple[float, ...] = ()
    flag: bool = False
    to: DType | None = None
    table: np.ndarray | None = None


ATTRIBUTES = dict.fromkeys(("Op", "Add", "Split", "com.microsoft::Odd", "Sub"), Attrs)


def value(*shape: int, dtype: DType = F32, tensor: str | None = None, order: tuple[int, ...] | None = None) -> Value:
    return Value(TensorType(dtype, shape), tensor=tensor, order=order)


def constant(array: np.ndarray, tensor: str | None = None) -> Value:
    return Value(TensorType(dtype_of(array), array.shape), tensor=tensor, constant=array)


def node(op: str, inputs: tuple[Value | None, ...], *outputs: Value | None, origin: tuple[str, ...] = (), **attrs: object) -> Node:
    return Node(op, inputs, outputs, Attrs(**attrs), origin)  # type: ignore[arg-type]


def chain(length: int) -> tuple[Graph, list[Value]]:
    """A chain of additions of an input to itself; also every value, the input first."""
    values = [value(4, tensor="x")]
    nodes = []
    for _ in range(length):
        values.append(value(4))
        nodes.append(node("Add", (values[-2], values[0]), values[-1]))
    return Graph((("x", values[0]),), (("y", values[-1]),), tuple(nodes)), values

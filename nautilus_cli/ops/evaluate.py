"""Evaluates a graph in numpy by the truths of its operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from nautilus_cli.errors import InternalError, ModelError
from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.verifier import describe
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Operator

T = TypeVar("T")


def evaluate(graph: Graph, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outputs of GRAPH by name.

    Args:
        graph: every operator of it is in the registry.
        inputs: an array of the right type and shape for each input.

    Raises:
        ModelError: an input is missing or of another type or shape, or operands do not fit an operator.
    """
    last_reader = {value: number for number, node in enumerate(graph.nodes) for value in node.operands()}
    kept = graph.output_values()
    arrays, counts = _bound(graph, inputs), _Counts(graph)
    for number, node in enumerate(graph.nodes):
        arrays.update(_results(node, arrays, counts))
        for value in {*node.operands(), *node.results()}:
            if value not in kept and last_reader.get(value, number) == number:
                arrays.pop(value, None)
    return {name: _read(value, arrays, counts) for name, value in graph.outputs}


class _Counts:
    """The counts of a graph as far as they are known: those of nodes that were evaluated."""

    def __init__(self, graph: Graph) -> None:
        self._names = {value: name for name, value in graph.counts}
        self._sizes: dict[str, int] = {}

    def learn(self, value: Value, array: np.ndarray) -> None:
        """Note what a node gives."""
        if value in self._names:
            self._sizes[self._names[value]] = int(array)

    def bound(self, tree: T) -> T:
        """Return attributes, or a shape, with numbers in place of counts."""
        return bind(tree, self._sizes) if self._sizes else tree


def evaluate_operator(operator: Operator, attrs: object, arrays: Sequence[np.ndarray | None], outputs: int) -> tuple[np.ndarray, ...]:
    """Return the results of one operator, without numpy's warnings about overflow and invalid operands."""
    with np.errstate(all="ignore"):
        return tuple(np.asarray(result) for result in operator.evaluate(attrs, tuple(arrays), outputs))


def _bound(graph: Graph, inputs: Mapping[str, np.ndarray]) -> dict[Value, np.ndarray]:
    """Check the inputs and return them by value."""
    arrays = {}
    for name, value in graph.inputs:
        if name not in inputs:
            raise ModelError(f"input {name!r} is missing", hint=f"Given: {', '.join(map(repr, inputs)) or 'none'}.")
        array = np.asarray(inputs[name])
        if array.dtype != value.type.dtype.numpy or array.shape != value.type.static:
            raise ModelError(f"input {name!r} is {array.dtype}{list(array.shape)}; the graph takes {value.type}")
        arrays[value] = array
    return arrays


def _results(node: Node, arrays: Mapping[Value, np.ndarray], counts: _Counts) -> dict[Value, np.ndarray]:
    """Evaluate one node and hold its results against their types."""
    known = operators()
    if node.op not in known:
        raise InternalError(f"operator {node.op!r} is not in the registry", where=describe(node))
    operands = [None if v is None else _read(v, arrays, counts) for v in node.inputs]
    results = evaluate_operator(known[node.op], counts.bound(node.attrs), operands, len(node.outputs))
    for value, array in zip(node.outputs, results, strict=False):
        if value is not None:
            counts.learn(value, array)
    found = {}
    for value, array in zip(node.outputs, results, strict=False):
        if value is None:
            continue
        if array.dtype != value.type.dtype.numpy or array.shape != counts.bound(value.type.static):
            raise InternalError(f"evaluates to {array.dtype}{list(array.shape)}, its type is {value.type}", where=describe(node))
        found[value] = array
    return found


def _read(value: Value, arrays: Mapping[Value, np.ndarray], counts: _Counts) -> np.ndarray:
    """Return the contents of a value."""
    if value.constant is not None:
        return value.constant
    if value.contents is None:
        return arrays[value]
    return np.array(counts.bound(tuple(value.contents.reshape(-1))), value.type.dtype.numpy).reshape(value.contents.shape)

"""Indices that name another element than the reference's, of a value that is the same within rounding: both are right.

Of all integers only those of ArgMax, ArgMin and TopK are looked at, given out as they are or through operators that keep their order.
Float64 decides: the element that the library chose and the one that the reference chose differ by less than the tolerance of the tensor
that was searched. Among the indices of one TopK none may occur twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.rewrite import prune
from nautilus_cli.numerics.propagation import estimate
from nautilus_cli.numerics.tolerance import Tolerance, from_deviation
from nautilus_cli.verify.simulation import simulate

_KEEPS_ORDER = frozenset({"Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze"})
_OF_INDICES = {"ArgMax": 0, "ArgMin": 0, "TopK": 1}
"""Operators that give indices along an axis, and which of their results these are."""

_SEARCHED = "searched"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Choice:
    """Where an output's indices come from.

    Attributes:
        node: the operator that chose.
        indices: its result.
        searched: the tensor in which it chose.
    """

    node: Node
    indices: Value
    searched: Value


def choice(graph: Graph, output: Value) -> Choice | None:
    """Return where the indices of an output come from; None where it holds something else."""
    producers, value = graph.producers(), output
    while value in producers and producers[value].op in _KEEPS_ORDER and not value.type.dtype.is_float:
        source = producers[value].inputs[0]
        assert source is not None
        value = source
    node = producers.get(value)
    if node is None or node.op not in _OF_INDICES or node.outputs.index(value) != _OF_INDICES[node.op]:
        return None
    searched = node.inputs[0]
    if searched is None or not searched.type.dtype.is_float:
        return None
    return Choice(node=node, indices=value, searched=searched)


def ties(
    graph: Graph, inputs: Mapping[str, np.ndarray], output: Value, actual: np.ndarray, expected: np.ndarray, *, fp32_mode: str
) -> np.ndarray:
    """Return which elements of ACTUAL name another element than EXPECTED does, with the same value within rounding.

    FP32_MODE is how the library multiplies f32.

    Shapes: all those of the output.
    """
    found = choice(graph, output)
    if found is None:
        return np.zeros(actual.shape, np.bool_)
    inner = prune(replace(graph, outputs=((_SEARCHED, found.searched),)))
    searched = simulate(inner, inputs)[_SEARCHED]
    expected_error = estimate(inner, fp32_mode=fp32_mode)[0]
    tolerance = from_deviation(
        expected_error.deviation, searched.astype(found.searched.type.dtype.numpy), absolute=expected_error.absolute
    )  # fmt: skip
    accepted = _same_value(found, searched, actual, expected, tolerance)
    return accepted.reshape(actual.shape)


def _same_value(found: Choice, searched: np.ndarray, actual: np.ndarray, expected: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    """Return it for the indices in the shape that the operator gives them, with the axis searched kept."""
    axis = int(getattr(found.node.attrs, "axis", 0)) % searched.ndim
    count = found.indices.type.static[axis] if found.node.op == "TopK" else 1
    shape = (*searched.shape[:axis], count, *searched.shape[axis + 1 :])
    ours, theirs = (array.astype(np.int64).reshape(shape) for array in (actual, expected))
    size = searched.shape[axis]
    inside = (ours >= 0) & (ours < size)
    a, b = (np.take_along_axis(searched, np.clip(indices, 0, size - 1), axis) for indices in (ours, theirs))
    with np.errstate(all="ignore"):
        close = np.abs(a - b) <= np.maximum(tolerance.atol, tolerance.rtol * np.abs(b))
    ordered = np.sort(ours, axis)
    twice = (np.diff(ordered, axis=axis) == 0).any(axis, keepdims=True)
    accepted: np.ndarray = inside & close & (ours != theirs) & ~twice
    return accepted

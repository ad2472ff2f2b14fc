"""Gather(x, c) = Reshape(Slice(x)) where the constant indices c count up or down evenly: then it only moves elements."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.gather import Progression, as_slice
from nautilus_cli.passes.rewriting.rule import Surroundings


class GatherToSlice:
    """Take a constant gather for the slice that it is."""

    name = "gather_to_slice"
    pattern = "Gather(x, c)"

    def check(self, node: Node, around: Surroundings) -> tuple[Node, ...] | str:
        """Apply where the indices are constant and form an arithmetic progression."""
        if node.op != "Gather":
            return "not a gather"
        return (node,) if _progression(node) is not None else "the indices are not a constant arithmetic progression"

    def rewrite(self, node: Node, around: Surroundings, emit: GraphBuilder) -> Value:
        """Slice along the axis, then give the result the shape of the indices."""
        progression = _progression(node)
        data = node.inputs[0]
        assert progression is not None and data is not None
        axis = node.attrs.axis % len(data.type.shape)  # type: ignore[attr-defined]
        end = progression.start + progression.step * progression.count
        if progression.start < 0:  # from behind, and forward
            end = end if end < 0 else np.iinfo(np.int64).max
        elif end < 0:
            end = np.iinfo(np.int64).min
        bounds = [progression.start, end, axis, progression.step]
        starts, ends, axes, steps = (emit.constant(np.array([number], np.int64)) for number in bounds)
        sliced = emit.node("Slice", (data, starts, ends, axes, steps))
        shape = emit.sizes(next(node.results()).type.static)
        return emit.node("Reshape", (sliced, shape), allowzero=1)


def _progression(node: Node) -> Progression | None:
    data, indices = node.inputs[0], node.inputs[1]
    if data is None or indices is None or indices.constant is None:
        return None
    return as_slice(indices.constant, data.type.static[node.attrs.axis % len(data.type.shape)])  # type: ignore[attr-defined]


RULE = GatherToSlice()

"""Gather(c, Slice(k)) = Slice(Gather(c, k)) of constants: what is looked up is looked up once, and a run takes a part of it.

So are positions and token types of a language model whose sequence is open. An Expand in between is made behind it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.gather import checked_indices
from nautilus_cli.passes.rewriting.rule import Surroundings

MOST_BYTES = 4 << 20
"""Of what is looked up, where that is more than the table."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Constant indices of which a node takes a part: by a slice, then perhaps an expansion."""

    table: np.ndarray
    indices: Value
    slice: Node
    expand: Node | None


class GatherOfSlice:
    """Look up constant indices when compiling, though a run uses a part of them."""

    name = "gather_of_slice"
    pattern = "Gather(c, Slice(k)) or GatherElements(c, Slice(k))"

    def check(self, node: Node, around: Surroundings) -> tuple[Node, ...] | str:
        """Apply where table and indices are constant, all of these lie within it, and what comes out is not large."""
        found = _part(node, around)
        return found if isinstance(found, str) else (node,)

    def rewrite(self, node: Node, around: Surroundings, emit: GraphBuilder) -> Value:
        """Look everything up, then take the part, then repeat it."""
        part = _part(node, around)
        assert not isinstance(part, str)
        whole = emit.node(node.op, (node.inputs[0], part.indices), node.attrs)
        axis, rank, before = _axis(node, part.table), len(part.indices.type.shape), 0
        _, starts, ends, axes, *steps = part.slice.inputs
        if node.op == "Gather":
            before = axis
        assert axes is not None and axes.constant is not None
        places = emit.constant(axes.constant % rank + before)
        taken = emit.node("Slice", (whole, starts, ends, places, *steps))
        if part.expand is None:
            return taken
        return emit.node("Expand", (taken, emit.sizes(next(node.results()).type.static)))


def _part(node: Node, around: Surroundings) -> _Part | str:
    if node.op not in {"Gather", "GatherElements"}:
        return "not a gather"
    data, indices = node.inputs[0], node.inputs[1]
    if data is None or data.constant is None or indices is None:
        return "the table is not constant"
    before = around.producers.get(indices)
    expand = before if before is not None and before.op == "Expand" and node.op == "Gather" else None
    if expand is not None:
        (inner, *_) = expand.operands()
        if len(inner.type.shape) != len(indices.type.shape):
            return "the indices are expanded to more dimensions"
        before = around.producers.get(inner)
    if before is None or before.op != "Slice" or not _has_known_bounds(before):
        return "the indices are no slice whose bounds are known to the host"
    whole = before.inputs[0]
    if whole is None or whole.constant is None:
        return "the indices are not constant"
    beside = zip(whole.type.static, data.type.static, strict=False)
    if node.op == "GatherElements" and any(i > d for at, (i, d) in enumerate(beside) if at != _axis(node, data.constant)):
        return "the indices that no run may use are larger than the table"
    try:
        checked_indices(whole.constant, data.type.static[_axis(node, data.constant)])
    except ModelError:
        return "an index that no run may use lies outside the table"
    made = whole.constant.size * (data.constant.itemsize if node.op == "GatherElements" else _row_bytes(node, data.constant))
    if made > max(MOST_BYTES, data.constant.nbytes):
        return f"what is looked up would take {made} bytes"
    return _Part(data.constant, whole, before, expand)


def _has_known_bounds(node: Node) -> bool:
    numbers = node.inputs[1:]
    known = all(v is not None and (v.constant is not None or v.contents is not None) for v in numbers)
    return len(numbers) >= 3 and known and numbers[2] is not None and numbers[2].constant is not None


def _axis(node: Node, table: np.ndarray) -> int:
    """Return the axis of the table, counted from the front."""
    axis: int = node.attrs.axis  # type: ignore[attr-defined]
    return axis % table.ndim


def _row_bytes(node: Node, table: np.ndarray) -> int:
    """Return what one index looks up."""
    rows: int = max(1, table.shape[_axis(node, table)])
    return int(table.nbytes) // rows


RULE = GatherOfSlice()

"""GatherND(x, Concat(i, j, ...)) = Expand(Transpose(x)) where each index counts along a dimension of the result of its own, from 0.

So do exporters write masks of attention, as a look-up of every pair of places; sizes may be open, and indices then parts of constants.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.passes.rewriting.rule import Surroundings

_STEPS = 8
"""Most nodes that are looked through to find what an index is."""


class GatherToView:
    """Take a look-up of all elements in order for the view that it is."""

    name = "gather_to_view"
    pattern = "GatherND(x, indices)"

    def check(self, node: Node, around: Surroundings) -> tuple[Node, ...] | str:
        """Apply where every dimension of x is walked whole along a dimension of the result, each along another one."""
        found = _walked(node, around)
        return found if isinstance(found, str) else (node,)

    def rewrite(self, node: Node, around: Surroundings, emit: GraphBuilder) -> Value:
        """Order the dimensions as the result has them, put 1 between them, and repeat."""
        walked, data, shape = _walked(node, around), node.inputs[0], next(node.results()).type.static
        assert not isinstance(walked, str) and data is not None
        order = sorted(range(len(walked)), key=lambda dim: walked[dim])
        ordered = emit.node("Transpose", (data,), perm=tuple(order))
        spread = [shape[dim] if dim in walked else 1 for dim in range(len(shape))]
        return emit.node("Expand", (emit.node("Reshape", (ordered, emit.sizes(spread)), allowzero=1), emit.sizes(shape)))


def _walked(node: Node, around: Surroundings) -> tuple[int, ...] | str:
    """Return the dimension of the result along which each dimension of x is walked, -1 for one of size 1, or why there is none."""
    if node.op != "GatherND":
        return "not a GatherND"
    data, indices = node.inputs[0], node.inputs[1]
    assert data is not None and indices is not None
    if node.attrs.batch_dims != 0 or not same(indices.type.static[-1], len(data.type.shape)):  # type: ignore[attr-defined]
        return "it looks up batch by batch, or slices"
    shape = next(node.results()).type.static
    sizes, parts = data.type.static, _parts(indices, around)
    if len(parts) != len(sizes):
        return "the indices of each dimension are not apart"
    walked = [-1 if same(size, 1) else _axis_of(part, len(shape), around) for part, size in zip(parts, sizes, strict=True)]
    found = tuple(axis for axis in walked if axis is not None)
    along = [(axis, size) for axis, size in zip(found, sizes, strict=False) if axis >= 0]
    if len(found) < len(walked) or len({axis for axis, _ in along}) < len(along):
        return "the indices do not count along a dimension of the result each"
    if not all(same(shape[axis], size) for axis, size in along):
        return "the indices do not go through all of a dimension"
    return found


def _parts(indices: Value, around: Surroundings) -> Sequence[Value]:
    """Return the indices of each dimension of the data, each with a last dimension of 1; none where they are not apart."""
    if indices.constant is not None:
        return [_constant(indices.constant[..., n : n + 1]) for n in range(indices.constant.shape[-1])]
    node = around.producers.get(indices)
    if node is None or node.op != "Concat":
        return [indices] if same(indices.type.static[-1], 1) else []
    rank, parts = len(indices.type.shape), list(node.operands())
    is_last = node.attrs.axis % rank == rank - 1  # type: ignore[attr-defined]
    return parts if is_last and all(same(part.type.static[-1], 1) for part in parts) else []


def _constant(array: np.ndarray) -> Value:
    return GraphBuilder().constant(np.ascontiguousarray(array))


def _axis_of(value: Value, rank: int, around: Surroundings) -> int | None:
    """Return the dimension, of the first RANK ones, whose coordinate each element of VALUE is; None where there is none."""
    behind: list[Node] = []
    while value.constant is None:
        node = around.producers.get(value)
        if node is None or node.op not in {"Expand", "Unsqueeze", "Slice"} or len(behind) == _STEPS:
            return None
        behind.append(node)
        value = next(node.operands())
    axis = _counted(value.constant)
    for node in reversed(behind):
        axis = None if axis is None else _carried(node, axis)
    return axis if axis is not None and axis < rank else None


def _counted(array: np.ndarray) -> int | None:
    """Return the dimension whose coordinate each element of ARRAY is; where all are 0, one of size 1 could be any."""
    for axis, size in enumerate(array.shape):
        steps = np.arange(size).reshape(-1, *[1] * (array.ndim - axis - 1))
        if size > 1 and (array == steps).all():
            return axis
    return None


def _carried(node: Node, axis: int) -> int | None:
    """Return which dimension of a node's result counts where AXIS of its operand does."""
    operand, result = next(node.operands()), next(node.results())
    if node.op == "Slice":
        starts, *steps = (None if v is None else v.constant for v in (node.inputs[1], *node.inputs[4:]))
        is_from_front = starts is not None and not starts.any() and all(step is not None and (step == 1).all() for step in steps)
        return axis if is_from_front else None
    if node.op == "Unsqueeze":
        places = node.inputs[1]
        if places is None or places.constant is None:
            return None
        taken = {int(place) % len(result.type.shape) for place in places.constant.reshape(-1)}
        return [dim for dim in range(len(result.type.shape)) if dim not in taken][axis]
    axis_there = axis + len(result.type.shape) - len(operand.type.shape)
    return axis_there if same(operand.type.static[axis], result.type.static[axis_there]) else None


RULE = GatherToView()

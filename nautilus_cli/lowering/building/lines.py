"""Lines of a tensor along one of its axes."""

from __future__ import annotations

from nautilus_cli.ir.dims import same
from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.index_map import IndexMap, from_strides, regroup
from nautilus_cli.ir.stages import row_major


def along(shape: tuple[int, ...], axis: int, *, is_reversed: bool = False) -> IndexMap:
    """Return the map from (line, place along the axis) to the linear index; lines are all other coordinates joined.

    Args:
        shape: of the tensor.
        axis: from the front.
        is_reversed: whether places count from the end.
    """
    order = [*(a for a in range(len(shape)) if a != axis), axis]
    strides = list(row_major(shape))
    offset = 0
    if is_reversed:
        offset, strides[axis] = (shape[axis] - 1) * strides[axis], -strides[axis]
    plain = from_strides([shape[a] for a in order], [strides[a] for a in order], offset)
    return regroup(plain, [list(range(len(shape) - 1)), [len(shape) - 1]])


def across(shape: tuple[int, ...], axis: int) -> IndexMap:
    """Return the map from (place along the axis, line) to the linear index."""
    order = [axis, *(a for a in range(len(shape)) if a != axis)]
    strides = row_major(shape)
    return regroup(from_strides([shape[a] for a in order], [strides[a] for a in order]), [[0], list(range(1, len(shape)))])


def is_first_contiguous(epilogue: Expression) -> bool:
    """Whether neighbours along the first of two coordinates, and not along the second, are neighbours in memory for the first store."""
    (first, second) = epilogue.stores[0].map.stages[0].coordinates
    return same(first[-1].stride, 1) and not same(abs(second[-1].stride), 1)

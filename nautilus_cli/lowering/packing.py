"""Packed forms of constant weights: rows along k, padded to 16 bytes, the same for every target and schedule."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ir.index_map import IndexMap, from_strides
from nautilus_cli.lowering.slots import PackedWeight
from nautilus_cli.ops.movement import look_through

ROW_BYTES = 16
"""Rows start at multiples of this: the widest vector load, and what tensor maps ask for (CUDA driver API, cuTensorMapEncodeTiled)."""


def constant_behind(value: Value, producers: dict[Value, Node]) -> tuple[Value, IndexMap] | None:
    """Return the constant that VALUE views through movement alone, and the map to its linear index; None where there is none.

    Args:
        producers: transparent movement nodes of the group, by result.
    """
    source, index_map = look_through(value, producers)
    return (source, index_map) if source.constant is not None else None


def pack_rows(source: Value, index_map: IndexMap, recipe: str) -> tuple[PackedWeight, IndexMap]:
    """Pack a constant as rows along the last coordinate.

    Args:
        source: the constant.
        index_map: from the coordinates (..., row, k) to its row-major linear index.
        recipe: name of the packed form.

    Returns:
        The weight, and the map from the same coordinates to its offset. Where the constant already has aligned rows it is used as it is.
    """
    constant = source.constant
    assert constant is not None
    extents = index_map.extents
    itemsize = constant.dtype.itemsize
    per_row = max(1, ROW_BYTES // itemsize)
    if _has_aligned_rows(index_map, per_row):
        return PackedWeight(lambda: np.ascontiguousarray(constant), "dense", source.tensor), index_map
    padded = -(-extents[-1] // per_row) * per_row

    def packed() -> np.ndarray:
        rows = np.zeros((*extents[:-1], padded), constant.dtype)
        rows[..., : extents[-1]] = gather(constant, index_map)
        return rows

    strides = [0] * len(extents)
    step = padded
    for i in range(len(extents) - 2, -1, -1):
        strides[i] = step
        step *= extents[i]
    strides[-1] = 1
    return PackedWeight(packed, recipe, source.tensor), from_strides(extents, strides)


def _has_aligned_rows(index_map: IndexMap, per_row: int) -> bool:
    """Whether the constant's own layout has consecutive k, and rows that start at multiples of ROW_BYTES."""
    if len(index_map.stages) != 1 or index_map.is_guarded:
        return False
    (stage,) = index_map.stages
    last = stage.coordinates[-1]
    others = [a for digits in stage.coordinates[:-1] for a in digits if a.extent > 1]
    consecutive = len(last) == 1 and last[0].stride == 1
    return consecutive and stage.offset % per_row == 0 and all(a.stride % per_row == 0 and a.stride > 0 for a in others)


def gather(array: np.ndarray, index_map: IndexMap) -> np.ndarray:
    """Return the elements of ARRAY that INDEX_MAP names, shaped as its extents; zero where it names none."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if (
        len(index_map.stages) == 1
        and not index_map.is_guarded
        and all(a.stride >= 0 for digits in index_map.stages[0].coordinates for a in digits)
    ):
        (stage,) = index_map.stages
        axes = [a for digits in stage.coordinates for a in digits]
        view = np.lib.stride_tricks.as_strided(
            flat[stage.offset :], [a.extent for a in axes], [a.stride * flat.itemsize for a in axes], writeable=False
        )
        return view.reshape(index_map.extents)
    offsets, valid = index_map.offsets()
    return np.where(valid, flat[np.where(valid, offsets, 0)], flat.dtype.type(0))

"""Packed forms of constant weights: rows along k, padded to 16 bytes, the same for every target and schedule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from nautilus_cli.ir.binding import is_known
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ir.index_map import IndexMap, from_strides
from nautilus_cli.ir.stages import Axis, Stage
from nautilus_cli.lowering.building.slots import PackedWeight
from nautilus_cli.ops.movement import look_through

ROW_BYTES = 16
"""Rows start at multiples of this: the widest vector load, and what tensor maps ask for (CUDA driver API, cuTensorMapEncodeTiled)."""


def constant_behind(value: Value, producers: dict[Value, Node]) -> tuple[Value, IndexMap] | None:
    """Return the constant that VALUE views through movement alone, and the map to its linear index; None where there is none.

    There is none either where the run says which part of it is viewed: that cannot be packed before.

    Args:
        producers: transparent movement nodes of the group, by result.
    """
    source, index_map = look_through(value, producers)
    return (source, index_map) if source.constant is not None and is_known(_without_repeats(index_map)) else None


def pack_rows(source: Value, index_map: IndexMap, recipe: str) -> tuple[PackedWeight, IndexMap]:
    """Pack a constant as rows along the last coordinate.

    Args:
        source: the constant.
        index_map: from the coordinates (..., row, k) to its row-major linear index.
        recipe: name of the packed form.

    Returns:
        The weight, and the map from the same coordinates to its offset. Where the constant already has aligned rows it is used as it is;
        along coordinates along which it is repeated it is packed once.
    """
    constant = source.constant
    assert constant is not None
    once = _without_repeats(index_map)
    extents = once.extents
    itemsize = constant.dtype.itemsize
    per_row = max(1, ROW_BYTES // itemsize)
    if _has_aligned_rows(once, per_row):
        return PackedWeight(lambda: np.ascontiguousarray(constant), "dense", names((source,))), index_map
    padded = -(-extents[-1] // per_row) * per_row

    def packed() -> np.ndarray:
        rows = np.zeros((*extents[:-1], padded), constant.dtype)
        rows[..., : extents[-1]] = gather(constant, once)
        return rows

    strides = [0 if same(e, 1) else stride for e, stride in zip(extents, _row_strides(extents, padded), strict=True)]
    return PackedWeight(packed, recipe, names((source,))), from_strides(index_map.extents, strides)


def pack_pairs(sources: tuple[tuple[Value, IndexMap], tuple[Value, IndexMap]], recipe: str) -> tuple[PackedWeight, IndexMap]:
    """Pack two constants as rows along the last coordinate, in turn: row 2i is row i of the first, row 2i + 1 row i of the second.

    Args:
        sources: the constants, each with its map from the coordinates (..., row, k) to its row-major linear index; of the same extents.
        recipe: name of the packed form.

    Returns:
        The weight, and the map from coordinates with twice as many rows to its offset.
    """
    (*outer, rows, depth) = sources[0][1].extents
    dtype = sources[0][0].type.dtype.numpy
    per_row = max(1, ROW_BYTES // dtype.itemsize)
    padded = -(-depth // per_row) * per_row

    def packed() -> np.ndarray:
        pairs = np.zeros((*outer, rows, 2, padded), dtype)
        for number, (source, index_map) in enumerate(sources):
            assert source.constant is not None
            pairs[..., number, :depth] = gather(source.constant, index_map)
        return pairs.reshape(*outer, 2 * rows, padded)

    return PackedWeight(packed, recipe, names(source for source, _ in sources)), _rows_map((*outer, 2 * rows, depth), padded)


def names(values: Iterable[Value]) -> tuple[str, ...]:
    """Return the ONNX tensors that values equal, as far as they are known."""
    return tuple(value.tensor for value in values if value.tensor is not None)


def _rows_map(extents: Sequence[int], pitch: int) -> IndexMap:
    """Return the map from coordinates of EXTENTS to rows along the last one that begin PITCH elements apart."""
    return from_strides(extents, _row_strides(extents, pitch))


def _row_strides(extents: Sequence[int], pitch: int) -> list[int]:
    strides = [1]
    step = pitch
    for extent in reversed(extents[:-1]):
        strides.insert(0, step)
        step *= extent
    return strides


def _without_repeats(index_map: IndexMap) -> IndexMap:
    """Return the map with an extent of 1 along each coordinate but the last along which it gives the same element."""
    if len(index_map.stages) != 1 or index_map.is_guarded:
        return index_map
    (stage,) = index_map.stages
    *outer, last = stage.coordinates
    once = ((Axis(1, 0),) if all(same(axis.stride, 0) for axis in digits) else digits for digits in outer)
    return IndexMap((Stage((*once, last), stage.offset),))


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

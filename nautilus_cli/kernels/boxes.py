"""Tensor maps of matrices, as boxes that bulk copies move: of what a functor that only loads reads, or an epilogue stores."""

from __future__ import annotations

from nautilus_cli.ir.dims import is_symbolic, lower, same, upper
from nautilus_cli.ir.expression import Expression, IndexedLoad, Inside, Load
from nautilus_cli.ir.index_map import IndexMap
from nautilus_cli.ir.quotients import divides
from nautilus_cli.ir.stages import Axis, Digits
from nautilus_cli.ir.types import BF16, F16, F32, DType
from nautilus_cli.kernels.base import TensorMap

ROW_BYTES = 128
"""Innermost bytes of a box, within which chunks are swizzled."""
MOST_RANK = 5
MOST_BOX = 256
"""Most elements of a box along a dimension. Source of these and the alignments below: CUDA driver API 13, cuTensorMapEncodeTiled."""
ALIGNMENT_BYTES = 16
_MOST_STRIDE = 2**40
_MOST_EXTENT = 2**32
_ELEMENTS: dict[DType, str] = {F16: "f16", BF16: "bf16", F32: "tf32"}
_STORED_ELEMENTS: dict[DType, str] = {F16: "f16", BF16: "bf16", F32: "f32"}


def violations(expression: Expression, multiply: DType) -> tuple[str, ...]:
    """Return why bulk copies cannot bring an operand as it is; empty where they can.

    Args:
        expression: the operand's functor, at (batch, row, column) of the matrix as it lies in memory.
        multiply: type of the elements that are multiplied.
    """
    load = only_load(expression)
    if load is None:
        return ("the operand is computed, not only loaded",)
    if load.storage != multiply or multiply not in _ELEMENTS:
        return (f"elements of {load.storage} are multiplied as {multiply}",)
    return _map_violations(load.map, multiply.bytes)


def result_violations(expression: Expression) -> tuple[str, ...]:
    """Return why bulk copies cannot store an epilogue's results; empty where they can.

    Args:
        expression: the epilogue, at (batch, row, column).
    """
    if len(expression.stores) != 1:
        return (f"{len(expression.stores)} tensors are stored; one is possible",)
    (store,) = expression.stores
    if store.storage not in _STORED_ELEMENTS:
        return (f"elements of {store.storage} are stored",)
    if any(
        isinstance(step, Inside | IndexedLoad) or (isinstance(step, Load) and not _is_same_for_all_rows(step.map))
        for step in expression.steps
    ):
        return ("what is loaded differs from row to row",)
    if reasons := _map_violations(store.map, store.storage.bytes):
        return reasons
    (stage,) = store.map.stages
    batch, outer, inner = stage.coordinates
    if any(same(axis.stride, 0) and _has_several(axis) for axis in (*batch, *outer)):
        return ("an element is stored more than once",)
    return () if divides(2, inner[0].extent) else ("rows are no whole pairs of elements",)


def _is_same_for_all_rows(index_map: IndexMap) -> bool:
    """Return whether a map over (batch, row, column) does not look at the row."""
    first = index_map.stages[0]
    return not index_map.is_guarded and all(same(axis.stride, 0) or same(axis.extent, 1) for axis in first.coordinates[1])


def only_load(expression: Expression) -> Load | None:
    """Return the load that is all of an expression, if it is."""
    first = expression.steps[0]
    return first if isinstance(first, Load) and len(expression.steps) == 1 and not expression.stores else None


def _map_violations(index_map: IndexMap, item_bytes: int) -> tuple[str, ...]:
    if len(index_map.stages) != 1 or index_map.is_guarded:
        return ("the operand is not one strided tensor",)
    (stage,) = index_map.stages
    batch, outer, inner = stage.coordinates
    if len(outer) != 1 or len(inner) != 1 or not (same(inner[0].stride, 1) or (same(inner[0].stride, 0) and not _has_several(inner[0]))):
        return ("rows do not lie at one distance, of neighbouring elements",)
    moving = (outer[0], *_moving(batch))
    if 2 + len(_moving(batch)) > MOST_RANK:
        return (f"the batch has {len(_moving(batch))} digits; a tensor map has {MOST_RANK} dimensions",)
    reasons = []
    for axis in moving:
        distance = axis.stride * item_bytes
        if _has_several(axis) and (lower(distance) <= 0 or not divides(ALIGNMENT_BYTES, distance) or upper(distance) >= _MOST_STRIDE):
            reasons.append(f"a distance of {distance} bytes; multiples of {ALIGNMENT_BYTES} are possible")
    if lower(stage.offset) < 0 or not divides(ALIGNMENT_BYTES, stage.offset * item_bytes):
        reasons.append(f"the tensor begins at byte {stage.offset * item_bytes}; multiples of {ALIGNMENT_BYTES} are possible")
    if any(upper(axis.extent) >= _MOST_EXTENT for axis in (*moving, inner[0])):
        reasons.append("an extent is beyond 32 bits")
    if any(is_symbolic(axis.extent) and lower(axis.extent) < 1 for axis in (*moving, inner[0])):
        reasons.append("the operand may be empty")
    return tuple(reasons)


def _moving(batch: Digits) -> tuple[Axis, ...]:
    """Return the digits of the batch that move, least significant first."""
    return tuple(axis for axis in reversed(batch) if _has_several(axis) and not same(axis.stride, 0))


def _has_several(axis: Axis) -> bool:
    """Whether a digit takes several values, or may: kernels decide by the same."""
    return is_symbolic(axis.extent) or axis.extent > 1


def matrix_map(expression: Expression, box_rows: int, *, rounds: bool = True) -> TensorMap:
    """Return the tensor map of an operand without `violations`: boxes of 128 bytes of BOX_ROWS rows, swizzled within the 128.

    Dimensions are column, row, and the digits of the batch that move, least significant first, as in kernels/wgmma_operand.cuh.

    Args:
        expression: an operand without `violations`.
        box_rows: rows of a box.
        rounds: whether floats become tf32 on their way.
    """
    load = only_load(expression)
    assert load is not None
    return _boxes_of(load.map, load.slot, (_ELEMENTS if rounds else _STORED_ELEMENTS)[load.storage], load.storage.bytes, box_rows)


def result_map(expression: Expression, box_rows: int) -> TensorMap:
    """Return the tensor map of an epilogue without `result_violations`: boxes as those of `matrix_map`."""
    (store,) = expression.stores
    return _boxes_of(store.map, store.slot, _STORED_ELEMENTS[store.storage], store.storage.bytes, box_rows)


def _boxes_of(index_map: IndexMap, slot: int, element: str, item_bytes: int, box_rows: int) -> TensorMap:
    (stage,) = index_map.stages
    batch, outer, inner = stage.coordinates
    digits = (outer[0], *_moving(batch))
    strides = tuple(axis.stride * item_bytes if _has_several(axis) else ALIGNMENT_BYTES for axis in digits)
    return TensorMap(
        slot=slot,
        element=element,
        offset=stage.offset * item_bytes,
        extents=(inner[0].extent, *(axis.extent for axis in digits)),
        strides=strides,
        box=(ROW_BYTES // item_bytes, box_rows, *(1 for _ in digits[1:])),
        swizzle=ROW_BYTES,
    )

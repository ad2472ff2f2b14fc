"""Products whose epilogue reads a mask, of heads of attention: sizes that no vector divides, and a mask that is broadcast in each way."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from nautilus_cli.ir.index_map import from_strides, identity, regroup
from nautilus_cli.ir.types import F16, DType
from tests.emulated.building import Steps
from tests.emulated.cases.products import Functors, Operation, read, values
from tests.emulated.harness import output

HEADS = 3
"""Of a sequence: each batch of the product is one."""

MASKS: Mapping[str, tuple[bool, bool, bool, bool]] = {
    "whole": (True, True, True, True),
    "heads": (True, False, True, True),
    "keys": (True, False, False, True),
    "queries": (False, True, True, False),
    "shared": (False, False, True, True),
    "one": (False, False, False, False),
}
"""Along which of sequences, heads, rows and columns each mask has numbers of its own."""


def masked(extents: tuple[int, int, int, int], mask: str, *, is_merged: bool = False, storage: DType = F16) -> Operation:
    """Return A Bᵀ + mask of (sequences, m, n, k) extents, see `masked_functors`: slots 0 and 1 are A and B, 2 the mask, 3 the result."""
    sequences, m, n, k = extents
    batch = sequences * HEADS
    own = MASKS.get(mask, MASKS["whole"])
    elements = prod(size for size, is_own in zip((sequences, HEADS, m, n), own, strict=True) if is_own)
    buffers = (
        values(batch * m * k, storage, 1),
        values(batch * n * k, storage, 2),
        values(elements, storage, 3),
        output(batch * m * n, storage.numpy),
    )
    return (buffers, *masked_functors(extents, mask, is_merged=is_merged, storage=storage))


def masked_functors(extents: tuple[int, int, int, int], mask: str, *, is_merged: bool, storage: DType) -> Functors:
    """Return the functors of such a product, also of symbolic extents.

    Args:
        extents: (sequences, m, n, k).
        mask: one of MASKS, or `turned`, which has a number for each result and lies transposed.
        is_merged: whether results lie as (sequences, m, heads, n), else heads before rows.
        storage: of all tensors.
    """
    sequences, m, n, k = extents
    whole = (sequences, HEADS, m, n)
    batch = sequences * HEADS
    if mask == "turned":
        strides = [HEADS * m * n, m * n, 1, m]
    else:
        strides, step = [0] * 4, 1
        for dim in reversed(range(4)):
            if MASKS[mask][dim]:
                strides[dim], step = step, step * whole[dim]
    groups = ((0, 1), (2,), (3,))
    steps = Steps()
    summed = steps.apply("add", steps.parameter(0), steps.load(2, storage, regroup(from_strides(whole, strides), groups)))
    merged = regroup(from_strides(whole, (m * HEADS * n, n, HEADS * n, 1)), groups)
    steps.store(summed, 3, storage, merged if is_merged else identity((batch, m, n)))
    return read(0, storage, identity((batch, m, k))), read(1, storage, identity((batch, n, k))), steps.expression()

"""Where a kernel begins to read or write a tensor goes into its arguments, so that kernels that differ in nothing else are one.

The copies of a loop's body read slices of one tensor: each at an offset of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

from nautilus_cli.ir.dims import is_symbolic
from nautilus_cli.ir.expression import Load, Store
from nautilus_cli.ir.functions import minimum
from nautilus_cli.ir.index_map import IndexMap
from nautilus_cli.kernels.base import reaches_by_functors
from nautilus_cli.kernels.registry import family
from nautilus_cli.lowering.building.lowered import Lowered

ALIGNMENT_BYTES = 16
"""What kernels rely on in every pointer, so that the offset in the kernel keeps the rest."""

T = TypeVar("T")


def rebased(lowered: Lowered) -> tuple[Lowered, tuple[int, ...]]:
    """Return a kernel whose pointers may begin inside of tensors, and for each of them how many bytes it does."""
    count = len(lowered.slots.referents)
    if not reaches_by_functors(family(lowered.family)):
        return lowered, (0,) * count
    begins = _begins(lowered)
    moved = {slot: elements for slot, (elements, _) in begins.items() if elements}
    shifts = tuple(begins[slot][0] * begins[slot][1] if slot in begins else 0 for slot in range(count))
    return (replace(lowered, functors=_moved(lowered.functors, moved)), shifts) if moved else (lowered, shifts)


def _begins(lowered: Lowered) -> dict[int, tuple[int, int]]:
    """Return for each pointer how many elements its accesses have before them in common, whole alignments, and an element's bytes."""
    found: dict[int, list[Load | Store]] = {}
    for access in _accesses(lowered.functors):
        found.setdefault(access.slot, []).append(access)
    begins = {}
    for slot, accesses in found.items():
        bits = {access.storage.bits for access in accesses}
        lowest = [_lowest(access.map) for access in accesses]
        if len(bits) != 1 or any(map(is_symbolic, lowest)) or min(bits) % 8:
            continue
        size = min(bits) // 8
        step = max(1, ALIGNMENT_BYTES // size)
        begins[slot] = (max(0, min(lowest)) // step * step, size)
    return begins


def _lowest(index_map: IndexMap) -> int:
    """Return a number that no offset is below."""
    last = index_map.stages[-1]
    return last.offset + sum(minimum(0, axis.stride * (axis.extent - 1)) for digits in last.coordinates for axis in digits)


def _accesses(tree: object) -> Iterator[Load | Store]:
    """Yield the accesses in a tree of dataclasses and tuples."""
    if isinstance(tree, (Load, Store)):
        yield tree
    elif isinstance(tree, tuple):
        for item in tree:
            yield from _accesses(item)
    elif is_dataclass(tree) and not isinstance(tree, type):
        for field in fields(tree):
            yield from _accesses(getattr(tree, field.name))


def _moved(tree: T, begins: Mapping[int, int]) -> T:
    """Return the tree with each access so many elements further to the front."""
    if isinstance(tree, (Load, Store)):
        elements = begins.get(tree.slot, 0)
        return replace(tree, map=_earlier(tree.map, elements)) if elements else tree
    if isinstance(tree, tuple):
        return tuple(_moved(item, begins) for item in tree)  # type: ignore[return-value]
    if is_dataclass(tree) and not isinstance(tree, type):
        parts = {field.name: getattr(tree, field.name) for field in fields(tree)}
        changes = {name: new for name, old in parts.items() if (new := _moved(old, begins)) is not old}
        return replace(tree, **changes) if changes else tree
    return tree


def _earlier(index_map: IndexMap, elements: int) -> IndexMap:
    """Return a map to offsets that are smaller by a number of elements."""
    *before, last = index_map.stages
    return IndexMap((*before, replace(last, offset=last.offset - elements)))

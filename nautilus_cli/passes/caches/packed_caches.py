"""Caches of several layers packed in one tensor: [layers, 2, batch, heads, rows, head], or [2, batch, heads, rows, head] of one layer.

Each layer takes its keys and values out of what the model is given, appends rows to them, and all are joined to what the model gives. That
is the tensor itself with rows appended, each layer's in its own region; but a layer's rows depend on what the layers before it made of
theirs, so that each region is written by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.index_map import IndexMap, agree, compose, from_strides, identity
from nautilus_cli.ir.stages import row_major
from nautilus_cli.ops.checks import normal_axis
from nautilus_cli.ops.movement import is_movement, is_transparent, step_through


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a packed cache.

    Attributes:
        node: the Concat of its rows so far, and those after them.
        starts: where it begins in the packed tensor.
        dims: which dimension of that each of its own is; -1 for one of size 1 that is none there.
    """

    node: Node
    starts: tuple[int, ...]
    dims: tuple[int, ...]

    def shape(self, extent: int, axis: int, packed: Sequence[int]) -> tuple[int, ...]:
        """Return its shape among the dimensions of the packed tensor, with so many rows along AXIS."""
        own = set(self.dims)
        return tuple(extent if d == axis else size if d in own else 1 for d, size in enumerate(packed))


@dataclass(frozen=True, slots=True)
class PackedCache:
    """An input and an output that are such a tensor.

    Attributes:
        past: the input.
        present: the output.
        axis: dimension along which it grows.
        regions: its parts, in the order in which they are computed.
    """

    past: Value
    present: Value
    axis: int
    regions: tuple[Region, ...]


def packed_cache(graph: Graph, present: Value) -> PackedCache | None:
    """Return the packed cache that an output is, None where it is none."""
    producers = graph.producers()
    views = {value: node for node in graph.nodes if _is_view(node) for value in node.results()}
    inputs = {value for _, value in graph.inputs}
    rank = len(present.type.static)
    found = list(_regions(present, (0,) * rank, tuple(range(rank)), producers, views, inputs))
    regions = [region for region in found if region is not None]
    if len(regions) < 2 or len(regions) < len(found):
        return None
    past, _ = _source(_past_of(regions[0]), views)
    axis = _axis_of(regions[0])
    shape = past.type.static
    if len(shape) != rank or not all(same(a, b) for d, (a, b) in enumerate(zip(shape, present.type.static, strict=True)) if d != axis):
        return None
    for region in regions:
        if _axis_of(region) != axis or not _is_in_place(region, past, views):
            return None
        if not same(_rows_of(region), _rows_of(regions[0])):
            return None
    order = {node: place for place, node in enumerate(graph.nodes)}
    if len({region.node for region in regions}) < len(regions):
        return None
    return PackedCache(past, present, axis, tuple(sorted(regions, key=lambda region: order[region.node])))


def _regions(
    value: Value,
    starts: tuple[int, ...],
    dims: tuple[int, ...],
    producers: Mapping[Value, Node],
    views: Mapping[Value, Node],
    inputs: set[Value],
) -> Iterator[Region | None]:
    """Yield the parts that VALUE is made of; None for one that is none."""
    node = producers.get(value)
    if node is None or not is_movement(node):
        yield None
        return
    operands = list(node.operands())
    if node.op == "Concat":
        axis = normal_axis(node.attrs.axis, len(value.type.static))  # type: ignore[attr-defined]
        if len(operands) == 2 and _source(operands[0], views)[0] in inputs:
            yield Region(node, starts, dims)
            return
        begin = starts[dims[axis]]
        for operand in operands:
            yield from _regions(operand, _with(starts, dims[axis], begin), dims, producers, views, inputs)
            begin = begin + operand.type.static[axis]
        return
    aligned = _aligned(value.type.static, operands[0].type.static)
    if aligned is None or value not in views or not _source(value, {value: node})[1].is_identity:
        yield None
        return
    inner = tuple(-1 if place < 0 else dims[place] for place in aligned)
    yield from _regions(operands[0], starts, inner, producers, views, inputs)


def _is_view(node: Node) -> bool:
    """Whether what a node gives is a part of its operand: by movement, or by taking what lies at a known place."""
    if node.op != "Gather":
        return is_transparent(node)
    _, indices = node.operands()
    return indices.constant is not None and indices.constant.size == 1


def _source(value: Value, views: Mapping[Value, Node]) -> tuple[Value, IndexMap]:
    """Return what VALUE is a part of, and the map from its coordinates to that value's row-major linear index."""
    index_map = identity(value.type.static)
    while value in views:
        node = views[value]
        if node.op != "Gather":
            value, inner = step_through(node, value)
        else:
            data, indices = node.operands()
            assert indices.constant is not None
            axis = normal_axis(node.attrs.axis, len(data.type.static))  # type: ignore[attr-defined]
            strides, place = row_major(data.type.static), int(indices.constant.item())
            own = [*strides[:axis], *(0 for _ in indices.type.static), *strides[axis + 1 :]]
            place = place + data.type.static[axis] if place < 0 else place
            inner = from_strides(value.type.static, own, place * strides[axis])
            value = data
        index_map = compose(index_map, inner)
    return value, index_map


def _with(starts: tuple[int, ...], place: int, value: int) -> tuple[int, ...]:
    return (*starts[:place], value, *starts[place + 1 :])


def _aligned(outer: Sequence[int], inner: Sequence[int]) -> list[int] | None:
    """Return which dimension of OUTER each of INNER is, -1 for none; they differ in dimensions of size 1. None where they do not only."""
    found: list[int] = []
    place = 0
    for size in inner:
        while place < len(outer) and not same(outer[place], size) and same(outer[place], 1):
            place += 1
        if place < len(outer) and same(outer[place], size):
            found.append(place)
            place += 1
        elif same(size, 1):
            found.append(-1)
        else:
            return None
    return found if all(same(size, 1) for size in outer[place:]) else None


def _axis_of(region: Region) -> int:
    """Return the dimension of the packed tensor along which rows are appended."""
    return region.dims[normal_axis(region.node.attrs.axis, len(region.dims))]  # type: ignore[attr-defined]


def _past_of(region: Region) -> Value:
    return next(region.node.operands())


def _rows_of(region: Region) -> int:
    _, rows = region.node.operands()
    return rows.type.static[normal_axis(region.node.attrs.axis, len(region.dims))]  # type: ignore[attr-defined]


def _is_in_place(region: Region, past: Value, views: Mapping[Value, Node]) -> bool:
    """Whether the rows so far lie in the input where they do in the output."""
    own = _past_of(region)
    source, index_map = _source(own, views)
    if source is not past:
        return False
    strides = row_major(past.type.static)
    offset = sum(start * stride for start, stride in zip(region.starts, strides, strict=True))
    wanted = from_strides(own.type.static, [0 if place < 0 else strides[place] for place in region.dims], offset)
    return agree(index_map, wanted)

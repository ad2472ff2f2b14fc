"""Let a cache that a model takes and gives out longer be one buffer: `past` and `present` of a decoder.

Requires: a decomposed graph without identities. Establishes: where an output is an input with rows appended, present = Concat(past, rows),
both are the buffer with room for the longest: what read `past` or `present` reads a slice of it, and only the rows are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import lower, same, upper
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.rewrite import prune, sort, substitute
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.cache_write import OPERATOR as CACHE_WRITE
from nautilus_cli.ops.checks import normal_axis
from nautilus_cli.ops.wide import reshape
from nautilus_cli.passes.caches.packed_caches import PackedCache, packed_cache


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePair:
    """An input and an output that are one buffer.

    Attributes:
        input, output: their numbers.
        axis: dimension along which the cache grows.
        length: rows that the input has.
        rows: rows that a run appends.
        capacity: rows that there is room for.
    """

    input: int
    output: int
    axis: int
    length: int
    rows: int
    capacity: int


def cache_pairs(graph: Graph) -> tuple[CachePair, ...]:
    """Return the pairs of a graph in which caches are one buffer."""
    producers = graph.producers()
    inputs = {value: number for number, (_, value) in enumerate(graph.inputs)}
    found = []
    for number, (_, value) in enumerate(graph.outputs):
        node = producers.get(value)
        if node is None or node.op != CACHE_WRITE.name:
            continue
        cache, rows = node.operands()
        axis, position = node.attrs.axis, node.attrs.position  # type: ignore[attr-defined]
        for write in written_before(producers, value):
            cache, _ = write.operands()
        count, room = rows.type.static[axis], cache.type.static[axis]
        found.append(CachePair(input=inputs[cache], output=number, axis=axis, length=position, rows=count, capacity=room))
    return tuple(found)


def written_before(producers: Mapping[Value, Node], cache: Value) -> Iterator[Node]:
    """Yield the writes into a cache ahead of the one that CACHE is behind, the last one first."""
    (before, _) = producers[cache].operands()
    while before in producers and producers[before].op == CACHE_WRITE.name:
        yield producers[before]
        (before, _) = producers[before].operands()


def alias_caches(graph: Graph) -> Graph:
    """Return GRAPH with every such pair as one buffer.

    Raises:
        ModelError: an input and an output that are a pair cannot be one buffer.
    """
    found = dict(_candidates(graph))
    renamed: dict[Value, Value] = {}
    replaced: dict[Node, tuple[Node, ...]] = {}
    inputs, outputs, first = list(graph.inputs), list(graph.outputs), []
    for number, (node, place) in found.items():
        if isinstance(node, PackedCache):
            cache, last, reading = _write_regions(node, renamed, replaced)
            first += reading
            inputs[number] = (inputs[number][0], cache)
            outputs[place] = (outputs[place][0], last)
            continue
        past, rows = node.operands()
        (present,) = node.results()
        axis = normal_axis(node.attrs.axis, len(past.type.static))  # type: ignore[attr-defined]
        length, total = past.type.static[axis], present.type.static[axis]
        shape = (*past.type.static[:axis], upper(total), *past.type.static[axis + 1 :])
        cache = Value(TensorType(past.type.dtype, shape), tensor=past.tensor)
        read, write = GraphBuilder(origin=node.origin), GraphBuilder(origin=node.origin)
        renamed[past] = _first_rows(read, cache, axis, length)
        written = write.node(CACHE_WRITE.name, (cache, rows), axis=axis, position=length)
        renamed[present] = _first_rows(write, written, axis, total)
        first += read.nodes
        replaced[node] = tuple(write.nodes)
        inputs[number] = (inputs[number][0], cache)
        outputs[place] = (outputs[place][0], written)
    changed = substitute(replace(graph, outputs=tuple(outputs)), values=renamed, nodes=replaced)
    return prune(replace(changed, inputs=tuple(inputs), nodes=sort((*first, *changed.nodes))))


def _write_regions(
    packed: PackedCache, renamed: dict[Value, Value], replaced: dict[Node, tuple[Node, ...]]
) -> tuple[Value, Value, list[Node]]:
    """Let each region of a packed cache be written by itself; return the cache before and behind all writes, and what reads the past."""
    past, present, axis = packed.past, packed.present, packed.axis
    length, total = past.type.static[axis], present.type.static[axis]
    cache = Value(TensorType(past.type.dtype, (*past.type.static[:axis], upper(total), *past.type.static[axis + 1 :])), tensor=past.tensor)
    read = GraphBuilder(origin=packed.regions[0].node.origin)
    renamed[past] = _first_rows(read, cache, axis, length)
    last = cache
    for region in packed.regions:
        write = GraphBuilder(origin=region.node.origin)
        _, rows = region.node.operands()
        (whole,) = region.node.results()
        placed = reshape(write, rows, region.shape(total - length, axis, past.type.static))
        last = write.node(CACHE_WRITE.name, (last, placed), axis=axis, position=length, starts=region.starts)
        extents = region.shape(total, axis, past.type.static)
        ends = [start + extent for start, extent in zip(region.starts, extents, strict=True)]
        bounds = (write.sizes(found) for found in (region.starts, ends, range(len(ends))))
        renamed[whole] = reshape(write, write.node("Slice", (last, *bounds)), whole.type.static)
        replaced[region.node] = tuple(write.nodes)
    behind = GraphBuilder(origin=packed.regions[-1].node.origin)
    renamed[present] = _first_rows(behind, last, axis, total)
    replaced[packed.regions[-1].node] += tuple(behind.nodes)
    return cache, last, read.nodes


def require_caches(graph: Graph) -> Graph:
    """Return GRAPH unchanged.

    Raises:
        ModelError: it has no such pair.
    """
    if not cache_pairs(graph):
        raise ModelError(
            "no output is an input with rows appended by Concat, as `present` is `past` in a decoder",
            where="--inplace-cache",
            hint="Compile without it, or export the model with its past as inputs.",
        )
    return graph


def _first_rows(builder: GraphBuilder, cache: Value, axis: int, count: int) -> Value:
    """Return the rows of a cache that are in use."""
    bounds = (builder.sizes([number]) for number in (0, count, axis))
    return builder.node("Slice", (cache, *bounds))


def _candidates(graph: Graph) -> Iterator[tuple[int, tuple[Node | PackedCache, int]]]:
    """Yield the number of each input that goes on in an output, with what appends to it and the number of that output.

    Raises:
        ModelError: an input and an output that are a pair by their names are none.
    """
    producers = graph.producers()
    inputs = {value: number for number, (_, value) in enumerate(graph.inputs)}
    names = {name: number for number, (name, _) in enumerate(graph.inputs)}
    taken: dict[int, str] = {}
    seen: set[Value] = set()
    for place, (name, value) in enumerate(graph.outputs):
        node = producers.get(value)
        if node is not None and node.op == CACHE_WRITE.name:
            continue
        past = None if node is None or node.op != "Concat" else node.inputs[0]
        number = inputs.get(past) if past is not None else None
        packed = packed_cache(graph, value) if number is None and value not in seen else None
        if packed is not None and inputs[packed.past] not in taken:
            taken[inputs[packed.past]] = name
            seen.add(value)
            yield inputs[packed.past], (packed, place)
            continue
        if node is None or number is None or value in seen:
            expected = names.get(name.replace("present", "past", 1))
            if "present" in name and expected is not None and value not in seen:
                where = f"output {quoted(name)}" if node is None else f"node {', '.join(map(quoted, node.origin))} ({node.op})"
                raise ModelError(
                    f"output {quoted(name)} is not input {quoted(graph.inputs[expected][0])} with rows appended by Concat, so that it"
                    " cannot lie in the same memory",
                    where=where,
                    hint="Compile without --inplace-cache.",
                )
            continue
        _check(node, graph.inputs[number][0], name, taken.get(number))
        taken[number] = name
        seen.add(value)
        yield number, (node, place)


def _check(node: Node, past: str, present: str, other: str | None) -> None:
    """Refuse an input and an output that cannot be one buffer."""
    operands = list(node.operands())
    axis = normal_axis(node.attrs.axis, len(operands[0].type.static))  # type: ignore[attr-defined]
    why = ""
    if other is not None:
        why = f"output {quoted(other)} goes on from the same input"
    elif len(operands) != 2:
        why = f"{len(operands)} tensors are joined; two can be: the past, and the rows after it"
    elif operands[1] is operands[0]:
        why = "it is joined to itself"
    elif same(operands[1].type.static[axis], 0) or lower(operands[1].type.static[axis]) < 0:
        why = f"it joins {operands[1].type.static[axis]} rows"
    if why:
        where = f"node {', '.join(map(quoted, node.origin))} (Concat)"
        raise ModelError(
            f"input {quoted(past)} and output {quoted(present)} cannot lie in the same memory: {why}",
            where=where,
            hint="Compile without --inplace-cache.",
        )

"""Rewriting a frozen graph: substitute values and nodes, order nodes, drop what nobody reads.

A node that changes is built anew, but the values it computes stay the same objects, so one replacement never cascades
through the rest of the graph: every function here is linear in the number of edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.counts import counts_of, counts_of_value
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.order import sources_first

NO_NODES: Mapping[Node, Sequence[Node]] = {}
NO_VALUES: Mapping[Value, Value] = {}


def substitute(graph: Graph, *, values: Mapping[Value, Value] = NO_VALUES, nodes: Mapping[Node, Sequence[Node]] = NO_NODES) -> Graph:
    """Return GRAPH with each node of NODES replaced by a sequence of nodes, and each value of VALUES read as another.

    Substitutes are followed to their end (a to b, b to c reads a as c), in the new nodes too. New nodes stand where the old one
    stood; where that breaks the order (a value moved earlier or later), the result is sorted. Nothing is pruned.

    Raises:
        InternalError: the substitutes of a value lead back to it, or the result is cyclic.
    """
    ends = _ends(values)
    kept: list[Node] = []
    for old in graph.nodes:
        for node in nodes.get(old, (old,)):
            kept.append(_reading(node, ends))
    outputs, counts = (tuple((name, ends.get(value, value)) for name, value in ports) for ports in (graph.outputs, graph.counts))
    return replace(graph, nodes=sort(kept, counts), outputs=outputs, counts=counts)


def prune(graph: Graph) -> Graph:
    """Return GRAPH without nodes whose results nobody reads; last results that nobody reads, of a node that stays, become None.

    A count is read by whatever has it in a shape.
    """
    holders = dict(graph.counts)
    live = {value for _, value in graph.outputs}
    live.update(holders[s.name] for value in tuple(live) for s in counts_of_value(value) if s.name in holders)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        read = [number for number, value in enumerate(node.outputs) if value in live]
        if not read:
            continue
        live.update(node.operands())
        if holders:
            live.update(holders[s.name] for s in counts_of(node) if s.name in holders)  # not those of a graph in it, or around
        # Only the last ones: an unread result between others (of Split) still decides where its neighbours begin.
        outputs = tuple(value if number <= read[-1] else None for number, value in enumerate(node.outputs))
        kept.append(node if outputs == node.outputs else replace(node, outputs=outputs))
    kept.reverse()
    counts = tuple((name, value) for name, value in graph.counts if value in live)
    return graph if tuple(kept) == graph.nodes and counts == graph.counts else replace(graph, nodes=tuple(kept), counts=counts)


def retarget(nodes: Iterable[Node], results: Mapping[Value, Value]) -> tuple[Node, ...]:
    """Return NODES computing, in place of each key of RESULTS, the value it maps to.

    So a replacement keeps the values that it replaces, and with them the tensors they equal: nothing else needs to change.
    """
    return tuple(
        replace(
            node,
            inputs=tuple(None if v is None else results.get(v, v) for v in node.inputs),
            outputs=tuple(None if v is None else results.get(v, v) for v in node.outputs),
        )
        if any(v in results for v in (*node.operands(), *node.results()))
        else node
        for node in nodes
    )


def sort(nodes: Iterable[Node], counts: Sequence[tuple[str, Value]] = ()) -> tuple[Node, ...]:
    """Return NODES in topological order, as close to the given one as that allows (unchanged where it is one already).

    What has a count of COUNTS (name and value) in a shape comes behind what computes it.

    Raises:
        InternalError: they are cyclic.
    """
    nodes = tuple(nodes)
    producer = {value: number for number, node in enumerate(nodes) for value in node.results()}
    sources = [{producer[v] for v in node.operands() if v in producer} for node in nodes]
    if counts:
        held = {name: producer[value] for name, value in counts if value in producer}
        for number, node in enumerate(nodes):
            sources[number] |= {held[s.name] for s in counts_of(node) if s.name in held} - {number}
    if all(source < number for number, needed in enumerate(sources) for source in needed):
        return nodes
    order, stuck = sources_first(sources)
    if stuck:
        first = nodes[min(stuck)]
        raise InternalError(f"the graph is cyclic at {first.op}", where=", ".join(first.origin) or None)
    return tuple(nodes[number] for number in order)


def _reading(node: Node, ends: Mapping[Value, Value]) -> Node:
    """Return NODE with its inputs substituted; NODE itself where none is."""
    if not any(v in ends for v in node.operands()):
        return node
    return replace(node, inputs=tuple(None if v is None else ends.get(v, v) for v in node.inputs))


def _ends(values: Mapping[Value, Value]) -> dict[Value, Value]:
    """Follow every chain of substitutes to its end, each link once."""
    ends: dict[Value, Value] = {}
    for start in values:
        chain = []
        value = start
        while value in values and value not in ends:
            chain.append(value)
            ends[value] = value  # marks the chain under way: meeting it again is a cycle
            value = values[value]
        if value in chain:
            raise InternalError("the substitutes of a value lead back to it", where=value.tensor)
        ends.update(dict.fromkeys(chain, ends.get(value, value)))
    return ends

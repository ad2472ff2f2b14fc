"""The inputs and outputs of a library."""

from __future__ import annotations

from dataclasses import replace

from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.types import UCS4
from nautilus_cli.lowering.plan import Port, Shared
from nautilus_cli.passes.caches.alias_caches import cache_pairs


def ports(graph: Graph) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """Return the inputs and the outputs of the library; a cache that is one buffer is an input and an output in the same memory."""
    inputs, outputs = ([_port(name, v, graph.texts) for name, v in found] for found in (graph.inputs, graph.outputs))
    for pair in cache_pairs(graph):
        for side, number, other, extent in (
            (inputs, pair.input, pair.output, pair.length),
            (outputs, pair.output, pair.input, pair.length + pair.rows),
        ):
            port = side[number]
            shape = (*port.shape[: pair.axis], extent, *port.shape[pair.axis + 1 :])
            side[number] = replace(port, shape=shape, shared=Shared(port=other, axis=pair.axis, capacity=pair.capacity))
    return tuple(inputs), tuple(outputs)


def _port(name: str, value: Value, texts: frozenset[str]) -> Port:
    return Port(name=name, dtype=UCS4 if name in texts else value.type.dtype, shape=value.type.static)

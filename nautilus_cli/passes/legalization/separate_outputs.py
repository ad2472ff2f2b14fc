"""Give every graph output a value of its own that some kernel stores.

Requires: nothing. Establishes: graph outputs are distinct, and none is a graph input or a constant.
"""

from __future__ import annotations

from dataclasses import replace

from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.passes.legalization.copies import copy_node


def separate_outputs(graph: Graph) -> Graph:
    """Put a copy before each output that is an input, a constant, or another output too."""
    computed = set(graph.producers())
    copies = []
    taken: set[Value] = {value for _, value in graph.counts}  # which kernels read from a place of their own
    outputs = []
    for name, value in graph.outputs:
        if value not in computed or value in taken:
            copies.append(copy_node(value))
            (value,) = copies[-1].results()
        taken.add(value)
        outputs.append((name, value))
    return replace(graph, nodes=(*graph.nodes, *copies), outputs=tuple(outputs)) if copies else graph

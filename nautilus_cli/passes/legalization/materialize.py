"""Store operands that an anchor, a branch or a loop must find in memory.

Requires: a decomposed graph without identities. Establishes: an anchor's operand outside its prologue comes straight from memory.
"""

from __future__ import annotations

from dataclasses import replace

from nautilus_cli.ir.graph import Graph, Node
from nautilus_cli.ops.movement import is_movement
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Anchor, Control
from nautilus_cli.passes.legalization.copies import copy_node


def materialize(graph: Graph) -> Graph:
    """Put a copy between movement and an anchor that cannot look through it."""
    producers = graph.producers()
    nodes: list[Node] = []
    for node in graph.nodes:
        traits = operators()[node.op].lowering
        if isinstance(traits, Anchor | Control):
            prologue = traits.prologue if isinstance(traits, Anchor) else ()
            inputs = list(node.inputs)
            for place, value in enumerate(node.inputs):
                if value is None or place in prologue:
                    continue
                is_size = isinstance(traits, Control) and value.contents is not None  # an argument of kernels, and nowhere in memory
                if not is_size and not (value in producers and is_movement(producers[value])):
                    continue
                nodes.append(copy_node(value, node.origin if is_size else producers[value].origin))
                (inputs[place],) = nodes[-1].results()
            node = replace(node, inputs=tuple(inputs)) if tuple(inputs) != node.inputs else node
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes))

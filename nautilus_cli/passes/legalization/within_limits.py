"""Split what would make a kernel without bounds: nodes of very many operands, and very long chains of movement.

Requires: a decomposed graph without identities. Establishes: the limits below. (The number of nodes in a kernel is for fusion to limit.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.rewrite import retarget, substitute
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.movement import is_transparent
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Pointwise
from nautilus_cli.passes.legalization.copies import copy_node

MOST_OPERANDS = 32
"""Of one node. A kernel takes a pointer for each, and compilers' time grows faster than their number: of each element, the kernel of a
Concat asks every operand whether the element is its own. g++ 12 takes a second for 32 of them. Dense blocks of real models join up to 48,
and then are copied twice."""

MOST_MOVES = 32
"""Transposes, reshapes and the like in a row that a load looks through; real models chain six. Their index arithmetic adds up."""


def within_limits(graph: Graph) -> Graph:
    """Return GRAPH with wide nodes as trees or chains, and with copies in the middle of endless movement."""
    return _break_movement(_split_wide(graph))


def _split_wide(graph: Graph) -> Graph:
    """Write a wide Concat as a tree, and a wide Sum, Max or Min as a chain, which keeps the order of its additions."""
    replaced: dict[Node, tuple[Node, ...]] = {}
    for node in graph.nodes:
        if len(node.inputs) <= MOST_OPERANDS:
            continue
        emit = GraphBuilder(origin=node.origin)
        lowering = operators()[node.op].lowering
        if node.op == "Concat":
            result = _tree(node, emit)
        elif isinstance(lowering, Pointwise) and lowering.fold:
            result = _chain(node, emit)
        else:
            continue
        replaced[node] = retarget(emit.nodes, {result: next(node.results())})
    return substitute(graph, nodes=replaced) if replaced else graph


def _tree(node: Node, emit: GraphBuilder) -> Value:
    """Join groups of operands until one group is left."""
    values = list(node.operands())
    while len(values) > MOST_OPERANDS:
        groups = [values[i : i + MOST_OPERANDS] for i in range(0, len(values), MOST_OPERANDS)]
        values = [_joined(node, group, emit) for group in groups]
    return _joined(node, values, emit)


def _joined(node: Node, values: Sequence[Value], emit: GraphBuilder) -> Value:
    """Append a Concat; it is not folded: sizes that are joined to be stored stay what a kernel stores."""
    (type_,) = emit.infer(operators()[node.op], node.attrs, tuple(values), 1)
    result = Value(type_)
    emit.nodes.append(replace(node, inputs=tuple(values), outputs=(result,)))
    return result


def _chain(node: Node, emit: GraphBuilder) -> Value:
    """Apply the operator to the first operands, then to that result and the next ones."""
    first, *rest = node.operands()
    step = MOST_OPERANDS - 1
    for i in range(0, len(rest), step):
        first = emit.node(node.op, [first, *rest[i : i + step]], node.attrs)
    return first


def _break_movement(graph: Graph) -> Graph:
    """Store what has moved often enough, and go on from there."""
    moves: dict[Value, int] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        if is_transparent(node):
            depth = max((moves.get(v, 0) for v in node.operands()), default=0)
            if depth == MOST_MOVES:
                copies = {v: copy_node(v, node.origin) for v in dict.fromkeys(node.operands()) if moves.get(v, 0) == depth}
                nodes += copies.values()
                copied = {v: next(copy.results()) for v, copy in copies.items()}
                node = replace(node, inputs=tuple(None if v is None else copied.get(v, v) for v in node.inputs))
                depth = 0
            moves.update(dict.fromkeys(node.results(), depth + 1))
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes)) if len(nodes) > len(graph.nodes) else graph

"""Two products of the same rows by constants, whose results meet element by element, become one node: gated units, as SwiGLU.

A·B1 and A·B2 as one kernel read A once, and neither result is stored: the pointwise work where they meet follows both sums.

Requires: a decomposed graph. Establishes: no two such products are apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nautilus_cli.ir.binding import is_known
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.rewrite import substitute
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.matmul import OPERATOR as MATMUL
from nautilus_cli.ops.matmul_pair import OPERATOR as MATMUL_PAIR
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Cast, Pointwise
from nautilus_cli.passes.dataflow import Dataflow
from nautilus_cli.passes.fusion.clusters import MOST_NODES


def pair_products(graph: Graph) -> Graph:
    """Return GRAPH with pairs of products as one node each, the earliest of a product's partners first."""
    flow = Dataflow(graph)
    replaced: dict[Node, tuple[Node, ...]] = {}
    for alike in _of_the_same_rows(flow):
        reached = {node: _reached(flow, node) for node in alike}
        for number, first in enumerate(alike):
            if first in replaced:
                continue
            second = next((n for n in alike[number + 1 :] if n not in replaced and reached[first] & reached[n]), None)
            if second is not None:
                replaced[first], replaced[second] = (_pair(first, second),), ()
    return substitute(graph, nodes=replaced) if replaced else graph


def is_by_constant(flow: Dataflow, node: Node) -> bool:
    """Whether NODE multiplies rows that a run gives by one constant matrix of floats, all of which is known before."""
    if node.op != MATMUL.name:
        return False
    a, b = node.operands()
    shape = b.type.static
    source, to_source = flow.source(b)
    is_constant = source.constant is not None and is_known(to_source) and flow.source(a)[0].constant is None
    return is_constant and a.type.dtype in FLOATS and len(a.type.static) > 1 and len(shape) > 1 and all(same(d, 1) for d in shape[:-2])


def element_by_element(flow: Dataflow, starts: Iterable[Node], elements: int) -> set[Node]:
    """Return those of STARTS, and of what reads their results at the same place, that are pointwise and of as many elements.

    Args:
        flow: the graph.
        starts: nodes to begin with.
        elements: of every result.
    """
    found: dict[Node, None] = {}
    queue = list(starts)
    while queue and len(found) < MOST_NODES:
        node = queue.pop(0)
        if node in found or not isinstance(operators()[node.op].lowering, Pointwise | Cast):
            continue
        (result,) = node.results()
        if same(result.type.elements, elements):
            found[node] = None
            queue += _in_place(flow, result)
    return set(found)


def _in_place(flow: Dataflow, value: Value) -> Iterator[Node]:
    """Yield the nodes that read every element of VALUE at its own place."""
    for reader in flow.readers.get(value, ()):
        if all(flow.is_whole(read) for read in reader.operands() if flow.source(read)[0] is value):
            yield reader


def _of_the_same_rows(flow: Dataflow) -> Iterator[list[Node]]:
    """Yield products by constants of one shape that have their left operand in common, where there are several."""
    found: dict[object, list[Node]] = {}
    for node in flow.computing:
        if is_by_constant(flow, node):
            a, b = node.operands()
            found.setdefault((*flow.source(a), a.type, b.type), []).append(node)
    return (nodes for nodes in found.values() if len(nodes) > 1)


def _reached(flow: Dataflow, product: Node) -> set[Node]:
    """Return the pointwise nodes that work on a product's results."""
    (result,) = product.results()
    return element_by_element(flow, _in_place(flow, result), result.type.elements)


def _pair(first: Node, second: Node) -> Node:
    """Return one node that computes the results of both."""
    emit = GraphBuilder(origin=tuple(dict.fromkeys((*first.origin, *second.origin))))
    emit.results(MATMUL_PAIR.name, (*first.operands(), second.inputs[1]), 2)
    (node,) = emit.nodes
    return Node(node.op, node.inputs, (*first.results(), *second.results()), node.attrs, node.origin)

"""Two products of the same rows by constants, whose results meet element by element, become one node: gated units, as SwiGLU.

A·B1 and A·B2 as one kernel read A once, and neither result is stored: the pointwise work where they meet follows both sums.

Requires: a decomposed graph. Establishes: no two such products are apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.rewrite import substitute
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.matmul import OPERATOR as MATMUL
from nautilus_cli.ops.matmul_pair import OPERATOR as MATMUL_PAIR
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Cast, Pointwise
from nautilus_cli.passes.clusters import MOST_NODES, Dataflow


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


def _of_the_same_rows(flow: Dataflow) -> Iterator[list[Node]]:
    """Yield products by constants of one shape that have their left operand in common, where there are several."""
    found: dict[object, list[Node]] = {}
    for node in flow.computing:
        if node.op != MATMUL.name:
            continue
        a, b = node.operands()
        shape = b.type.static
        is_constant = flow.source(b)[0].constant is not None and flow.source(a)[0].constant is None
        if is_constant and a.type.dtype in FLOATS and len(a.type.static) > 1 and len(shape) > 1 and all(same(d, 1) for d in shape[:-2]):
            found.setdefault((*flow.source(a), a.type, b.type), []).append(node)
    return (nodes for nodes in found.values() if len(nodes) > 1)


def _reached(flow: Dataflow, product: Node) -> set[Node]:
    """Return the pointwise nodes that work on a product's results element by element, as many as one kernel takes."""
    elements = next(product.results()).type.elements
    found: dict[Node, None] = {}
    queue = [product]
    while queue and len(found) < MOST_NODES:
        node = queue.pop(0)
        for result in node.results():
            for reader in flow.readers.get(result, ()):
                if reader not in found and _is_element_by_element(flow, reader, result, elements):
                    found[reader] = None
                    queue.append(reader)
    return set(found)


def _is_element_by_element(flow: Dataflow, node: Node, value: Value, elements: int) -> bool:
    """Whether NODE is pointwise, of as many elements, and reads each of VALUE at its own place."""
    if not isinstance(operators()[node.op].lowering, Pointwise | Cast) or not same(next(node.results()).type.elements, elements):
        return False
    return all(flow.is_whole(read) for read in node.operands() if flow.source(read)[0] is value)


def _pair(first: Node, second: Node) -> Node:
    """Return one node that computes the results of both."""
    emit = GraphBuilder(origin=tuple(dict.fromkeys((*first.origin, *second.origin))))
    emit.results(MATMUL_PAIR.name, (*first.operands(), second.inputs[1]), 2)
    (node,) = emit.nodes
    return Node(node.op, node.inputs, (*first.results(), *second.results()), node.attrs, node.origin)

"""A product by a constant whose left and right halves meet element by element becomes two products: a gated unit of one wide projection.

Exporters write such a unit as one MatMul, a bias, and a Split or two Slices. As two products of the same rows, `pair_products` makes one
kernel of it; as one, its result is stored and read again.

Requires: a decomposed graph. Establishes: no such product is whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.ir.dims import is_symbolic, same
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.index_map import sliced
from nautilus_cli.ir.rewrite import prune, retarget, substitute
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.split import SplitAttrs
from nautilus_cli.passes.dataflow import Dataflow, leaves
from nautilus_cli.passes.products.pair_products import element_by_element, is_by_constant


@dataclass(frozen=True, slots=True)
class _Halved:
    """A product that can be two.

    Attributes:
        product: the node.
        bias: what adds a constant to it, if anything does.
        halves: the values that view its left half, and those that view its right half.
    """

    product: Node
    bias: Node | None
    halves: tuple[tuple[Value, ...], tuple[Value, ...]]


def halve_products(graph: Graph) -> Graph:
    """Return GRAPH with such products as two each."""
    flow = Dataflow(graph)
    renamed: dict[Value, Value] = {}
    replaced: dict[Node, tuple[Node, ...]] = {}
    for node in flow.computing:
        found = _halved(flow, node) if is_by_constant(flow, node) else None
        if found is None:
            continue
        nodes, results = _two_products(found)
        for result, (value, *others) in zip(results, found.halves, strict=True):
            nodes = retarget(nodes, {result: value})
            renamed.update(dict.fromkeys(others, value))
        replaced.update(dict.fromkeys((flow.transparent[value] for half in found.halves for value in half), ()))
        replaced[node] = nodes
        if found.bias is not None:
            replaced[found.bias] = ()
    return prune(substitute(graph, values=renamed, nodes=replaced)) if replaced else graph


def _halved(flow: Dataflow, product: Node) -> _Halved | None:
    """Return how a product is read, with a bias or without, where that is as two halves that meet."""
    (result,) = product.results()
    bias, kind = None, result.type
    readers = flow.readers.get(result, [])
    if len(readers) == 1 and readers[0].op == "Add" and result in readers[0].operands() and not leaves(flow, result):
        (bias,) = readers
        (result,) = bias.results()
        if result.type != kind or not any(flow.source(v)[0].constant is not None for v in bias.operands()):
            return None
    *rows, columns = kind.static
    if is_symbolic(columns) or columns % 2:
        return None
    shape = (*rows, columns // 2)
    maps = [sliced(kind.static, (*(0 for _ in rows), first), (1,) * len(shape), shape) for first in (0, columns // 2)]
    viewed = [v for node in flow.readers.get(result, []) for v in node.operands() if flow.source(v)[0] is result]
    halves: tuple[dict[Value, None], dict[Value, None]] = ({}, {})
    for value in (*viewed, *(v for v in flow.graph.output_values() if flow.source(v)[0] is result)):
        number = maps.index(flow.source(value)[1]) if flow.source(value)[1] in maps and same(value.type.static, shape) else None
        if number is None:
            return None
        halves[number][value] = None
    meeting = [_meeting(flow, result, set(half)) for half in halves]
    return _Halved(product, bias, (tuple(halves[0]), tuple(halves[1]))) if meeting[0] & meeting[1] else None


def _meeting(flow: Dataflow, result: Value, half: set[Value]) -> set[Node]:
    """Return the pointwise nodes that work on a half of RESULT element by element."""
    readers = [node for node in flow.readers.get(result, []) if half.intersection(node.operands())]
    return element_by_element(flow, readers, next(iter(half)).type.elements) if readers else set()


def _two_products(found: _Halved) -> tuple[tuple[Node, ...], tuple[Value, ...]]:
    """Return nodes that compute both halves, and their results."""
    origin = (*found.product.origin, *(found.bias.origin if found.bias is not None else ()))
    emit = GraphBuilder(origin=tuple(dict.fromkeys(origin)), fold_bytes=0)

    def parts(value: Value) -> tuple[Value, ...]:
        """Return both halves of a value's columns; a value of one column is its halves."""
        columns = value.type.static[-1] if value.type.static else 1
        if same(columns, 1):
            return value, value
        return emit.results("Split", (value, emit.sizes((columns // 2,) * 2)), 2, SplitAttrs(axis=-1))

    a, b = found.product.operands()
    results = tuple(emit.node(found.product.op, (a, half)) for half in parts(b))
    if found.bias is not None:
        (whole,) = found.product.results()
        (added,) = (v for v in found.bias.operands() if v is not whole)
        results = tuple(emit.node("Add", both) for both in zip(results, parts(added), strict=True))
    return tuple(emit.nodes), results

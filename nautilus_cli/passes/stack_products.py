"""Products of the same rows by constants become one: the query, key and value projections of attention.

Their constants lie side by side in one, so do their biases, and each result is a view of the one result's columns: fewer and larger
kernels, that read the rows once. A product that pointwise work follows stays by itself: its kernel does that work, which a view has not.

Requires: a decomposed graph. Establishes: no two such products are apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.dims import is_symbolic, same
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.rewrite import prune, retarget, substitute
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Anchor, Cast, Control, Pointwise
from nautilus_cli.passes.clusters import Dataflow
from nautilus_cli.passes.pair_products import is_by_constant


@dataclass(frozen=True, slots=True)
class _Projection:
    """A product, and what adds a constant to it, if anything does."""

    product: Node
    bias: Node | None

    @property
    def result(self) -> Value:
        """What comes of both."""
        return next((self.bias or self.product).results())


def stack_products(graph: Graph) -> Graph:
    """Return GRAPH with such products as one."""
    flow = Dataflow(graph)
    replaced: dict[Node, tuple[Node, ...]] = {}
    for alike in _of_the_same_rows(flow):
        replaced.update(dict.fromkeys((node for one in alike for node in (one.product, one.bias) if node is not None), ()))
        replaced[alike[0].product] = _stacked(flow, alike)
    return prune(substitute(graph, nodes=replaced)) if replaced else graph


def _of_the_same_rows(flow: Dataflow) -> Iterator[list[_Projection]]:
    """Yield projections that can be one, several at a time."""
    found: dict[object, list[_Projection]] = {}
    for node in flow.computing:
        if is_by_constant(flow, node):
            one = _projection(flow, node)
            a, b = node.operands()
            if not is_symbolic(b.type.elements) and _is_only_viewed(flow, one.result):
                found.setdefault((*flow.source(a), a.type), []).append(one)
    return (alike for alike in found.values() if len(alike) > 1)


def _projection(flow: Dataflow, product: Node) -> _Projection:
    """Return a product with the addition of one number a column that alone reads it, if there is one."""
    (result,) = product.results()
    readers = flow.readers.get(result, [])
    if len(readers) != 1 or readers[0].op != "Add" or _is_output(flow, result):
        return _Projection(product, None)
    (add,) = readers
    others = [v for v in add.operands() if v is not result]
    if len(others) != 1 or others[0].constant is None or next(add.results()).type != result.type:
        return _Projection(product, None)
    shape = others[0].type.static
    is_of_columns = all(same(d, 1) for d in shape[:-1]) and (not shape or same(shape[-1], 1) or same(shape[-1], result.type.static[-1]))
    return _Projection(product, add if is_of_columns else None)


def _is_output(flow: Dataflow, value: Value) -> bool:
    return any(flow.source(v)[0] is value for v in flow.graph.output_values())


def _is_only_viewed(flow: Dataflow, result: Value) -> bool:
    """Whether no kernel but that of a product would write RESULT as it is, work on it, or must find it in memory."""
    if any(flow.source(v)[0] is result and flow.is_whole(v) for v in flow.graph.output_values()):
        return False
    for reader in flow.readers.get(result, ()):
        lowering = operators()[reader.op].lowering
        for place, value in enumerate(reader.inputs):
            if value is None or flow.source(value)[0] is not result:
                continue
            if isinstance(lowering, Control) or (isinstance(lowering, Anchor) and place not in lowering.prologue):
                return False
            follows = same(next(reader.results()).type.elements, result.type.elements) and flow.is_whole(value)
            if isinstance(lowering, Pointwise | Cast) and follows:
                return False
    return True


def _stacked(flow: Dataflow, alike: Sequence[_Projection]) -> tuple[Node, ...]:
    """Return nodes that compute the results of all."""
    nodes = [node for one in alike for node in (one.product, one.bias) if node is not None]
    emit = GraphBuilder(origin=tuple(dict.fromkeys(name for node in nodes for name in node.origin)), fold_bytes=0)
    a = next(alike[0].product.operands())
    widths = [one.result.type.static[-1] for one in alike]
    result = emit.node("MatMul", (a, emit.constant(np.concatenate([_matrix(flow, one.product) for one in alike], axis=-1))))
    if any(one.bias is not None for one in alike):
        biases = [_bias(one, width) for one, width in zip(alike, widths, strict=True)]
        result = emit.node("Add", (result, emit.constant(np.concatenate(biases))))
    parts = emit.results("Split", (result, emit.sizes(widths)), len(alike), operators()["Split"].attributes(axis=-1))
    return retarget(emit.nodes, {part: one.result for part, one in zip(parts, alike, strict=True)})


def _matrix(flow: Dataflow, product: Node) -> np.ndarray:
    """Return the right operand, [k, n]."""
    b = tuple(product.operands())[1]
    source, index_map = flow.source(b)
    assert source.constant is not None
    offsets, _ = index_map.offsets()
    whole = source.constant if source is b else np.ascontiguousarray(source.constant).reshape(-1)[offsets]
    return whole.reshape(b.type.static[-2:])


def _bias(one: _Projection, width: int) -> np.ndarray:
    """Return what is added to each column: the zero that leaves every number as it is, where nothing is."""
    dtype = one.result.type.dtype.numpy
    if one.bias is None:
        return np.full(width, -0.0, dtype)
    (product,) = one.product.results()
    (constant,) = (v.constant for v in one.bias.operands() if v is not product)
    assert constant is not None
    return np.broadcast_to(constant.reshape(-1), (width,))

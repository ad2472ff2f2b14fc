"""Choose the physical order of every tensor that a kernel stores: channels-last around convolution and pooling, transposed after products.

Requires: a decomposed graph. Establishes: Value.order on computed values. Shapes stay in ONNX order, so no meaning changes.
Where two orders meet, the load's index map crosses over; no transpose is inserted.
"""

from __future__ import annotations

from dataclasses import replace

from nautilus_cli.ir.control import bodies
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ops.movement import is_movement
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Anchor, Control


def layout(graph: Graph) -> Graph:
    """Give channels-last to results of convolution and pooling, and to pointwise results of the same shape as such an operand.

    The result of a product that a transpose alone reads lies as the transpose does, where that keeps the last dimension: the product writes
    rows to other places at no cost, and what reads them, such as the product behind the heads of an attention, finds them dense.
    """
    readers = graph.consumers()
    leaving = set(graph.output_values())
    leaving.update(value for node in graph.nodes if bodies(node.attrs) for value in node.operands())  # which graphs of their own read
    renamed: dict[Value, Value] = {}
    nodes = []
    for node in graph.nodes:
        inputs = tuple(None if v is None else renamed.get(v, v) for v in node.inputs)
        outputs = []
        for value in node.outputs:
            order = None if value is None or value in leaving else _order(node, inputs, value) or _transposed(node, readers.get(value, []))
            if value is not None and order is not None:
                renamed[value] = replace(value, order=order)
            outputs.append(None if value is None else renamed.get(value, value))
        nodes.append(replace(node, inputs=inputs, outputs=tuple(outputs)))
    return replace(graph, nodes=tuple(nodes))


def _transposed(node: Node, readers: list[Node]) -> tuple[int, ...] | None:
    """Return the order in which the result of a product lies that only a transpose reads."""
    lowering = operators()[node.op].lowering
    if not isinstance(lowering, Anchor) or lowering.family != "gemm" or len(readers) != 1 or readers[0].op != "Transpose":
        return None
    perm: tuple[int, ...] = readers[0].attrs.perm  # type: ignore[attr-defined]
    return perm if perm and perm[-1] == len(perm) - 1 and perm != tuple(range(len(perm))) else None


def _order(node: Node, inputs: tuple[Value | None, ...], value: Value) -> tuple[int, ...] | None:
    lowering = operators()[node.op].lowering
    rank = len(value.type.shape)
    if isinstance(lowering, Anchor):
        if lowering.keeps_order and inputs[0] is not None:
            return inputs[0].order
        return (0, *range(2, rank), 1) if lowering.slides_windows else None
    if is_movement(node) or isinstance(lowering, Control):
        return None
    return next((v.order for v in inputs if v is not None and v.order is not None and same(v.type.shape, value.type.shape)), None)

"""Bodies that are not unfolded: graphs that a node holds, which the run walks through as often as it needs.

Such a graph reads what is around it through inputs of its own, so it can be looked at, fused and checked by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from nautilus_cli.frontend.constructs.base import Occurrence
from nautilus_cli.ir.control import result_count
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.rewrite import NO_VALUES, prune, substitute
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.copy import OPERATOR as COPY
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import NoAttrs, Operator
from nautilus_cli.ops.stored_sizes import with_stored_sizes

Named = Sequence[tuple[str, Value]]


def closed(builder: GraphBuilder, inputs: Named, outputs: Named, *, known: Mapping[Value, Value] = NO_VALUES) -> tuple[Graph, list[Value]]:
    """Return a graph that reads nothing but its inputs, and what its further inputs stand for.

    Args:
        builder: what has its nodes.
        inputs: of the graph.
        outputs: of the graph; they may lie outside.
        known: what values are that turned out to be others.
    """
    whole = Graph(tuple(inputs), tuple(outputs), tuple(builder.nodes), counts=builder.counts())
    graph = with_stored_sizes(prune(substitute(whole, values=known)))
    inside = {value for _, value in inputs} | {value for node in graph.nodes for value in node.results()}
    read = [value for node in graph.nodes for value in node.operands()] + [value for _, value in graph.outputs]
    outside = [v for v in dict.fromkeys(read) if v not in inside and v.constant is None and v.contents is None]
    inner = {value: Value(value.type) for value in outside}
    further = tuple((f"outside {number}", value) for number, value in enumerate(inner.values()))
    return substitute(replace(graph, inputs=(*inputs, *further)), values=inner), outside


def held(call: Occurrence, op: str, inputs: Sequence[Value | None], attrs: object, names: Sequence[str | None]) -> list[Value]:
    """Append a node that holds graphs and return its results; it is not folded, however constant its operands are.

    Args:
        call: the ONNX node.
        op: the operator.
        inputs: its operands.
        attrs: its attributes.
        names: what its results are called in the main graph, None where they are no tensors there.
    """
    builder = call.builder
    operands = tuple(None if value is None else _in_memory(call, value) for value in inputs)
    types = builder.infer(operators()[op], attrs, operands, result_count(attrs))
    results = [Value(type_, tensor=name) for type_, name in zip(types, names, strict=True)]
    builder.nodes.append(Node(op, operands, tuple(results), attrs, builder.origin))
    return results


def _in_memory(call: Occurrence, value: Value) -> Value:
    """Return an operand as a tensor: a size that only the run knows is none by itself."""
    if value.contents is None:
        return value
    return own(call, COPY, [value], NoAttrs())


def own(call: Occurrence, operator: Operator, inputs: Sequence[Value], attrs: object, tensor: str | None = None) -> Value:
    """Append a node of an operator that no model can ask for, which the builder of an import does not know, and return its result."""
    builder = call.builder
    (type_,) = builder.infer(operator, attrs, tuple(inputs), 1)
    result = Value(type_, tensor=tensor)
    builder.nodes.append(Node(operator.name, tuple(inputs), (result,), attrs, builder.origin))
    return result


def given_by_a_kernel(call: Occurrence, number: Value) -> Value:
    """Return a number from 0 on that a loop or branch leaves as the result of a kernel behind it, from where on sizes may depend on it.

    It is no copy: that would be taken away again.
    """
    return call.builder.node("Max", [number, call.constant(np.zeros((), np.int64))])

"""Checks of a model's structure that need no operator: names, single assignment, order."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.names import node_label
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.order import sources_first


def check_names(model: ModelProto) -> None:
    """Check that every name is text: protobuf hands out bytes where one is not UTF-8; and that C can hold those of inputs and outputs.

    Raises:
        ModelError: one is not, or cannot be held.
    """
    graphs = [model.graph]
    functions: Iterable[FunctionProto] = model.functions
    bodies: list[Sequence[NodeProto]] = [model.graph.node, *(f.node for f in functions)]
    for function in functions:
        _check_text((function.name, function.domain, function.overload, *function.input, *function.output, *function.attribute), "function")
        _check_text((o.domain for o in function.opset_import), "function")
    _check_text((model.producer_name, model.producer_version, *(o.domain for o in model.opset_import)), "model")
    while graphs or bodies:
        while graphs:
            graph = graphs.pop()
            for value in (*graph.input, *graph.output):
                _check_text((value.name, *(d.dim_param for d in value.type.tensor_type.shape.dim)), "graph")
            _check_text((t.name for t in graph.initializer), "graph")
        for number, node in enumerate(bodies.pop()):
            _check_text((node.name, node.op_type, node.domain, node.overload, *node.input, *node.output), f"node #{number}")
            for attribute in node.attribute:
                _check_text((attribute.name, attribute.ref_attr_name), f"node #{number}")
                if attribute.type == AttributeProto.GRAPH:
                    graphs.append(attribute.g)
                    bodies.append(attribute.g.node)
    for role, values in (("input", model.graph.input), ("output", model.graph.output)):
        for value in values:
            if "\0" in value.name:
                raise ModelError("its name holds a NUL character, at which C ends a name", where=f"{role} {quoted(value.name)}")


def ordered(nodes: Sequence[NodeProto], outer: Container[str]) -> list[tuple[int, NodeProto]]:
    """Return (index, node) in topological order, as close to the given one as that allows.

    Args:
        nodes: nodes of one graph or function body.
        outer: names that are defined outside them: inputs, initialisers, and what an enclosing graph defines.

    Raises:
        ModelError: a name is produced twice or by nobody, or the nodes form a cycle.
    """
    producer: dict[str, int] = {}
    for number, node in enumerate(nodes):
        for name in node.output:
            if name and (name in producer or name in outer):
                other = (
                    f"node {quoted(node_label(nodes[producer[name]], producer[name]))}" if name in producer else "an input or initializer"
                )
                raise ModelError(
                    f"produces {quoted(name)}, which {other} defines too",
                    where=f"node {quoted(node_label(node, number))}",
                    hint="Every tensor has one producer.",
                )
            producer[name] = number
    producer.pop("", None)
    sources: list[set[int]] = []
    for number, node in enumerate(nodes):
        needed: set[int] = set()
        for name in reads(node):
            if name in producer:
                needed.add(producer[name])
            elif name not in outer:
                raise ModelError(
                    f"reads {quoted(name)}, which no node produces and which is no input or initializer",
                    where=f"node {quoted(node_label(node, number))} ({quoted(node.op_type)[1:-1]})",
                )
        sources.append(needed)
    if all(source < number for number, needed in enumerate(sources) for source in needed):
        return list(enumerate(nodes))
    return [(number, nodes[number]) for number in _sorted(sources, nodes)]


def reads(node: NodeProto) -> Iterator[str]:
    """Yield the names that a node reads, those that its subgraphs take from outside included."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield from free_names(attribute.g)


def free_names(graph: GraphProto) -> set[str]:
    """Return the names that a subgraph takes from outside."""
    defined = {v.name for v in graph.input} | {t.name for t in graph.initializer} | {name for node in graph.node for name in node.output}
    read = {name for node in graph.node for name in reads(node)} | {v.name for v in graph.output}
    return read - defined - {""}


def _sorted(sources: Sequence[set[int]], nodes: Sequence[NodeProto]) -> list[int]:
    """Return a topological order of numbered nodes, the lowest ready number first."""
    order, stuck = sources_first(sources)
    if stuck:
        cycle = _cycle(sources, stuck)
        labels = [quoted(node_label(nodes[number], number)) for number in cycle[:5]]
        raise ModelError(
            f"the nodes form a cycle: {' -> '.join([*labels, *(('...',) if len(cycle) > 5 else ()), labels[0]])}",
            hint="A graph of ONNX has none.",
        )
    return order


def _cycle(sources: Sequence[set[int]], stuck: frozenset[int]) -> list[int]:
    """Return one cycle, in the direction of the data; every stuck node waits for another one."""
    path: list[int] = []
    place: dict[int, int] = {}
    number = min(stuck)
    while number not in place:
        place[number] = len(path)
        path.append(number)
        number = min(sources[number] & stuck)
    cycle = path[place[number] :][::-1]
    first = cycle.index(min(cycle))
    return cycle[first:] + cycle[:first]


def _check_text(names: Iterable[str | bytes], where: str) -> None:
    """Check that names are text."""
    for name in names:
        if not isinstance(name, str):
            raise ModelError(f"the name {name[:40]!r} is not UTF-8", where=where)

"""Other outputs than a model declares: it is cut behind the tensors that the user names, and what only the rest needed goes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto

from nautilus_cli.errors import UsageError, nearest
from nautilus_cli.frontend.names import node_label
from nautilus_cli.frontend.structure import reads
from nautilus_cli.ir.names import quoted

_OPTION = "--outputs"


def cut(model: ModelProto, outputs: Sequence[str]) -> bool:
    """Make the named tensors a model's outputs, in this order, in place; return whether they are others than it declares.

    Nodes, and inputs, that they do not depend on are removed. A node without a name is given the one that messages use, which says
    where it stood before.

    Args:
        model: the model; its initializers stay as they are.
        outputs: names of tensors of the main graph; none for those that the model declares.

    Raises:
        UsageError: the main graph has no such tensor, or one is named twice.
    """
    graph = model.graph
    if not outputs or list(outputs) == [info.name for info in graph.output]:
        return False
    known = {name for node in graph.node for name in node.output if name}
    known |= {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
    for number, name in enumerate(outputs):
        if name not in known:
            raise UsageError(
                "the model's main graph has no tensor of this name", where=f"{_OPTION} {quoted(name)}", hint=nearest(name, known)
            )
        if name in outputs[:number]:
            raise UsageError("is named twice", where=f"{_OPTION} {quoted(name)}")
    declared = {info.name: info for info in (*graph.value_info, *graph.output)}
    found = [declared.get(name, ValueInfoProto(name=name)) for name in outputs]
    kept = _needed(graph, outputs)
    read = {name for node in kept for name in reads(node)}.union(outputs)
    inputs = [info for info in graph.input if info.name in read]
    _replace(graph.node, kept)
    _replace(graph.input, inputs)
    _replace(graph.output, found)
    return True


def cut_file(path: Path, outputs: Sequence[str]) -> bytes:
    """Return a model file's bytes with other outputs: what a reference runs. External data stays where it is.

    Raises:
        UsageError: as `cut`.
    """
    model = ModelProto.FromString(path.read_bytes())
    cut(model, outputs)
    read = {name for node in model.graph.node for name in reads(node)}.union(outputs)
    _replace(model.graph.initializer, [tensor for tensor in model.graph.initializer if tensor.name in read])
    data: bytes = model.SerializeToString()
    return data


def _needed(graph: GraphProto, outputs: Sequence[str]) -> list[NodeProto]:
    """Return the nodes that tensors depend on, in the graph's order."""
    producer = {name: number for number, node in enumerate(graph.node) for name in node.output if name}
    needed: set[int] = set()
    pending = list(outputs)
    while pending:
        number = producer.get(pending.pop())
        if number is not None and number not in needed:
            needed.add(number)
            pending.extend(reads(graph.node[number]))
    kept = []
    for number in sorted(needed):
        node = NodeProto()
        node.CopyFrom(graph.node[number])
        node.name = node_label(node, number)
        kept.append(node)
    return kept


def _replace(field: object, messages: Sequence[object]) -> None:
    """Put messages in place of a repeated field's own."""
    copies = list(messages)
    del field[:]  # type: ignore[attr-defined]
    field.extend(copies)  # type: ignore[attr-defined]

"""The main graph's initializers and outputs, checked."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import GraphProto, ValueInfoProto

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.entities import Entity, Text, Unavailable, kind
from nautilus_cli.frontend.inputs import declared_type
from nautilus_cli.frontend.scope import Scope
from nautilus_cli.frontend.tensors import Initializer
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.types import UCS4, TensorType


def initializers_by_name(graph: GraphProto, weights: Mapping[int, np.ndarray]) -> dict[str, Initializer]:
    """Return the initializers by name.

    Args:
        graph: the main graph.
        weights: raw data that was taken out of the model, by the initializer's index.

    Raises:
        ModelError: two have one name, or one has none or is sparse.
    """
    found: dict[str, Initializer] = {}
    for index, tensor in enumerate(graph.initializer):
        if not tensor.name or tensor.name in found:
            raise ModelError("two initializers have this name" if tensor.name else "an initializer has no name", where=quoted(tensor.name))
        found[tensor.name] = Initializer(tensor, weights.get(index))
    if graph.sparse_initializer:
        raise ModelError("has sparse initializers; only dense tensors are supported", where="graph")
    return found


def declared_outputs(graph: GraphProto) -> dict[str, ValueInfoProto]:
    """Return the declared outputs that are tensors, by their names and by those of the tensors that become them by a conversion alone."""
    found = {info.name: info for info in graph.output if info.type.HasField("tensor_type")}
    for node in reversed(graph.node):
        if node.op_type in ("Cast", "Identity") and len(node.input) == len(node.output) == 1 and node.output[0] in found:
            found.setdefault(node.input[0], found[node.output[0]])
    return found


def checked_outputs(graph: GraphProto, scope: Scope) -> list[tuple[str, Value]]:
    """Return the graph's outputs, checked against what the model declares.

    Raises:
        ModelError: there is none, or one is computed by nobody, declared twice, or declared with another element type.
    """
    found: dict[str, Value] = {}
    for info in graph.output:
        where = f"output {quoted(info.name)}"
        entity = scope.find(info.name) if info.name else None
        if entity is None:
            raise ModelError("nothing computes it", where=where)
        value = entity.points if isinstance(entity, Text) else _dense(entity, where)
        if info.name in found:
            raise ModelError("is declared twice", where=where)
        if info.HasField("type"):
            declared, dtype = declared_type(info, "output"), UCS4 if isinstance(entity, Text) else value.type.dtype
            if declared.dtype != dtype:
                raise ModelError(
                    f"is declared as {declared.dtype}, but the graph computes {TensorType(dtype, value.type.shape)}", where=where
                )
        found[info.name] = value
    if not found:
        raise ModelError("has no outputs", where="graph", hint="There is nothing to compute.")
    return list(found.items())


def text_outputs(graph: GraphProto, scope: Scope) -> frozenset[str]:
    """Return the names of the outputs that are strings."""
    return frozenset(info.name for info in graph.output if isinstance(scope.find(info.name), Text))


def _dense(entity: Entity, where: str) -> Value:
    """Return what an output is; raises ModelError where that is no tensor."""
    if isinstance(entity, Unavailable):
        raise entity.error(where)
    if not isinstance(entity, Value):
        raise ModelError(
            f"is {kind(entity)}; only dense tensors can leave a library",
            where=where,
            hint="Take its tensors apart by SequenceAt, ConcatFromSequence or OptionalGetElement.",
        )
    return entity

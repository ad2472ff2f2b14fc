"""What an operator of this package is, and what it sees of the node that asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import AttributeProto, NodeProto

from nautilus_cli.errors import ModelError, nearest
from nautilus_cli.frontend.entities import Entity, TensorSequence, as_sequence, as_tensor
from nautilus_cli.frontend.scope import Scope
from nautilus_cli.frontend.subgraph import Host, Subgraph, subgraph
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.types import Sym
from nautilus_cli.ops.builder import GraphBuilder


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """A node of such an operator.

    Attributes:
        node: the node.
        operands: what its operands stand for; None where one is left out.
        attributes: by name, references resolved.
        version: opset version of its domain.
        scope: the names that it sees.
        origin: what it is called.
        where: the same, for errors.
        host: the importer.
    """

    node: NodeProto
    operands: Sequence[Entity | None]
    attributes: Mapping[str, AttributeProto]
    version: int
    scope: Scope
    origin: str
    where: str
    host: Host

    @property
    def builder(self) -> GraphBuilder:
        """Where nodes go."""
        return self.host.builder

    def error(self, message: str, hint: str | None = None) -> ModelError:
        """Return an error that names the node."""
        return ModelError(message, where=self.where, hint=hint)

    def count(self, low: int, high: int | None) -> None:
        """Check the number of operands, LOW to HIGH (None: any)."""
        found = len(self.operands)
        if found < low or (high is not None and found > high):
            allowed = f"{low}" if high == low else f"at least {low}" if high is None else f"{low} to {high}"
            raise self.error(f"has {found} operands; the specification allows {allowed}")

    def operand(self, number: int) -> Entity | None:
        """Return what an operand stands for, None where it is left out."""
        return self.operands[number] if number < len(self.operands) else None

    def required(self, number: int) -> Entity:
        """Return what an operand stands for; raises ModelError where it is left out."""
        found = self.operand(number)
        if found is None:
            raise self.error(f"operand {number} is missing; the specification requires it")
        return found

    def tensor(self, number: int) -> Value:
        """Return a required tensor."""
        return as_tensor(self.required(number), f"operand {number}", self.where)

    def optional_tensor(self, number: int) -> Value | None:
        """Return a tensor, None where it is left out."""
        return None if self.operand(number) is None else self.tensor(number)

    def sequence(self, number: int) -> TensorSequence:
        """Return a required sequence."""
        return as_sequence(self.required(number), f"operand {number}", self.where)

    def single(self, number: int, kinds: str, name: str) -> Value | None:
        """Return a tensor of one element, None where it is left out.

        Args:
            number: which operand.
            kinds: numpy's letters of the element types that are allowed.
            name: what the specification calls it.
        """
        value = self.optional_tensor(number)
        if value is not None and (value.type.elements != 1 or value.type.dtype.numpy.kind not in kinds):
            wanted = "one bool" if kinds == "b" else "one integer"
            raise self.error(f"operand '{name}' has the type {value.type}; the specification requires {wanted}")
        return value

    def integer(self, name: str, default: int) -> int:
        """Return an integer attribute; DEFAULT where it is left out."""
        if name not in self.attributes:
            return default
        if self.attributes[name].type != AttributeProto.INT:
            raise self.error(f"attribute {quoted(name)} is no integer, which the specification requires")
        return int(self.attributes[name].i)

    def integers(self, name: str, count: int, default: int) -> tuple[int, ...]:
        """Return an attribute of COUNT integers; each is DEFAULT where it is left out."""
        if name not in self.attributes:
            return (default,) * count
        if self.attributes[name].type != AttributeProto.INTS or len(self.attributes[name].ints) != count:
            raise self.error(f"attribute {quoted(name)} is no list of {count} integers, which the node needs")
        return tuple(int(v) for v in self.attributes[name].ints)

    def body(self, name: str, inputs: int | None, outputs: int, *, repeats: bool = False) -> Subgraph:
        """Return the subgraph that an attribute holds.

        Args:
            name: its attribute.
            inputs: how many inputs it must have; None for any.
            outputs: how many outputs it must have at least.
            repeats: as `subgraph` takes it.
        """
        if name not in self.attributes or self.attributes[name].type != AttributeProto.GRAPH:
            raise self.error(f"attribute {name!r} is missing; the specification requires it, a graph")
        graph = self.attributes[name].g
        if (inputs is not None and len(graph.input) != inputs) or len(graph.output) < outputs:
            raise self.error(
                f"{name} has {len(graph.input)} inputs and {len(graph.output)} outputs; "
                f"the node needs {'any' if inputs is None else inputs} and {outputs}"
            )
        return subgraph(graph, self.scope, self.origin, repeats=repeats)

    def tensor_name(self, number: int) -> str | None:
        """Return what a result is called in the main graph, None where it is no tensor there."""
        name = self.node.output[number] if number < len(self.node.output) else ""
        return self.scope.tensor(name) if name else None

    def declared(self, number: int) -> tuple[int | Sym, ...] | None:
        """Return the dimensions that the model declares for a result, where it is one of its outputs and they are declared."""
        tensor = self.tensor_name(number)
        return None if tensor is None else self.host.declared(tensor)

    def size_name(self, number: int) -> str:
        """Return what the size of a result is called that a kernel gives: after the result, as messages and manifests show it."""
        return f"{quoted(self.node.output[number] or self.origin)[1:-1]}.count"

    def constant(self, array: np.ndarray | np.generic | list[int]) -> Value:
        """Return a constant; a list becomes int64."""
        return self.builder.constant(np.asarray(array, np.int64) if isinstance(array, list) else np.asarray(array))


@dataclass(frozen=True, slots=True, kw_only=True)
class Construct:
    """An operator of this package.

    Attributes:
        name: its ONNX name.
        build: from a node to what its results stand for.
        source: where its meaning is specified.
        attributes: names of those that it has, in any opset.
        since: the first opset version that has it.
    """

    name: str
    build: Callable[[Occurrence], Sequence[Entity | None]]
    source: str
    attributes: tuple[str, ...] = ()
    since: int = 1

    def apply(self, call: Occurrence) -> Sequence[Entity | None]:
        """Return what a node's results stand for.

        Raises:
            ModelError: the node is not what the specification allows, or cannot be settled at compile time.
        """
        unknown = next((name for name in call.attributes if name not in self.attributes), None)
        if unknown is not None:
            raise call.error(f"attribute {quoted(unknown)} is not supported", nearest(unknown, self.attributes))
        return self.build(call)

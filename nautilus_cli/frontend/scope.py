"""The names that a graph, a subgraph or a function body sees while it is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from onnx import AttributeProto

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.entities import Entity, as_tensor
from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.frontend.names import domain_name
from nautilus_cli.frontend.tensors import Initializer, initializer_array
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.types import TensorType, dtype_of

MAX_DEPTH = 32
"""Functions and subgraphs within each other; deeper nesting is a mistake or an attack."""


@dataclass(slots=True, kw_only=True)
class Scope:
    """Names and versions of one graph or function body.

    Attributes:
        versions: opset version by domain, the default domain as the empty string.
        external: where external data is read from.
        prefix: put before the names of its nodes.
        tensors: what its names are called in the main graph; a name that is not in it is no tensor there. None for the main graph itself.
        references: attributes of the calling function.
        initializers: not yet read.
        values: by name.
        parent: the enclosing graph, whose names are seen too.
        depth: how many graphs and functions enclose it.
        is_repeated: whether it is one of several copies of a body, or lies in one.
    """

    versions: Mapping[str, int]
    external: ExternalData
    prefix: str = ""
    tensors: Mapping[str, str] | None = None
    references: Mapping[str, AttributeProto] = field(default_factory=dict)
    initializers: Mapping[str, Initializer] = field(default_factory=dict)
    values: dict[str, Entity] = field(default_factory=dict)
    parent: Scope | None = None
    depth: int = 0
    is_repeated: bool = False

    def __contains__(self, name: object) -> bool:
        """Whether a name is defined here or around."""
        return name in self.values or name in self.initializers or (self.parent is not None and name in self.parent)

    def tensor(self, name: str) -> str | None:
        """Return what a name is called in the main graph, None where it is no tensor there."""
        return name if self.tensors is None else self.tensors.get(name)

    def renamed(self, inner: Sequence[str], outer: Sequence[str]) -> dict[str, str]:
        """Return what the results of a body inside this scope are called in the main graph.

        Args:
            inner: their names in the body.
            outer: their names here.
        """
        tensors = {name: self.tensor(result) for name, result in zip(inner, outer, strict=False) if result}
        return {name: tensor for name, tensor in tensors.items() if tensor is not None}

    def find(self, name: str) -> Entity | None:
        """Return what a name stands for, None where nothing defines it; an initializer is read when it is first asked for."""
        if name in self.values:
            return self.values[name]
        if name in self.initializers:
            array = initializer_array(self.initializers[name], self.external)
            found = Value(TensorType(dtype_of(array), array.shape), tensor=self.tensor(name), constant=array)
            self.values[name] = found
            return found
        return None if self.parent is None else self.parent.find(name)

    def entity(self, name: str, where: str) -> Entity | None:
        """Return what an operand's name stands for; None for the empty name, an operand left out.

        Raises:
            ModelError: nothing defines it.
        """
        if not name:
            return None
        found = self.find(name)
        if found is None:
            raise ModelError(f"reads {quoted(name)}, which nothing computes", where=where)
        return found

    def read(self, name: str, where: str) -> Value | None:
        """Return the tensor of an operand's name; None for the empty name, an operand left out.

        Raises:
            ModelError: nothing defines it, or it is no tensor.
        """
        found = self.entity(name, where)
        return None if found is None else as_tensor(found, f"operand {quoted(name)}", where)

    def version(self, domain: str, where: str) -> int:
        """Return the opset version of a domain.

        Raises:
            ModelError: the model does not import it.
        """
        domain = domain_name(domain)
        if domain not in self.versions:
            raise ModelError(
                f"belongs to the domain {quoted(domain)}, which the model's opset_import does not name",
                where=where,
                hint=f"It names {', '.join(quoted(d or 'ai.onnx') for d in self.versions) or 'none'}.",
            )
        return self.versions[domain]

"""Bodies of control flow: a subgraph that is imported once, or once an iteration."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from onnx import GraphProto, NodeProto

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.entities import Entity
from nautilus_cli.frontend.ports import initializers_by_name
from nautilus_cli.frontend.scope import Scope
from nautilus_cli.frontend.structure import ordered, reads
from nautilus_cli.frontend.tensors import Initializer
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.types import Sym
from nautilus_cli.ops.builder import GraphBuilder

Numbered = Sequence[tuple[int, NodeProto]]
"""Nodes with their places in the body they come from, in topological order."""


class Host(Protocol):
    """The importer, as control flow sees it."""

    @property
    def builder(self) -> GraphBuilder:
        """Where nodes go."""
        ...

    def nodes(self, numbered: Numbered, scope: Scope) -> None:
        """Import nodes in the given order; their results are then in SCOPE."""
        ...

    def note(self, text: str) -> None:
        """Tell the user what the library will not do, though it is compiled."""
        ...

    def apart(self) -> AbstractContextManager[GraphBuilder]:
        """Return a context in which nodes go to a builder of their own."""
        ...

    def declared(self, tensor: str) -> tuple[int | Sym, ...] | None:
        """Return the dimensions that the model declares for one of its outputs, or for what becomes one unchanged; None for any."""
        ...

    @property
    def unrolled(self) -> int:
        """What unrolling has made so far, as `spend` counts it."""
        ...

    def spend(self, count: int, where: str) -> None:
        """Count what unrolling makes; raises ModelError once it is too much."""
        ...


@dataclass(frozen=True, slots=True)
class _Names:
    """Names that a body's nodes may read."""

    inputs: frozenset[str]
    scope: Scope

    def __contains__(self, name: object) -> bool:
        return name in self.inputs or name in self.scope


@dataclass(slots=True, kw_only=True)
class Subgraph:
    """A body, ready to be imported.

    Attributes:
        graph: the body.
        fixed: the scope of its initializers, and of its nodes that are imported once.
        invariant: nodes that do not depend on its inputs, as long as they are not imported.
        varying: the others.
    """

    graph: GraphProto
    fixed: Scope
    varying: Numbered
    invariant: Numbered = field(default_factory=tuple)

    def hoist(self, host: Host) -> None:
        """Import the nodes that do not depend on its inputs, where they are not yet; else the first copy of the body does."""
        origin = host.builder.origin
        if self.invariant:
            host.nodes(self.invariant, self.fixed)
            self.invariant = ()
        host.builder.origin = origin

    def run(self, host: Host, inputs: Sequence[Entity], *, label: str = "", results: Sequence[str] = ()) -> list[Entity]:
        """Import the body with INPUTS and return what it gives.

        Args:
            host: the importer.
            inputs: one for each input of the body.
            label: put behind the node's name in the names of this copy's nodes: the iteration. Empty where there are no copies.
            results: what its outputs are called in the graph around; empty where they are no tensors there.

        Raises:
            ModelError: what an import raises.
        """
        origin = host.builder.origin
        self.hoist(host)
        around = self.fixed.parent
        assert around is not None
        outputs = [info.name for info in self.graph.output]
        inner = replace(
            self.fixed,
            prefix=f"{self.fixed.prefix[:-1]}{label}/",
            tensors=around.renamed(outputs, results),
            initializers={},
            values=dict(zip((info.name for info in self.graph.input), inputs, strict=True)),
            parent=self.fixed,
            is_repeated=self.fixed.is_repeated or bool(label),
        )
        host.nodes(self.varying, inner)
        host.builder.origin = origin
        where = f"node {quoted(inner.prefix[:-1])}"
        found = [inner.entity(name, where) for name in outputs]
        if any(entity is None for entity in found):
            raise ModelError("an output of its subgraph has no name", where=where)
        return [entity for entity in found if entity is not None]


def subgraph(graph: GraphProto, scope: Scope, origin: str, *, repeats: bool = False) -> Subgraph:
    """Make a body ready.

    Args:
        graph: the body.
        scope: what is around it.
        origin: name of the node that has it.
        repeats: whether it is imported several times, so that what does not depend on its inputs is worth importing once.

    Raises:
        ModelError: names clash, or nodes form a cycle.
    """
    where = f"node {quoted(origin)}"
    inputs = [info.name for info in graph.input]
    if len(set(inputs)) < len(inputs) or "" in inputs:
        raise ModelError("two inputs of its subgraph have one name, or one has none", where=where)
    initializers = {} if not (graph.initializer or graph.sparse_initializer) else initializers_by_name(graph, _NO_WEIGHTS)
    fixed = _fixed(scope, origin, initializers)
    numbered = ordered(graph.node, _Names(frozenset(inputs), fixed))
    if not repeats:
        return Subgraph(graph=graph, fixed=fixed, varying=numbered)
    invariant, varying = _split(numbered, inputs)
    return Subgraph(graph=graph, fixed=fixed, varying=varying, invariant=invariant)


_NO_WEIGHTS: Mapping[int, np.ndarray] = {}


def _fixed(scope: Scope, origin: str, initializers: Mapping[str, Initializer]) -> Scope:
    """Return the scope that all copies of a body share."""
    return replace(scope, prefix=f"{origin}/", tensors={}, initializers=initializers, values={}, parent=scope, depth=scope.depth + 1)


def _split(numbered: Numbered, inputs: Container[str]) -> tuple[Numbered, Numbered]:
    """Split nodes into those that do not depend on the inputs, and those that do."""
    invariant, varying = [], []
    depends: set[str] = set()
    for number, node in numbered:
        if any(name in inputs or name in depends for name in reads(node)):
            varying.append((number, node))
            depends.update(node.output)
        else:
            invariant.append((number, node))
    return invariant, varying

"""Walks the nodes of a model in order and builds the typed graph: the heart of the frontend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto

from nautilus_cli.errors import ModelError, nearest
from nautilus_cli.frontend.attributes import AttributeValue, attribute_value, given_attributes, typed_attributes
from nautilus_cli.frontend.calls import Call
from nautilus_cli.frontend.constructs.base import Occurrence
from nautilus_cli.frontend.constructs.registry import constructs
from nautilus_cli.frontend.conversion import converted
from nautilus_cli.frontend.declared_sizes import checked
from nautilus_cli.frontend.element_values import is_candidate, taken_ranges
from nautilus_cli.frontend.entities import Entity, Text
from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.frontend.functions import function_key, functions_by_key, resolved_node, without_operands
from nautilus_cli.frontend.host_reads import require_plannable
from nautilus_cli.frontend.inputs import Inputs, declared_type, require_known
from nautilus_cli.frontend.names import domain_name, is_default, node_label, operator_key
from nautilus_cli.frontend.opsets import exists, imported_versions, newest
from nautilus_cli.frontend.ports import checked_outputs, declared_outputs, initializers_by_name, text_outputs
from nautilus_cli.frontend.refusals import refusal
from nautilus_cli.frontend.required_numbers import with_required_numbers
from nautilus_cli.frontend.schema_functions import schema_defaults, schema_function
from nautilus_cli.frontend.scope import MAX_DEPTH, Scope
from nautilus_cli.frontend.structure import ordered
from nautilus_cli.frontend.subgraph import Numbered
from nautilus_cli.frontend.tensors import Initializer
from nautilus_cli.frontend.variants import VARIANTS, modernised
from nautilus_cli.ir.control import all_nodes
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.rewrite import prune
from nautilus_cli.ir.types import Sym
from nautilus_cli.ops.builder import GraphBuilder, Wanted
from nautilus_cli.ops.error_place import ErrorPlace
from nautilus_cli.ops.evaluate import evaluate_operator
from nautilus_cli.ops.fold_budget import DEFAULT_FOLD_BYTES
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import HostOnly, Movement
from nautilus_cli.ops.stored_sizes import with_stored_sizes

MAX_NODES = 100_000
"""Nodes once functions are inlined: a small file of functions that call each other could else unfold without end."""

MAX_UNROLLED_NODES = 20_000
"""Nodes and iterations that all loops together unroll to. Each copy of a body becomes kernels of its own, so this is far beyond what is
worth compiling; an endless loop gets here in seconds."""

OWN_DOMAIN = "nautilus::"
"""Operators that only passes make; a model cannot ask for one."""


def import_graph(
    model: ModelProto,
    inputs: Inputs,
    external: ExternalData,
    weights: Mapping[int, np.ndarray],
    size_bytes: int,
    notes: list[str] | None = None,
) -> Graph:
    """Return the graph of a model, of which every dimension is a number or has a range; constants are folded and functions inlined.

    Args:
        model: the model.
        inputs: what its graph starts from.
        external: the files beside it.
        weights: raw data that was taken out of the model, by the initializer's index.
        size_bytes: how large model and external data are on disk; folding may make twice that, and a little more.
        notes: sentences for the user are put here.

    Raises:
        ModelError: the model is invalid, or uses what is not supported; names the node.
    """
    importer = Importer(model, external, size_bytes)
    graph = importer.run(model.graph, inputs, weights)
    require_plannable(graph, importer.builder.bounds)
    if notes is not None:
        notes += [*importer.notes, *dict.fromkeys(importer.builder.bounds.notes)]
    return graph


class Importer:
    """Imports one model.

    Args:
        model: the model.
        external: the files beside it.
        size_bytes: as `import_graph` takes it.

    Attributes:
        notes: sentences for the user.
    """

    def __init__(self, model: ModelProto, external: ExternalData, size_bytes: int) -> None:
        self.notes: list[str] = []
        self._known = {key: operator for key, operator in operators().items() if not key.startswith(OWN_DOMAIN)}
        self._builder = GraphBuilder(fold_bytes=DEFAULT_FOLD_BYTES + 2 * size_bytes)
        self._external = external
        self._versions = imported_versions(model.opset_import, "the model")
        self._functions = functions_by_key(model)
        self._declared_outputs = declared_outputs(model.graph)
        self._count = 0
        self._unrolled = 0

    def run(self, graph: GraphProto, inputs: Inputs, weights: Mapping[int, np.ndarray]) -> Graph:
        """Import the main graph."""
        scope = self._body_of(graph, inputs, weights)
        require_known(inputs.bounds, self._builder.bounds.names, inputs)
        outputs = self._guarded(checked_outputs(graph, scope), inputs)
        self._builder.requirements += taken_ranges(inputs)
        result = replace(with_stored_sizes(prune(self._builder.graph(outputs))), texts=inputs.texts | text_outputs(graph, scope))
        for node in all_nodes(result):
            self._builder.origin = node.origin
            lowering = operators()[node.op].lowering
            if isinstance(lowering, HostOnly):
                self._builder.origin = node.origin
                raise ModelError(lowering.reason, where=self._builder.place(node.op))
        return result

    def _body_of(self, graph: GraphProto, inputs: Inputs, weights: Mapping[int, np.ndarray]) -> Scope:
        """Import the nodes of the main graph; return the scope that their results are in."""
        self._builder.bounds.given, self._builder.bounds.read = inputs.bounds, inputs.read
        scope = Scope(versions=self._versions, external=self._external, initializers=initializers_by_name(graph, weights))
        for name, array in inputs.constants.items():
            scope.values[name] = self._builder.constant(array, name)
        for name, type_ in inputs.types.items():
            value = self._builder.input(name, type_, inputs.elements.get(name))
            scope.values[name] = Text(value) if name in inputs.texts else value
        for name, known in inputs.known.items():
            scope.values[name] = self._builder.known(inputs.types[name], known, name)
        if inputs.lets_numbers_decide:
            untried = (name for name, type_ in inputs.types.items() if is_candidate(type_) and name not in inputs.elements)
            self._builder.let_numbers_decide(frozenset(untried))
        self._body(graph.node, scope)
        return scope

    def _guarded(self, outputs: list[tuple[str, Value]], inputs: Inputs) -> list[tuple[str, Value]]:
        """Return the outputs with the checks of what is known of inputs: the first output waits for them."""
        self._builder.origin = ()
        sources = self._builder.inputs()
        for name, known in inputs.known.items():
            (first, value), *others = outputs
            outputs = [(first, checked(self._builder, value, sources[name], known)), *others]
        (first, value), *others = outputs
        return [(first, with_required_numbers(self._builder, value)), *others]

    def trial(self, graph: GraphProto, inputs: Inputs, weights: Mapping[int, np.ndarray]) -> Graph:
        """Import the main graph for its types alone, which ranges may make larger than tensors can be."""
        self._builder.most_bytes = 1 << 80
        return self._builder.graph(checked_outputs(graph, self._body_of(graph, inputs, weights)))

    @property
    def builder(self) -> GraphBuilder:
        """Where nodes go."""
        return self._builder

    def note(self, text: str) -> None:
        """Tell the user what the library will not do, though it is compiled."""
        if text not in self.notes:
            self.notes.append(text)

    @contextmanager
    def apart(self) -> Iterator[GraphBuilder]:
        """Let nodes go to a builder of their own."""
        outer = self._builder
        self._builder = inner = outer.apart()
        try:
            yield inner
        finally:
            self._builder = outer
        outer.keep(inner)

    def nodes(self, numbered: Numbered, scope: Scope) -> None:
        """Import nodes in the given order; their results are then in SCOPE."""
        if scope.depth > MAX_DEPTH:
            raise ModelError(f"functions and subgraphs are nested more than {MAX_DEPTH} deep", where=f"node {quoted(scope.prefix[:-1])}")
        for index, node in numbered:
            origin = f"{scope.prefix}{node_label(node, index)}"
            self.spend(1, f"node {quoted(origin)}", is_repeated=scope.is_repeated)
            self._builder.origin = (origin,)
            for name, value in zip(node.output, self._node(node, scope, origin), strict=False):
                if name and value is not None:
                    scope.values[name] = value

    def declared(self, tensor: str) -> tuple[int | Sym, ...] | None:
        """Return the dimensions that the model declares for one of its outputs, or for what becomes one unchanged; None for any."""
        return declared_type(self._declared_outputs[tensor], "output").dims if tensor in self._declared_outputs else None

    @property
    def unrolled(self) -> int:
        """Nodes and iterations that loops have unrolled to so far."""
        return self._unrolled

    def spend(self, count: int, where: str, *, is_repeated: bool = True) -> None:
        """Count nodes, or iterations of loops; raises ModelError once there are too many."""
        if is_repeated:
            self._unrolled += count
            if self._unrolled > MAX_UNROLLED_NODES:
                raise ModelError(
                    f"the model's loops unroll to more than {MAX_UNROLLED_NODES} nodes; here they pass that",
                    where=where,
                    hint="Loops are unrolled at compile time: a trip count times the nodes of its body must stay below that.",
                )
        self._count += count
        if self._count > MAX_NODES:
            raise ModelError(f"has more than {MAX_NODES} nodes once its functions are inlined", where="graph")

    def _body(self, nodes: Sequence[NodeProto], scope: Scope) -> None:
        """Import the nodes of the main graph or of a function, in topological order."""
        self.nodes(ordered(nodes, scope), scope)

    def _node(self, node: NodeProto, scope: Scope, origin: str) -> Sequence[Entity | None]:
        """Import one node and return its results."""
        key = operator_key(node.domain, node.op_type)
        where = self._builder.place(key)
        entities = tuple(scope.entity(name, where) for name in node.input)
        attributes = given_attributes(node, scope.references, where)
        function = self._functions.get(function_key(node))
        if function is not None:
            return self._call(function, entities, attributes, node, scope, origin)
        version = scope.version(node.domain, where)
        if key == "Identity" and len(entities) == 1 and entities[0] is not None and not attributes:
            return entities
        if key in constructs() and version >= constructs()[key].since:
            occurrence = Occurrence(
                node=node,
                operands=entities,
                attributes=attributes,
                version=version,
                scope=scope,
                origin=origin,
                where=where,
                host=self,
            )
            with ErrorPlace(where):
                return constructs()[key].apply(occurrence)
        inputs = tuple(scope.read(name, where) for name in node.input)
        if key == "Constant":
            return self._constant(attributes, node, scope, version)
        if key in self._known and (not is_default(node.domain) or version >= self._known[key].since):
            call = Call(op=key, inputs=inputs, attributes=self._values(attributes, where), outputs=self._wanted(node, scope, key))
            return self._apply(call, version, where)
        if key in VARIANTS:
            call = Call(op=key, inputs=inputs, attributes=self._values(attributes, where), outputs=self._wanted(node, scope, key))
            with ErrorPlace(where):
                result = modernised(self._builder, call, version)
            return self._apply(result, version, where) if isinstance(result, Call) else result
        if key in self._known:
            return self._convert(node, inputs, attributes, scope, version, origin)
        return self._by_schema(node, inputs, attributes, scope, version, origin)

    def _constant(self, attributes: Mapping[str, AttributeProto], node: NodeProto, scope: Scope, version: int) -> Sequence[Value | None]:
        """Import a Constant: whatever its size, it is in memory already."""
        where = self._builder.place("Constant")
        if node.input:
            raise ModelError(f"has {len(node.input)} operands; the specification allows 0", where=where)
        operator = self._builder.operator("Constant")
        attrs = typed_attributes(operator, self._values(attributes, where), version, where)
        self._builder.infer(operator, attrs, (), 1)
        (array,) = evaluate_operator(operator, attrs, (), 1)
        return (self._builder.constant(array, scope.tensor(node.output[0]) if node.output else None),)

    def _values(self, attributes: Mapping[str, AttributeProto], where: str) -> dict[str, AttributeValue]:
        """Return attributes as Python values."""
        return {name: attribute_value(attribute, name, self._external, where) for name, attribute in attributes.items()}

    def _wanted(self, node: NodeProto, scope: Scope, key: str) -> tuple[Wanted, ...]:
        """Return for each result its tensor, or False where it is not wanted.

        The results of a movement all exist: where one lies depends on those before it.
        """
        exists = key in self._known and isinstance(self._known[key].lowering, Movement)
        return tuple(scope.tensor(name) if name else None if exists else False for name in node.output)

    def _apply(self, call: Call, version: int, where: str) -> Sequence[Value | None]:
        """Append the node of an operator in its newest form."""
        operator = self._builder.operator(call.op)
        attrs = typed_attributes(operator, call.attributes, version, where)
        return self._builder.apply(call.op, call.inputs, attrs, outputs=call.outputs)

    def _call(
        self,
        function: FunctionProto,
        inputs: Sequence[Entity | None],
        attributes: Mapping[str, AttributeProto],
        node: NodeProto,
        scope: Scope,
        origin: str,
    ) -> Sequence[Entity | None]:
        """Import the body of a function in place of its call."""
        where = self._builder.place(operator_key(node.domain, node.op_type))
        if len(inputs) > len(function.input) or len(node.output) > len(function.output):
            raise ModelError(
                f"has {len(inputs)} operands and {len(node.output)} results; "
                f"the function takes {len(function.input)} and gives {len(function.output)}",
                where=where,
            )
        given = {a.name: a for a in function.attribute_proto} | dict(attributes)
        known = {*function.attribute, *(a.name for a in function.attribute_proto)}
        unknown = next((name for name in attributes if name not in known), None)
        if unknown is not None:
            raise ModelError(f"attribute {quoted(unknown)} is not one of the function's", where=where, hint=nearest(unknown, known))
        inner = Scope(
            versions=imported_versions(function.opset_import, f"function {quoted(function.name)}"),
            external=self._external,
            prefix=f"{origin}/",
            tensors=scope.renamed(function.output, node.output),
            references=given,
            values={name: value for name, value in zip(function.input, inputs, strict=False) if value is not None},
            depth=scope.depth + 1,
            is_repeated=scope.is_repeated,
        )
        left_out = {name for name in function.input if name not in inner.values}
        self._body(without_operands(function.node, left_out), inner)
        # A body of ONNX's own need not compute a result that the node leaves out.
        return [inner.entity(name, where) if result else None for name, result in zip(function.output, node.output, strict=False)]

    def _by_schema(
        self,
        node: NodeProto,
        inputs: Sequence[Value | None],
        attributes: Mapping[str, AttributeProto],
        scope: Scope,
        version: int,
        origin: str,
    ) -> Sequence[Entity | None]:
        """Import an operator without support of its own by ONNX's definition in simpler ones; refuse it where there is none."""
        key = operator_key(node.domain, node.op_type)
        body = schema_function(resolved_node(node, attributes), version, inputs)
        if body is None:
            raise refusal(node, key, version, self._known, self._builder.place(key))
        body.attribute_proto.extend(a for name, a in schema_defaults(node, version).items() if name not in attributes)
        body.attribute.extend(attributes)
        if all(domain_name(entry.domain) for entry in body.opset_import):  # what it does not say holds as in the model
            body.opset_import.add(domain="", version=scope.versions.get("", newest()))
        return self._call(body, inputs, attributes, node, scope, origin)

    def _convert(
        self,
        node: NodeProto,
        inputs: Sequence[Value | None],
        attributes: Mapping[str, AttributeProto],
        scope: Scope,
        version: int,
        origin: str,
    ) -> Sequence[Value | None]:
        """Import a node whose meaning has changed since its opset by what ONNX's converter makes of it."""
        key = operator_key(node.domain, node.op_type)
        where = self._builder.place(key)
        since = self._known[key].since
        if not exists(node.op_type, version):
            raise refusal(node, key, version, self._known, where)
        graph = converted(node, attributes, inputs, version, since, where)
        inner = Scope(
            versions={**scope.versions, "": since},
            external=self._external,
            prefix=f"{origin}/",
            tensors=scope.renamed([v.name for v in graph.output], [name for name in node.output if name]),
            initializers={t.name: Initializer(t) for t in graph.initializer},
            values={name: value for name, value in zip(node.input, inputs, strict=True) if value is not None},
            depth=scope.depth + 1,
            is_repeated=scope.is_repeated,
        )
        self._body(graph.node, inner)
        found = iter(graph.output)
        return [inner.read(next(found).name, where) if name else None for name in node.output]

"""examine(): all that keeps a model from being imported, not only the first of it.

A model that can be imported is, and nothing more is done. Else it is walked once more, as the importer does, and errors are kept. What a
node would have computed is unknown where that node fails; a node that reads something unknown cannot be imported either, but what is
known of its operator without its operands is checked all the same. Where the model declares, or ONNX infers, the type of a tensor that is
unknown, the walk goes on with an input in its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, ValueInfoProto, defs

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.attributes import given_attributes
from nautilus_cli.frontend.constructs.registry import constructs
from nautilus_cli.frontend.cut import cut
from nautilus_cli.frontend.entities import Entity, Unavailable
from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.frontend.functions import FunctionKey, function_key, resolved_node
from nautilus_cli.frontend.importer import Importer
from nautilus_cli.frontend.inputs import NO_DIMS, Inputs, resolve_inputs
from nautilus_cli.frontend.load import NO_BINDINGS, NO_SHAPES, checked_versions, imported
from nautilus_cli.frontend.names import domain_name, node_label, operator_key
from nautilus_cli.frontend.opsets import imported_versions
from nautilus_cli.frontend.ports import checked_outputs
from nautilus_cli.frontend.ranges import DimRange, Size
from nautilus_cli.frontend.reading import read_model
from nautilus_cli.frontend.refusals import refusal
from nautilus_cli.frontend.scope import MAX_DEPTH, Scope
from nautilus_cli.frontend.stand_ins import inferred, static_type
from nautilus_cli.frontend.structure import reads
from nautilus_cli.frontend.variants import VARIANTS
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.rewrite import prune
from nautilus_cli.ir.types import TensorType

_UNKNOWN = Unavailable("reads what a node before it could not compute")
"""Stands for every result of a node that failed."""

MOST_COPIED = 500
"""Nodes in copies of loops' bodies that are looked at once something has failed; what loops give is unknown then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that cannot be imported.

    Attributes:
        node: name of the ONNX node; empty where it is not a node.
        op: its operator; empty where it is not a node.
        reason: why.
        hint: what would help; empty where nothing is known to.
    """

    node: str
    op: str
    reason: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What is known of a model.

    Attributes:
        opset: version of ONNX's own domain; 0 where the model imports others only.
        producer: who wrote it.
        nodes: of its main graph.
        findings: all that cannot be imported, in the model's order.
        unexamined: nodes of which only the operator could be checked, since what they read is unknown.
        graph: what could be imported; None where nothing was.
    """

    opset: int
    producer: str
    nodes: int
    findings: tuple[Finding, ...]
    unexamined: int
    graph: Graph | None


def examine(
    path: Path | str,
    *,
    shapes: Mapping[str, Sequence[Size]] = NO_SHAPES,
    dims: Mapping[str, DimRange] = NO_DIMS,
    bindings: Mapping[str, str] = NO_BINDINGS,
    outputs: Sequence[str] = (),
) -> Examination:
    """Return what can be imported of the model in a file, and what cannot.

    Args:
        path: as those of `load`.
        shapes: as those of `load`.
        dims: as those of `load`.
        bindings: as those of `load`.
        outputs: as those of `load`.

    Raises:
        FileError: as `load`.
        ModelError: the file is no ONNX model, or its structure is invalid: there are no nodes to speak of.
        UsageError: as `load`.
    """
    file = read_model(Path(path))
    model, external = file.model, ExternalData(file.path)
    versions = checked_versions(model)
    cut(model, outputs)
    size_bytes = file.size_bytes + external.size_bytes(model.graph.initializer)
    examiner = _Examiner(model, external, size_bytes)
    graph = None
    try:
        inputs = resolve_inputs(model.graph, shapes, bindings, dims)
    except ModelError as error:
        examiner.add("", "", error)
        examiner.check_operators(model.graph.node)
    else:
        try:
            _, graph, _ = imported(model, inputs, external, file.weights, size_bytes)
        except ModelError as error:
            graph = examiner.examine(model.graph, inputs, file.weights)
            if not examiner.findings:  # what only the importer looks at
                examiner.add("", "", error)
    return Examination(
        opset=versions.get("", 0),
        producer=quoted(f"{model.producer_name} {model.producer_version}".strip())[1:-1],
        nodes=len(model.graph.node),
        findings=tuple(examiner.findings),
        unexamined=examiner.unexamined,
        graph=graph,
    )


class _Examiner(Importer):
    """Imports what can be imported, and keeps the errors of the rest."""

    def __init__(self, model: ModelProto, external: ExternalData, size_bytes: int) -> None:
        super().__init__(model, external, size_bytes)
        self.findings: list[Finding] = []
        self.unexamined = 0
        self._copied = 0
        self._declared: Mapping[str, ValueInfoProto] = {info.name: info for info in (*model.graph.value_info, *model.graph.output)}
        self._read_by_unknown: dict[Value, None] = {}
        self._repeated: dict[tuple[int, str], NodeProto] = {}  # holds the nodes, so that no other gets the identity of one
        self._checked: set[FunctionKey] = set()

    def spend(self, count: int, where: str, *, is_repeated: bool = True) -> None:
        """Count as the importer does; a loop is left early once something has failed: its copies fail again, and each takes its time."""
        super().spend(count, where, is_repeated=is_repeated)
        if is_repeated and self.findings:
            self._copied += count
            if self._copied > MOST_COPIED:
                raise _UNKNOWN.error(where)

    def add(self, node: str, op: str, error: ModelError) -> None:
        """Keep an error as a finding about a node; one that names its place itself keeps that."""
        where = f"{error.where}: " if error.where and not node else ""
        self.findings.append(Finding(node=node, op=op, reason=f"{where}{error.message}", hint=error.hint or ""))

    def check_operators(self, nodes: Sequence[NodeProto]) -> None:
        """Check the operators of nodes whose operands are unknown."""
        self.unexamined += len(nodes)
        for index, node in enumerate(nodes):
            self._check_operator(node, self._versions, node_label(node, index), 0)

    def examine(self, graph: GraphProto, inputs: Inputs, weights: Mapping[int, np.ndarray]) -> Graph | None:
        """Import what can be imported of the main graph; None where nothing can."""
        try:
            scope = self._body_of(graph, inputs, weights)
        except ModelError as error:
            self.add("", "", error)
            return None
        outputs = self._outputs(graph, scope)
        outputs += [(f"operand {number} of a node that fails", value) for number, value in enumerate(self._read_by_unknown)]
        return prune(self._builder.graph(outputs)) if outputs else None

    def _outputs(self, graph: GraphProto, scope: Scope) -> list[tuple[str, Value]]:
        """Return the outputs that are known."""
        try:
            return checked_outputs(graph, scope)
        except ModelError as error:
            found: list[tuple[str, Value]] = []
            if not graph.output:
                self.add("", "", error)
            for info in graph.output:
                try:
                    found += checked_outputs(GraphProto(output=[info]), scope)
                except ModelError as one:
                    if one.message != _UNKNOWN.reason:
                        self.add("", "", one)
            return found

    def _node(self, node: NodeProto, scope: Scope, origin: str) -> Sequence[Entity | None]:
        """Import one node, or keep the error and return what stands for its results."""
        operands: list[Entity | None] = []
        try:
            operands += [scope.find(name) if name else None for name in node.input]
            captured = [scope.find(name) for name in reads(node)]
            if not any(value is _UNKNOWN for value in captured):
                return super()._node(node, scope, origin)
            if self._is_new(node, scope, ""):
                self.unexamined += 1
                self._check_operator(node, scope.versions, origin, scope.depth)
        except ModelError as error:
            if error.message != _UNKNOWN.reason and self._is_new(node, scope, error.message):
                self.add(origin, operator_key(node.domain, node.op_type), error)
        self._read_by_unknown.update((v, None) for v in operands if isinstance(v, Value) and v.constant is None)
        try:
            return self._stand_ins(node, scope, operands)
        except ModelError:  # its attributes cannot be read
            return [_UNKNOWN if name else None for name in node.output]

    def _is_new(self, node: NodeProto, scope: Scope, message: str) -> bool:
        """Whether something has not been said yet of a copy that a loop makes of a node; of other nodes always."""
        key = (id(node), message)
        if not scope.is_repeated or key not in self._repeated:
            self._repeated[key] = self._repeated[id(node), ""] = node  # one that failed has been looked at
            return True
        return False

    def _stand_ins(self, node: NodeProto, scope: Scope, operands: Sequence[Entity | None]) -> list[Entity | None]:
        """Return for each result of a node that fails an input of its type, where the model or ONNX knows that."""
        known = self._inferred(node, scope, operands)
        results: list[Entity | None] = []
        for name in node.output:
            tensor = scope.tensor(name) if name else None
            type_ = known.get(name) or (static_type(self._declared[tensor]) if tensor is not None and tensor in self._declared else None)
            results.append(None if not name else _UNKNOWN if type_ is None else self._builder.input(tensor or name, type_))
        return results

    def _inferred(self, node: NodeProto, scope: Scope, operands: Sequence[Entity | None]) -> Mapping[str, TensorType]:
        """Return the types that ONNX infers for a node's results; none where not every operand is a tensor."""
        version = scope.versions.get(domain_name(node.domain))
        values = [value for value in operands if value is None or isinstance(value, Value)]
        if version is None or len(values) < len(node.input) or len(operands) != len(node.input):
            return {}
        return inferred(resolved_node(node, given_attributes(node, scope.references, "")), version, values)

    def _check_operator(self, node: NodeProto, versions: Mapping[str, int], origin: str, depth: int) -> None:
        """Keep the error of a node that cannot be imported whatever its operands are, or of those below it."""
        key = operator_key(node.domain, node.op_type)
        function = self._functions.get(function_key(node))
        if depth > MAX_DEPTH or function_key(node) in self._checked:
            return
        if function is not None:
            self._checked.add(function_key(node))  # its nodes are named after the first call; a file of calls must not unfold here
            inner = imported_versions(function.opset_import, f"function {quoted(function.name)}")
            for index, part in enumerate(function.node):
                self._check_operator(part, inner, f"{origin}/{node_label(part, index)}", depth + 1)
            return
        version = versions.get(domain_name(node.domain))
        if version is None:  # the importer would say which domains there are
            error = ModelError(f"belongs to the domain {quoted(node.domain)}, which the model's opset_import does not name")
            self.add(origin, key, error)
        elif key not in self._known and key not in VARIANTS and key not in constructs() and not _has_body(node, version):
            self.add(origin, key, refusal(node, key, version, self._known, ""))
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                for index, part in enumerate(attribute.g.node):
                    self._check_operator(part, versions, f"{origin}/{node_label(part, index)}", depth + 1)


def _has_body(node: NodeProto, version: int) -> bool:
    """Whether ONNX defines an operator by simpler ones, for some types of operands at least."""
    try:
        schema: Any = defs.get_schema(node.op_type, version, domain_name(node.domain))
    except defs.SchemaError:
        return False
    return bool(schema.has_function or schema.has_context_dependent_function)

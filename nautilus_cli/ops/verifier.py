"""The verifier that runs after every pass: structure, and every type inferred anew."""

from __future__ import annotations

from nautilus_cli.errors import InternalError, NautilusError
from nautilus_cli.ir.graph import Graph
from nautilus_cli.ir.verifier import describe, verify_structure
from nautilus_cli.ops.inference import infer_types
from nautilus_cli.ops.registry import operators


def verify_graph(graph: Graph) -> None:
    """Check that GRAPH is well formed and that its operators' shape rules give the types of its values.

    Raises:
        InternalError: it is not, or they do not; names the node.
    """
    verify_structure(graph)
    known = operators()
    for node in graph.nodes:
        where = describe(node)
        if node.op not in known:
            raise InternalError(f"operator {node.op!r} is not in the registry", where=where)
        operator = known[node.op]
        if not isinstance(node.attrs, operator.attributes):
            raise InternalError(f"has attributes {type(node.attrs).__name__}, not {operator.attributes.__name__}", where=where)
        try:
            types = infer_types(operator, node.attrs, node.inputs, len(node.outputs))
        except NautilusError as error:
            raise InternalError(f"its shape rule refuses it: {error}", where=where) from error
        for number, (value, type_) in enumerate(zip(node.outputs, types, strict=False)):
            if value is not None and value.type != type_:
                raise InternalError(f"result {number} has the type {value.type}, its shape rule gives {type_}", where=where)

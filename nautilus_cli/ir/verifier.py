"""The structural verifier: what every graph must satisfy, whatever its operators mean."""

from __future__ import annotations

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.types import Sym, dtype_of


def verify_structure(graph: Graph) -> None:
    """Check single assignment, topological order, constants against their types, and dimension orders.

    Raises:
        InternalError: the graph breaks one of them; names the node.
    """
    defined: set[Value] = set()
    names: set[str] = set()
    for name, value in graph.inputs:
        if name in names:
            raise InternalError(f"two inputs are called {name!r}")
        if value in defined or value.constant is not None:
            raise InternalError(f"input {name!r} is another input or a constant")
        names.add(name)
        defined.add(value)
        _verify_value(value, f"input {name!r}")
    for node in graph.nodes:
        where = describe(node)
        for value in node.operands():
            if value not in defined and value.constant is None and value.contents is None:
                raise InternalError("reads a value that no earlier node computes (an unsorted or cyclic graph)", where=where)
            if value.constant is not None:
                _verify_value(value, where)
        if not any(True for _ in node.results()):
            raise InternalError("computes nothing", where=where)
        for value in node.results():
            if value in defined:
                raise InternalError("computes a value that is defined already", where=where)
            if value.constant is not None:
                raise InternalError("computes a constant", where=where)
            defined.add(value)
            _verify_value(value, where)
    if len({name for name, _ in graph.outputs}) < len(graph.outputs):
        raise InternalError("two outputs have the same name")
    for name, value in graph.outputs:
        if value not in defined and value.constant is None and value.contents is None:
            raise InternalError(f"output {name!r} is a value that nothing computes")


def describe(node: Node) -> str:
    """Return a node's place for messages: its operator and the ONNX nodes it came from."""
    return f"{node.op} ({', '.join(map(quoted, node.origin))})" if node.origin else node.op


def _verify_value(value: Value, where: str) -> None:
    """Check one value against its own type."""
    shape = value.type.shape
    if any(not isinstance(dim, Sym) and dim < 0 for dim in shape):
        raise InternalError(f"a value has the type {value.type}", where=where)
    if value.order is not None and sorted(value.order) != list(range(len(shape))):
        raise InternalError(f"a value of rank {len(shape)} is stored in the order {value.order}", where=where)
    if value.constant is not None and (dtype_of(value.constant) != value.type.dtype or value.constant.shape != shape):
        found = f"{dtype_of(value.constant)}{list(value.constant.shape)}"
        raise InternalError(f"a constant of type {value.type} holds {found}", where=where)

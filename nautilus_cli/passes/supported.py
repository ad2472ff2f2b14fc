"""Find what no kernel can do.

Requires: a decomposed graph. Changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Graph
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import HostOnly


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A node that cannot be compiled.

    Attributes:
        node: its ONNX name.
        op: its operator.
        reason: why.
    """

    node: str
    op: str
    reason: str


def unsupported(graph: Graph) -> tuple[Unsupported, ...]:
    """Return the nodes that only the compiler can evaluate, but whose operands it does not know."""
    found = []
    for node in graph.nodes:
        lowering = operators()[node.op].lowering
        if isinstance(lowering, HostOnly):
            found.append(Unsupported(", ".join(node.origin) or "a node without a name", node.op, lowering.reason))
    return tuple(found)


def require_supported(graph: Graph) -> Graph:
    """Return GRAPH unchanged.

    Raises:
        ModelError: a node cannot be compiled; lists the first few.
    """
    found = unsupported(graph)
    if found:
        lines = "; ".join(f"'{u.node}' ({u.op}): {u.reason}" for u in found[:5])
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        raise ModelError(f"{len(found)} nodes are not supported: {lines}{more}.", hint="`nautilus inspect MODEL` lists them all.")
    return graph

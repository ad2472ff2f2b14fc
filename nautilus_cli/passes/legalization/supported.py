"""Find what no kernel can do.

Requires: a decomposed graph. Changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.control import all_nodes
from nautilus_cli.ir.graph import Graph, Node
from nautilus_cli.ir.rewrite import prune
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Anchor, HostOnly

MOST_SPATIAL = 3
"""Depth, height and width."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A node that cannot be compiled.

    Attributes:
        node: its ONNX name.
        op: its operator.
        reason: why.
        hint: what would help; empty where nothing is known to.
    """

    node: str
    op: str
    reason: str
    hint: str = ""


def unsupported(graph: Graph) -> tuple[Unsupported, ...]:
    """Return the nodes for which there is no kernel."""
    reasons = ((node, _reason(node)) for node in all_nodes(graph))
    return tuple(
        Unsupported(", ".join(node.origin) or "a node without a name", node.op, why, _hint(node))
        for node, why in reasons
        if why is not None
    )


def without_unsupported(graph: Graph) -> Graph:
    """Return GRAPH with inputs in place of what unsupported nodes compute: so the rest can be looked at."""
    bad = [node for node in graph.nodes if _reason(node) is not None]
    results = tuple((f"result of {node.op}", value) for node in bad for value in node.results())
    return prune(replace(graph, inputs=(*graph.inputs, *results), nodes=tuple(node for node in graph.nodes if node not in bad)))


def _hint(node: Node) -> str:
    """Return what would help with a node that cannot be compiled."""
    is_host_only = isinstance(operators()[node.op].lowering, HostOnly)
    return "Where that follows from a graph input, fix it with --bind NAME=VALUE." if is_host_only else ""


def _reason(node: Node) -> str | None:
    """Return why NODE cannot be compiled, or None where it can."""
    lowering = operators()[node.op].lowering
    if isinstance(lowering, HostOnly):
        return lowering.reason
    if isinstance(lowering, Anchor) and any(v is not None for v in node.outputs[lowering.results :]):
        given = "its first result" if lowering.results == 1 else f"its first {lowering.results} results"
        return f"only {given} can be computed, but another one is read"
    if isinstance(lowering, Anchor) and lowering.slides_windows:
        spatial = len(next(node.operands()).type.shape) - 2
        return f"{spatial} spatial dimensions; at most {MOST_SPATIAL} are supported" if spatial > MOST_SPATIAL else None
    return None


def require_supported(graph: Graph) -> Graph:
    """Return GRAPH unchanged.

    Raises:
        ModelError: a node cannot be compiled; lists the first few.
    """
    found = unsupported(graph)
    if found:
        lines = "; ".join(f"'{u.node}' ({u.op}): {u.reason}" for u in found[:5])
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        count = "1 node is" if len(found) == 1 else f"{len(found)} nodes are"
        raise ModelError(f"{count} not supported: {lines}{more}.", hint="`nautilus check MODEL` lists them all.")
    return graph

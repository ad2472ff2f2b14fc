"""What nodes and operators are called."""

from __future__ import annotations

from onnx import NodeProto


def node_label(node: NodeProto, index: int) -> str:
    """Return what a node is called: its name, or `#12 Conv` where it has none."""
    return node.name or f"#{index} {node.op_type}"


def operator_key(domain: str, op_type: str) -> str:
    """Return an operator's key in the registry: its name, with `domain::` before it outside the default domain."""
    return op_type if is_default(domain) else f"{domain}::{op_type}"


def domain_name(domain: str) -> str:
    """Return a domain with one spelling for ONNX's own, the empty string."""
    return "" if is_default(domain) else domain


def is_default(domain: str) -> bool:
    """Whether a domain is ONNX's own (it has two spellings)."""
    return domain in ("", "ai.onnx")

"""Attributes of operators of any kind."""

from __future__ import annotations

from typing import Any

from nautilus_cli.ir.graph import Node


def attribute(node: Node, name: str, default: Any) -> Any:
    """Return an attribute by its ONNX name, DEFAULT where the operator has none of that name or it is left out."""
    value = getattr(node.attrs, name, None)
    return default if value is None else value

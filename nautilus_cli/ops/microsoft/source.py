"""Where the operators of this package are specified."""

from __future__ import annotations


def source(name: str, domain: str = "com.microsoft") -> str:
    """Return the source of an operator, of which there is one version."""
    return f"onnxruntime 1.32, ContribOperators.md, {domain}::{name}-1"

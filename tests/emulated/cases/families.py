"""One typical request of every family: a case whose text shows what the family can do."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from nautilus_cli.kernels.base import KernelRequest

_TYPICAL = {
    "pointwise": ("joins", 2),
    "linear_recurrence": ("rules", 12),
    "row": ("layer_norms", 4),
    "gather": ("embeddings", 9),
    "scan": ("fused", 6),
    "scatter": ("rows", 44),
    "top_k": ("moved", 6),
}
"""The function that gives the case and its number, where it is not the first of all."""


@cache
def representative(family: str) -> KernelRequest:
    """Return a typical request; the cases of a family lie in the module of its name."""
    function, number = _TYPICAL.get(family, ("cases", 0))
    request: KernelRequest = getattr(import_module(f"tests.emulated.cases.{family}"), function)()[number].request
    return request

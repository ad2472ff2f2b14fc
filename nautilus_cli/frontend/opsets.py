"""Opset versions: which are supported, and what a model or function imports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onnx import OperatorSetIdProto, defs

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.names import domain_name
from nautilus_cli.ir.names import quoted

OLDEST = 1
"""Of ONNX's first release; `variants.py` and `early_variants.py` say what each operator meant then."""


def newest() -> int:
    """Return the newest opset of ONNX's domain that the installed onnx knows."""
    return int(defs.onnx_opset_version())


def imported_versions(imports: Iterable[OperatorSetIdProto], where: str) -> Mapping[str, int]:
    """Return the version of each domain, ONNX's own as the empty string.

    Raises:
        ModelError: a domain has two versions, or ONNX's own has one that is not supported.
    """
    versions: dict[str, int] = {}
    for entry in imports:
        domain = domain_name(entry.domain)
        if versions.setdefault(domain, entry.version) != entry.version:
            raise ModelError(f"imports the domain {quoted(domain or 'ai.onnx')} in two versions", where=where)
    version = versions.get("")
    if version is not None and not OLDEST <= version <= newest():
        raise ModelError(
            f"opset {version} is not supported",
            where=where,
            hint=f"Supported are opsets {OLDEST} to {newest()}; export the model for one of them.",
        )
    return versions


def exists(op_type: str, version: int) -> bool:
    """Whether ONNX's domain has an operator in an opset."""
    return bool(defs.has(op_type, version, ""))

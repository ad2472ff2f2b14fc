"""What to say about an operator that cannot be imported."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import NodeProto, defs

from nautilus_cli.errors import ModelError, nearest
from nautilus_cli.frontend.advice import advice
from nautilus_cli.frontend.names import is_default
from nautilus_cli.ir.names import quoted
from nautilus_cli.ops.spec import Operator

_KINDS = ("seq(", "optional(", "map(", "string")


def refusal(node: NodeProto, key: str, version: int, known: Mapping[str, Operator], where: str) -> ModelError:
    """Return the error for an operator that has no support, and why."""
    if not is_default(node.domain):
        same = [name for name in known if name.startswith(f"{node.domain}::")]
        return ModelError(f"operator {quoted(key)} is not supported", where=where, hint=advice(key) or nearest(key, same or known))
    if not defs.has(node.op_type, ""):
        hint = advice(key) or nearest(node.op_type, known)
        return ModelError(f"{quoted(node.op_type)} is not an operator of ONNX", where=where, hint=hint)
    if not defs.has(node.op_type, version, ""):
        since = min(s.since_version for s in defs.get_all_schemas_with_history() if s.name == node.op_type and s.domain == "")
        return ModelError(f"does not exist in opset {version}, which the model declares", where=where, hint=f"It came with opset {since}.")
    schema = defs.get_schema(node.op_type, version, "")
    kinds = {
        kind
        for port in (*schema.inputs, *schema.outputs)
        for name in port.types
        for kind in _KINDS
        if kind in name and _only(port.types, kind)
    }
    if kinds:
        what = {"seq(": "sequences", "optional(": "optional values", "map(": "maps", "string": "strings"}
        return ModelError(
            f"operator {quoted(key)} works on {' and '.join(sorted(what[k] for k in kinds))}, which are not supported",
            where=where,
            hint=advice(key) or "Only dense tensors of numbers and booleans are.",
        )
    return ModelError(f"operator {quoted(key)} is not supported", where=where, hint=advice(key) or nearest(key, known))


def _only(types: set[str], kind: str) -> bool:
    """Whether every type that a port allows is of a kind."""
    return all(kind in name for name in types)

"""Model-local functions: finding them, and fitting nodes into and out of their bodies."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.names import domain_name
from nautilus_cli.ir.names import quoted

FunctionKey = tuple[str, str, str]
"""Domain, name and overload."""


def functions_by_key(model: ModelProto) -> dict[FunctionKey, FunctionProto]:
    """Return the model's functions by domain, name and overload.

    Raises:
        ModelError: one is defined twice.
    """
    found: dict[FunctionKey, FunctionProto] = {}
    for function in model.functions:
        key = (domain_name(function.domain), function.name, function.overload)
        if key in found:
            raise ModelError("is defined twice", where=f"function {quoted(function.name)}")
        found[key] = function
    return found


def function_key(node: NodeProto) -> FunctionKey:
    """Return the key of the function that a node calls, if it calls one."""
    return domain_name(node.domain), node.op_type, node.overload


def resolved_node(node: NodeProto, attributes: Mapping[str, AttributeProto]) -> NodeProto:
    """Return a copy of NODE with resolved attributes."""
    copy = NodeProto(op_type=node.op_type, domain=node.domain, input=node.input, output=node.output)
    for name, attribute in attributes.items():
        added = copy.attribute.add()
        added.CopyFrom(attribute)
        added.name = name
    return copy


def without_operands(nodes: Sequence[NodeProto], names: Collection[str]) -> Sequence[NodeProto]:
    """Return NODES without the operands of these names: a function's formal inputs that the call leaves out."""
    return [_without(node, names) for node in nodes] if names else nodes


def _without(node: NodeProto, names: Collection[str]) -> NodeProto:
    """Return NODE without the operands of these names."""
    if not any(name in names for name in node.input):
        return node
    copy = NodeProto()
    copy.CopyFrom(node)
    copy.input[:] = ["" if name in names else name for name in node.input]
    return copy

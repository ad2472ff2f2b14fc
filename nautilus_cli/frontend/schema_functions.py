"""Operators that ONNX itself defines by simpler ones: the body that stands for one without support of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto, defs

from nautilus_cli.frontend.names import domain_name
from nautilus_cli.ir.dims import is_symbolic
from nautilus_cli.ir.graph import Value
from nautilus_cli.ops.element_types import ONNX_NUMBERS


def schema_function(node: NodeProto, version: int, inputs: Sequence[Value | None]) -> FunctionProto | None:
    """Return the body of an operator, None where ONNX has none for it.

    Args:
        node: with every attribute resolved.
        version: opset version of its domain.
        inputs: operands; a body may depend on their types.
    """
    try:
        schema: Any = defs.get_schema(node.op_type, version, domain_name(node.domain))
    except defs.SchemaError:
        return None
    if schema.has_function:
        body = schema.function_body
    elif schema.has_context_dependent_function:
        types = [onnx_type(value).SerializeToString() for value in inputs]
        try:
            body = schema.get_context_dependent_function(node.SerializeToString(), types)
        except (RuntimeError, ValueError, TypeError):  # the node does not fit its schema
            return None
    else:
        return None
    return cast(FunctionProto, FunctionProto.FromString(body if isinstance(body, bytes) else body.SerializeToString()))


def schema_defaults(node: NodeProto, version: int) -> Mapping[str, AttributeProto]:
    """Return the defaults of an operator's attributes, for the references in its body."""
    schema = defs.get_schema(node.op_type, version, domain_name(node.domain))
    return {name: a.default_value for name, a in schema.attributes.items() if a.default_value.type != AttributeProto.UNDEFINED}


def onnx_type(value: Value | None) -> TypeProto:
    """Return a value's type as ONNX writes it; an open dimension is one without a size."""
    type_ = TypeProto()
    if value is not None:
        type_.tensor_type.elem_type = ONNX_NUMBERS[value.type.dtype]
        for dim in value.type.static:
            added = type_.tensor_type.shape.dim.add()
            if not is_symbolic(dim):
                added.dim_value = dim
    return type_

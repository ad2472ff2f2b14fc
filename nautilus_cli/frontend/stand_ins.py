"""Types of tensors whose node cannot be imported, as the model declares them or as ONNX infers them for that node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import NodeProto, ValueInfoProto, defs, helper, shape_inference

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.inputs import declared_type
from nautilus_cli.frontend.names import domain_name
from nautilus_cli.frontend.schema_functions import onnx_type
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType


def inferred(node: NodeProto, version: int, operands: Sequence[Value | None]) -> Mapping[str, TensorType]:
    """Return the types of a node's results by name, as far as ONNX knows them.

    Args:
        node: the node, with its attributes resolved.
        version: opset version of its domain.
        operands: what it reads; None where one is left out.
    """
    domain = domain_name(node.domain)
    types = {name: onnx_type(value) for name, value in zip(node.input, operands, strict=True) if value is not None}
    try:
        schema = defs.get_schema(node.op_type, version, domain)
        found = shape_inference.infer_node_outputs(schema, node, types, opset_imports=[helper.make_opsetid(domain, version)])
    except Exception:  # the node does not fit its schema: what its results are is anybody's guess
        return {}
    return {name: type_ for name, proto in found.items() if (type_ := static_type(ValueInfoProto(name=name, type=proto))) is not None}


def static_type(info: ValueInfoProto) -> TensorType | None:
    """Return a declared type, None where it is not the type of a dense tensor of known sizes."""
    try:
        declared = declared_type(info, "tensor")
    except ModelError:
        return None
    if declared.dims is None:
        return None
    sizes = tuple(dim for dim in declared.dims if isinstance(dim, int))
    return TensorType(declared.dtype, sizes) if len(sizes) == len(declared.dims) else None

"""One node of an older opset through onnx.version_converter: alone, so that no weight is ever copied.

The last resort, for operators without a variant of ours: the converter leaves some changes of meaning as they are (GroupNormalization of
opset 18, PRelu of opset 6) and refuses some that are legal (Add of opset 6 with an axis).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, helper, numpy_helper, version_converter

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ops.element_types import ONNX_NUMBERS

_INLINE_ELEMENTS = 1024
"""Constants up to here travel along: the converter turns some of them into attributes and back."""


def converted(
    node: NodeProto, attributes: Mapping[str, AttributeProto], inputs: Sequence[Value | None], version: int, wanted: int, where: str
) -> GraphProto:
    """Return nodes of opset WANTED that mean what NODE means in opset VERSION.

    The result's inputs and outputs have the names of the node's; small constants are initializers in it.

    Raises:
        ModelError: ONNX's converter cannot.
    """
    single = NodeProto(op_type=node.op_type, input=node.input, output=node.output)
    for name, attribute in attributes.items():
        copy = single.attribute.add()
        copy.CopyFrom(attribute)
        copy.name = name
    graph = GraphProto(name="node", node=[single])
    for name, value in dict(zip(node.input, inputs, strict=True)).items():
        if value is None:
            continue
        graph.input.append(helper.make_tensor_value_info(name, ONNX_NUMBERS[value.type.dtype], value.type.static))
        if value.constant is not None and value.constant.size <= _INLINE_ELEMENTS:
            graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value.constant).reshape(value.type.static), name))
    graph.output.extend(helper.make_empty_tensor_value_info(name) for name in node.output if name)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    try:
        result: ModelProto = version_converter.convert_version(model, wanted)
    except Exception as error:
        reason = str(error).strip().splitlines()
        raise ModelError(
            f"has another meaning in opset {version} than from opset {wanted} on, and ONNX's converter cannot translate it"
            + (f" ({reason[-1][:200]})" if reason else ""),
            where=where,
            hint=f"Export the model for opset {wanted} or later.",
        ) from error
    return result.graph

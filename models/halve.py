"""Makes a half-precision export consistent.

torch's TorchScript exporter writes the attention of a module in half precision with float32 mask constants, casts the scores to float32 to
match them, and so leaves operators with one operand of each type: not valid ONNX, and onnxruntime refuses it. In the module
itself every tensor there is float16, and so it is after `halve`.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper


def halve(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of MODEL in which every float32 tensor, constant and cast is float16."""
    half = onnx.ModelProto()
    half.CopyFrom(model)
    for tensor in half.graph.initializer:
        _halve_tensor(tensor)
    for node in half.graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                _halve_tensor(attribute.t)
            elif node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.FLOAT16
    for value in (*half.graph.input, *half.graph.output, *half.graph.value_info):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    return half


def _halve_tensor(tensor: TensorProto) -> None:
    if tensor.data_type != TensorProto.FLOAT:
        return
    if tensor.HasField("raw_data") or tensor.float_data:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), tensor.name))
    else:  # stripped of its data
        tensor.data_type = TensorProto.FLOAT16

"""Builds a graph node by node in the manner of one of torch's exporters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSETS = {"dynamo": 20, "torchscript": 17}
"""What each exporter writes today: with optimisation by default, and the greatest that the older one knows."""

_TYPES = {"fp32": (TensorProto.FLOAT, np.float32), "fp16": (TensorProto.FLOAT16, np.float16)}


class Builder:
    """A graph in the making.

    Args:
        exporter: `dynamo` or `torchscript`; says how constants, means and activations are written.
        dtype: `fp32` or `fp16`.
        seed: of the weights.
    """

    def __init__(self, exporter: str, dtype: str, seed: int) -> None:
        self.is_dynamo = exporter == "dynamo"
        self.opset = OPSETS[exporter]
        self.onnx_type, self.numpy_type = _TYPES[dtype]
        self.generator = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self._count = 0

    def _name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count}"

    def input(self, name: str, shape: Sequence[int], elem_type: int | None = None) -> str:
        """Declare an input; of the network's own type by default."""
        self.inputs.append(helper.make_tensor_value_info(name, self.onnx_type if elem_type is None else elem_type, list(shape)))
        return name

    def node(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Append a node and return the name of its output, or the names of several."""
        name = self._name(op.lower())
        names = [name] if outputs == 1 else [f"{name}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=f"node_{name}", **attributes))
        return names[0] if outputs == 1 else names

    def initializer(self, array: np.ndarray, stem: str = "weight") -> str:
        """Add a weight."""
        name = self._name(stem)
        self.initializers.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def normal(self, *shape: int, deviation: float, mean: float = 0.0) -> str:
        """Add a weight of random values in the network's type."""
        return self.initializer((self.generator.standard_normal(shape) * deviation + mean).astype(self.numpy_type))

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        """Return a constant: an initializer, or, as the older exporter has it, a node."""
        array = np.asarray(value, dtype=dtype)
        if self.is_dynamo:
            return self.initializer(array, "val")
        return str(self.node("Constant", value=numpy_helper.from_array(array)))

    def scalar(self, value: float) -> str:
        """Return a constant of rank 0 in the network's type."""
        return self.constant(value, self.numpy_type)

    def reshape(self, x: str, *shape: int) -> str:
        """Append a Reshape to a constant shape."""
        return str(self.node("Reshape", x, self.constant(shape), allowzero=0))

    def transpose(self, x: str, *perm: int) -> str:
        """Append a Transpose."""
        return str(self.node("Transpose", x, perm=list(perm)))

    def convolution(
        self, x: str, channels: int, filters: int, kernel: int, *, stride: int = 1, groups: int = 1, padding: int | None = None
    ) -> str:
        """Append a Conv with weights that keep the variance of rectified inputs (He et al. 2015, equation 10), and a bias."""
        fan_in = channels // groups * kernel * kernel
        weight = self.normal(filters, channels // groups, kernel, kernel, deviation=(2 / fan_in) ** 0.5)
        bias = self.normal(filters, deviation=0.1)
        pads = [kernel // 2 if padding is None else padding] * 4
        shape, strides = [kernel, kernel], [stride, stride]
        return str(self.node("Conv", x, weight, bias, dilations=[1, 1], group=groups, kernel_shape=shape, pads=pads, strides=strides))

    def spatial_mean(self, x: str) -> str:
        """Append the mean over height and width, both kept: each exporter has its own operator for it."""
        return str(self.node("ReduceMean", x, self.constant([-1, -2]), keepdims=1) if self.is_dynamo else self.node("GlobalAveragePool", x))

    def classifier(self, x: str, width: int, classes: int) -> str:
        """Append a fully connected layer, weights as torch stores them [out, in]."""
        weight, bias = self.normal(classes, width, deviation=width**-0.5), self.normal(classes, deviation=0.1)
        return str(self.node("Gemm", x, weight, bias, alpha=1.0, beta=1.0, transB=1))

    def flatten(self, x: str, batch: int, width: int) -> str:
        """Append what turns [batch, width, 1, 1] into [batch, width]."""
        return self.reshape(x, batch, width) if self.is_dynamo else str(self.node("Flatten", x, axis=1))

    def linear(self, x: str, width: int, result: int) -> str:
        """Append a product with a weight of [in, out] and then its bias, which the older exporter adds as the first operand."""
        product = self.node("MatMul", x, self.normal(width, result, deviation=width**-0.5))
        bias = self.normal(result, deviation=0.1)
        return str(self.node("Add", product, bias) if self.is_dynamo else self.node("Add", bias, product))

    def layer_norm(self, x: str, width: int, epsilon: float) -> str:
        """Append a LayerNormalization over the last dimension."""
        weight, bias = self.normal(width, deviation=0.1, mean=1.0), self.normal(width, deviation=0.1)
        if not self.is_dynamo:  # equal weights are stored once and passed on by name
            bias = self.node("Identity", bias)
        return str(self.node("LayerNormalization", x, weight, bias, axis=-1, epsilon=epsilon))

    def gelu(self, x: str) -> str:
        """Append the exact GELU: one operator, or the five that opset 17 needs."""
        if self.is_dynamo:
            return str(self.node("Gelu", x, approximate="none"))
        error = self.node("Erf", self.node("Div", x, self.scalar(2**0.5)))
        return str(self.node("Mul", self.node("Mul", x, self.node("Add", error, self.scalar(1.0))), self.scalar(0.5)))

    def model(self, name: str, output: str, shape: Sequence[int]) -> onnx.ModelProto:
        """Return the finished model with one output.

        Raises:
            onnx.checker.ValidationError: the graph is not valid.
        """
        result = helper.make_tensor_value_info(output, self.onnx_type, list(shape))
        graph = helper.make_graph(self.nodes, name, self.inputs, [result], self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8, producer_name="models.small")
        onnx.checker.check_model(model, full_check=True)
        return model

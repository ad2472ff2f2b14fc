"""Small ONNX models, made in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from nautilus_cli.errors import NautilusError
from nautilus_cli.frontend import LoadedModel, load_model
from nautilus_cli.frontend.external_data import ExternalData

OPSET = 20
FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64
BOOL = TensorProto.BOOL

Dims = Sequence[int | str | None]


def tensor_input(name: str, *dims: int | str | None, dtype: int = FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, dims)


def output(name: str, dtype: int = FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, None)


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], name: str | None = None, **attributes: object) -> NodeProto:
    return helper.make_node(op, inputs, outputs, name=name or "", **attributes)


def graph(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto] = (),
    outputs: Sequence[ValueInfoProto] = (),
    initializers: Mapping[str, np.ndarray] | None = None,
) -> GraphProto:
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in (initializers or {}).items()]
    return helper.make_graph(nodes, "g", inputs, outputs, tensors)


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto] = (),
    outputs: Sequence[ValueInfoProto] = (),
    initializers: Mapping[str, np.ndarray] | None = None,
    *,
    opset: int = OPSET,
    functions: Sequence[FunctionProto] = (),
    domains: Mapping[str, int] | None = None,
) -> ModelProto:
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, v) for d, v in (domains or {}).items())]
    return helper.make_model(
        graph(nodes, inputs, outputs, initializers), opset_imports=imports, functions=functions, ir_version=10, producer_name="tests"
    )


def unary(op: str, **attributes: object) -> ModelProto:
    """One node between the input x and the output y."""
    return model([node(op, ["x"], ["y"], "only", **attributes)], [tensor_input("x", 2, 3)], [output("y")])


def imported(
    proto: ModelProto, *, shapes: Mapping[str, Sequence[int]] | None = None, bindings: Mapping[str, str] | None = None
) -> LoadedModel:
    return load_model(proto, ExternalData(None), "", shapes=shapes or {}, bindings=bindings or {})


def told(error: NautilusError) -> str:
    """What an error says, its advice after a bar."""
    place = f"{error.where}: " if error.where else ""
    return f"{place}{error.message}" + (f" | {error.hint}" if error.hint else "")


def ops(loaded: LoadedModel) -> list[str]:
    return [n.op for n in loaded.graph.nodes]


def constant_output(loaded: LoadedModel, name: str = "y") -> np.ndarray:
    """The contents of an output that folded to a constant."""
    array = dict(loaded.graph.outputs)[name].constant
    assert array is not None
    return array


def saved(proto: ModelProto, folder: Path) -> Path:
    path = folder / "model.onnx"
    onnx.save(proto, path)
    return path

"""The tiny library over a fake image together with the ONNX model that it could have been compiled from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from nautilus_cli.artifact import bundle
from nautilus_cli.frontend.load import load
from tests.support import fake_library


def model() -> onnx.ModelProto:
    """total = x + y.1; sum = total + w; flat = sum's elements; picked = flat[index]."""
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
        helper.make_tensor_value_info("y.1", TensorProto.FLOAT, [2, 3]),
        helper.make_tensor_value_info("index", TensorProto.INT64, [2]),
    ]
    outputs = [
        helper.make_tensor_value_info("sum", TensorProto.FLOAT, [2, 3]),
        helper.make_tensor_value_info("picked", TensorProto.FLOAT, [2]),
    ]
    nodes = [
        helper.make_node("Add", ["x", "y.1"], ["total"]),
        helper.make_node("Add", ["total", "w"], ["sum"]),
        helper.make_node("Reshape", ["sum", "shape"], ["flat"]),
        helper.make_node("Gather", ["flat", "index"], ["picked"]),
    ]
    constants = [numpy_helper.from_array(fake_library.WEIGHTS, "w"), numpy_helper.from_array(np.array([-1]), "shape")]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write(folder: Path, host: bytes, image: bytes) -> tuple[Path, Path]:
    """Write model.onnx and libmodel.so; return their paths."""
    path, library = folder / "model.onnx", folder / "libmodel.so"
    onnx.save(model(), path)
    whole = fake_library.plan()
    variant = fake_library.variant(image, outputs=whole.outputs[:2], kernels=whole.kernels[:2], launches=whole.launches[:3])
    variant = type(variant)(target=variant.target, plan=variant.plan, symbols=variant.symbols[:2], images=variant.images)
    digest = bytes.fromhex(load(path).sha256)
    bundle.write(
        library, host_library=host, variants=(variant,), model_digest=digest, tools={"gcc": "12"}, producer="1.2.3", fp32_mode="ffma"
    )
    return path, library

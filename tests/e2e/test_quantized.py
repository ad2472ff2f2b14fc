"""Networks that onnxruntime's tools quantise, held against onnxruntime; and narrow types at the ports of a library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.frontend.load import load
from nautilus_cli.ops.evaluate import evaluate
from tests.e2e.networks import model, port
from tests.e2e.test_indexing import ORDERS

SHAPE = (2, 3, 12, 12)


def network() -> onnx.ModelProto:
    """Convolutions, one of them by channel, with what the tools quantise between them, pools, and a classifier."""
    rng = np.random.default_rng(0)
    weights = {
        name: (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        for name, shape in {"w1": (8, 3, 3, 3), "w2": (8, 8, 3, 3), "w3": (8, 1, 3, 3), "w4": (8, 10)}.items()
    }
    weights |= {name: rng.standard_normal(size).astype(np.float32) / 4 for name, size in {"b1": 8, "b4": 10}.items()}
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["first"], "first", pads=[1] * 4),
        helper.make_node("Relu", ["first"], ["relu"], "relu"),
        helper.make_node("Conv", ["relu", "w2"], ["second"], "second", pads=[1] * 4),
        helper.make_node("Add", ["second", "relu"], ["sum"], "sum"),
        helper.make_node("LeakyRelu", ["sum"], ["leaky"], "leaky", alpha=0.2),
        helper.make_node("Conv", ["leaky", "w3"], ["third"], "third", group=8, strides=[2, 2]),
        helper.make_node("Sigmoid", ["third"], ["gate"], "gate"),
        helper.make_node("Mul", ["third", "gate"], ["gated"], "gated"),
        helper.make_node("AveragePool", ["gated"], ["pooled"], "pool", kernel_shape=[2, 2]),
        helper.make_node("Concat", ["pooled", "pooled"], ["joined"], "join", axis=2),
        helper.make_node("GlobalAveragePool", ["joined"], ["mean"], "mean"),
        helper.make_node("Flatten", ["mean"], ["flat"], "flat"),
        helper.make_node("Gemm", ["flat", "w4", "b4"], ["logits"], "classifier"),
        helper.make_node("Softmax", ["logits"], ["y"], "softmax"),
    ]
    return model(nodes, [port("x", *SHAPE)], [port("y", 2, 10)], weights, opset=17)


class Samples(CalibrationDataReader):
    """Eight images."""

    def __init__(self) -> None:
        self._seeds = iter(range(8))

    def get_next(self) -> dict[str, np.ndarray] | None:
        seed = next(self._seeds, None)
        return None if seed is None else {"x": np.random.default_rng(seed).standard_normal(SHAPE).astype(np.float32)}


def static(quant_format: QuantFormat, **options: Any) -> Callable[[Path, Path], None]:
    return lambda source, target: quantize_static(source, target, Samples(), quant_format=quant_format, **options)


WAYS: dict[str, Callable[[Path, Path], None]] = {
    "dynamic": quantize_dynamic,
    "pairs": static(QuantFormat.QDQ),
    "pairs by channel": static(QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QInt8),
    "operators": static(QuantFormat.QOperator),
    "operators by channel": static(QuantFormat.QOperator, per_channel=True, activation_type=QuantType.QInt8),
}
EXPECTED = {"dynamic": "ConvInteger", "pairs": "QuantizeLinear", "operators": "QLinearConv"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", WAYS)
def test_agrees_with_onnxruntime(way: str, tmp_path: Path) -> None:
    source, path = tmp_path / "float.onnx", tmp_path / "quantised.onnx"
    onnx.save(network(), source)
    WAYS[way](source, path)
    assert EXPECTED[way.partition(" ")[0]] in {node.op_type for node in onnx.load(path).graph.node}
    compiled = driver.compile(driver.CompileOptions(model=path, output=tmp_path / "libmodel.so", target="emulated"))
    assert compiled.verification is not None
    assert compiled.verification.reference.startswith("onnxruntime")
    (compared,) = compiled.verification.comparisons.values()
    assert compared.is_match, str(compared)


NARROW = {
    "e4m3": (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn),
    "e5m2": (TensorProto.FLOAT8E5M2, ml_dtypes.float8_e5m2),
    "i4": (TensorProto.INT4, ml_dtypes.int4),
    "u4": (TensorProto.UINT4, ml_dtypes.uint4),
    "i2": (TensorProto.INT2, ml_dtypes.int2),
}


def converter() -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Each narrow type as an input, a weight that is packed in the file, and an output of odd size, moved and computed on between."""
    rng = np.random.default_rng(1)
    nodes, inputs, outputs, weights, feeds = [], [], [], {}, {}
    for name, (number, dtype) in NARROW.items():
        # 15 elements: the last byte of a packed weight is half full.
        weights[f"{name}_w"] = rng.integers(0, 2, (3, 5)).astype(np.float32).astype(dtype)
        feeds[f"{name}_x"] = np.rint(2 * rng.standard_normal((3, 5))).astype(np.float32).astype(dtype)
        inputs.append(helper.make_tensor_value_info(f"{name}_x", number, (3, 5)))
        outputs.append(helper.make_tensor_value_info(f"{name}_y", number, (5, 3)))
        nodes += [
            helper.make_node("DequantizeLinear", [f"{name}_x", "scale"], [f"{name}_real"]),
            helper.make_node("DequantizeLinear", [f"{name}_w", "scale"], [f"{name}_weight"]),
            helper.make_node("Add", [f"{name}_real", f"{name}_weight"], [f"{name}_sum"]),
            helper.make_node("QuantizeLinear", [f"{name}_sum", "scale"], [f"{name}_quantised"], output_dtype=number),
            helper.make_node("Transpose", [f"{name}_quantised"], [f"{name}_y"], perm=[1, 0]),
        ]
    return model(nodes, inputs, outputs, {**weights, "scale": np.array(0.5, np.float32)}, opset=25), feeds


def test_narrow_types_at_ports(tmp_path: Path) -> None:
    path, output = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    proto, feeds = converter()
    onnx.save(proto, path)
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", verify=False))
    expected = evaluate(load(path).graph, feeds)
    with nautilus_cli.load(output) as library:
        assert {tensor.name: tensor.dtype for tensor in library.inputs} == {name: array.dtype for name, array in feeds.items()}
        for options in ORDERS:
            library.configure_emulator(options)
            found = {name: np.asarray(array) for name, array in library(feeds).items()}
            for name, wanted in expected.items():
                assert found[name].dtype == wanted.dtype
                np.testing.assert_array_equal(found[name].view(np.uint8), wanted.view(np.uint8), err_msg=f"{name} with {options}")

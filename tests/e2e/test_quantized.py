"""Networks that onnxruntime's tools quantise, held against onnxruntime; and narrow types at the ports of a library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.frontend.load import load
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.numerics import compare, derived
from nautilus_cli.ops.element_types import dtype_from_onnx
from nautilus_cli.ops.evaluate import evaluate
from tests.e2e.every_order import ORDERS, Sketch
from tests.e2e.networks import model, port
from tests.e2e.test_contrib import bert, contrib, contrib_model

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


@pytest.mark.filterwarnings("ignore")
def test_one_library_for_a_range_of_batches(tmp_path: Path) -> None:
    source, path, output = (tmp_path / name for name in ("float.onnx", "quantised.onnx", "libmodel.so"))
    proto = network()
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.save(proto, source)
    WAYS["operators"](source, path)
    options = driver.CompileOptions(model=path, output=output, target="emulated", dims={"batch": DimRange(1, 5)}, verify=False)
    driver.compile(options)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    with nautilus_cli.load(output) as library:
        for batch in (1, 2, 3, 5):
            x = np.random.default_rng(batch).standard_normal((batch, *SHAPE[1:])).astype(np.float32)
            found, (wanted,) = np.asarray(library({"x": x})["y"]), session.run(None, {"x": x})
            result = compare(found, wanted, derived(wanted, terms=72, depth=14))
            assert result.is_match, f"batch {batch}: {result}"


def recurrent() -> onnx.ModelProto:
    """An LSTM and a product behind it."""
    rng = np.random.default_rng(4)
    shapes = {"w": (1, 64, 12), "r": (1, 64, 16), "b": (1, 128), "p": (16, 5)}
    weights = {name: (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32) for name, shape in shapes.items()}
    nodes = [
        helper.make_node("LSTM", ["x", "w", "r", "b"], ["y", "h"], "layer", hidden_size=16),
        helper.make_node("MatMul", ["h", "p"], ["z"], "product"),
    ]
    return model(nodes, [port("x", 6, 1, 12)], [port("y", 6, 1, 1, 16), port("z", 1, 1, 5)], weights, opset=17)


def transformer() -> onnx.ModelProto:
    sketch = Sketch()
    bert(sketch)
    found = contrib_model(sketch)
    for result in found.graph.output:
        result.type.tensor_type.elem_type = TensorProto.FLOAT  # the tools ask for one
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("build", "is_optimised", "expected"),
    [(recurrent, False, "DynamicQuantizeLSTM"), (transformer, False, "QAttention"), (transformer, True, "DynamicQuantizeMatMul")],
)
def test_dynamic_networks_agree_with_onnxruntime(
    build: Callable[[], onnx.ModelProto], is_optimised: bool, expected: str, tmp_path: Path
) -> None:
    source, path = tmp_path / "float.onnx", tmp_path / "quantised.onnx"
    onnx.save(build(), source)
    quantize_dynamic(source, path, weight_type=QuantType.QInt8, extra_options={"DefaultTensorType": TensorProto.FLOAT})
    if is_optimised:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        path = tmp_path / "optimised.onnx"
    assert expected in {node.op_type for node in onnx.load(path).graph.node}
    compiled = driver.compile(driver.CompileOptions(model=path, output=tmp_path / "libmodel.so", target="emulated"))
    assert compiled.verification is not None, compiled.notes
    for name, compared in compiled.verification.comparisons.items():
        assert compared.is_match, f"{name}: {compared}"


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


def test_bits_pass_unchanged(tmp_path: Path) -> None:
    """Every code of the narrow floats, NaNs among them, as integers and back, moved on the way."""
    path, output = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    pairs = [
        (TensorProto.FLOAT16, TensorProto.UINT16),
        (TensorProto.BFLOAT16, TensorProto.INT16),
        (TensorProto.FLOAT8E5M2, TensorProto.UINT8),
    ]
    nodes, inputs, outputs, feeds = [], [], [], {}
    for number, pair in enumerate(pairs):
        for way, (source, target) in enumerate((pair, pair[::-1])):
            dtype = dtype_from_onnx(source)
            name = f"{number}{way}"
            shape = (2 ** (dtype.bits // 2),) * 2
            feeds[f"x{name}"] = np.arange(2**dtype.bits, dtype=f"u{dtype.bytes}").reshape(shape).view(dtype.numpy)
            inputs.append(helper.make_tensor_value_info(f"x{name}", source, shape))
            outputs.append(helper.make_tensor_value_info(f"y{name}", target, shape))
            nodes.append(helper.make_node("Transpose", [f"x{name}"], [f"t{name}"]))
            nodes.append(helper.make_node("BitCast", [f"t{name}"], [f"y{name}"], to=target))
    onnx.save(model(nodes, inputs, outputs, opset=26), path)
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", verify=False))
    with nautilus_cli.load(output) as library:
        found = {name: np.asarray(array) for name, array in library(feeds).items()}
    for name, array in feeds.items():
        result = found[f"y{name[1:]}"]
        assert result.dtype != array.dtype
        bits = f"u{array.itemsize}"
        np.testing.assert_array_equal(result.view(bits), np.ascontiguousarray(array.T).view(bits), err_msg=name)


def products(s: Sketch) -> None:
    """Weights of 4 bits that stay packed (a megabyte of values and more) and that do not, and products of quantised operands."""
    rng = np.random.default_rng(2)
    for k, n in ((1024, 1056), (48, 7)):
        blocks = -(-k // 32)
        b = s.constant(rng.integers(0, 256, (n, blocks, 16)).astype(np.uint8))
        scales = s.constant((0.01 * (1 + rng.random((n, blocks)))).astype(np.float32))
        points = s.constant(rng.integers(0, 256, (n, -(-blocks // 2))).astype(np.uint8))
        for operands in ((b, scales), (b, scales, points)):
            s.node("Relu", contrib(s, "MatMulNBits", s.floats(3, k), *operands, K=k, N=n, bits=4, block_size=32))
    table, scales = rng.integers(0, 256, (30, 24)).astype(np.uint8), (0.05 * (1 + rng.random((30, 3)))).astype(np.float32)
    contrib(s, "GatherBlockQuantized", s.constant(table), s.integers(-30, 30, 4), s.constant(scales), block_size=16)
    codes = s.constant(rng.integers(-90, 90, (40, 9)).astype(np.int8))
    scale, point = s.constant((0.01 * (1 + rng.random(9))).astype(np.float32)), s.constant(np.full(9, 3, np.int8))
    s.node("Relu", contrib(s, "DynamicQuantizeMatMul", s.floats(2, 5, 40), codes, scale, point, s.floats(9)))
    large = s.constant(rng.integers(-90, 90, (520, 520)).astype(np.int8))  # stays in 8 bits
    contrib(s, "DynamicQuantizeMatMul", s.floats(3, 520), large, s.constant(np.float32(0.01)), s.constant(np.int8(2)))
    a_scale, a_point = s.constant(np.float32(0.02)), s.constant(np.uint8(120))
    image = s.integers(0, 255, 2, 5, 40, dtype=np.uint8)
    contrib(s, "MatMulIntegerToFloat", image, codes, a_scale, scale, a_point, point)
    weights, bias = s.constant(rng.integers(-40, 40, (40, 48)).astype(np.int8)), s.floats(48)
    contrib(s, "QAttention", image, weights, bias, a_scale, a_scale, "", a_point, num_heads=2)


def recurrences(s: Sketch) -> None:
    rng = np.random.default_rng(3)
    for direction, count in (("forward", 1), ("bidirectional", 2)):
        w, r = (s.constant(rng.integers(-90, 90, (count, rows, 64)).astype(np.int8)) for rows in (12, 16))
        scale, point = s.constant(np.full(count, 0.006, np.float32)), s.constant(np.zeros(count, np.int8))
        operands = (s.floats(5, 1, 12), w, r, s.floats(count, 128), "", "", "", "", scale, point, scale, point)
        contrib(s, "DynamicQuantizeLSTM", *operands, outputs=3, hidden_size=16, direction=direction)


@pytest.mark.parametrize("part", [products, recurrences])
def test_operators_of_microsoft_agree_with_onnxruntime(part: Callable[[Sketch], None], tmp_path: Path) -> None:
    sketch = Sketch()
    part(sketch)
    path, output = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    onnx.save(contrib_model(sketch), path)
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", verify=False))
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    expected = dict(zip([o.name for o in session.get_outputs()], session.run(None, sketch.feeds), strict=True))
    with nautilus_cli.load(output) as library:
        for options in ORDERS:
            library.configure_emulator(options)
            found = {name: np.asarray(array) for name, array in library(sketch.feeds).items()}
            for name, wanted in expected.items():
                result = compare(found[name], wanted, derived(wanted, terms=1024 if part is products else 140, depth=8))
                assert result.is_match, f"{name} with {options}: {result}"

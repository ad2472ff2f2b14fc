"""Quantised operators of com.microsoft against onnxruntime."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nautilus_cli.ops.folding import MAX_UNPACKED_BYTES
from nautilus_cli.ops.registry import operators
from tests.unit.ops.lowered import lowered
from tests.unit.ops.microsoft.contrib import agrees, agrees_in_half, floats, refuses
from tests.unit.ops.oracle import check, onnxruntime_says

BYTES = pytest.mark.parametrize("dtype", [np.uint8, np.int8])


def number(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def quantised(rng: np.random.Generator, dtype: Any, *shape: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def parameters(rng: np.random.Generator, dtype: Any, scale: float) -> list[np.ndarray]:
    """A scale without a short binary form, so that hardly a quotient is a tie, and a zero point off the middle."""
    limits = np.iinfo(dtype)
    return [number(scale * (1 + rng.random() / 7)), np.array(rng.integers(limits.min + 90, limits.max - 90), dtype)]


@BYTES
@pytest.mark.parametrize("shapes", [((3, 5, 7), (3, 5, 7)), ((3, 5, 7), (5, 1)), ((), (4,))])
@pytest.mark.parametrize(("op", "scale"), [("QLinearAdd", 0.07), ("QLinearMul", 0.3)])
def test_binary(op: str, scale: float, shapes: tuple[tuple[int, ...], ...], dtype: Any) -> None:
    rng = np.random.default_rng(3)
    operands: list[np.ndarray | None] = []
    for shape in shapes:
        operands += [quantised(rng, dtype, *shape), *parameters(rng, dtype, 0.04)]
    agrees(op, [*operands, *parameters(rng, dtype, scale)])
    agrees(op, [*operands, number(scale * 1.01)])


@BYTES
@pytest.mark.parametrize(("op", "attrs", "scale"), [("QLinearLeakyRelu", {"alpha": 0.3}, 0.03), ("QLinearSigmoid", {}, 0.0039)])
def test_unary(op: str, attrs: dict[str, Any], scale: float, dtype: Any) -> None:
    rng = np.random.default_rng(4)
    every = np.arange(256, dtype=np.uint8).view(dtype).reshape(4, 64)
    zero = np.iinfo(dtype).min
    agrees(op, [every, *parameters(rng, dtype, 0.04), number(scale), np.array(zero if op == "QLinearSigmoid" else 3, dtype)], attrs)


@BYTES
@pytest.mark.parametrize("attrs", [{"axis": -1, "opset": 13}, {"axis": 1, "opset": 13}, {"axis": 1, "opset": 12}])
def test_softmax(attrs: dict[str, Any], dtype: Any) -> None:
    """onnxruntime adds up exponentials from a table of integers, which rounds: it may be one step off."""
    rng = np.random.default_rng(5)
    operands = [quantised(rng, dtype, 3, 4, 6), *parameters(rng, dtype, 0.02), number(1 / 256), np.array(np.iinfo(dtype).min, dtype)]
    operator = operators()["com.microsoft::QLinearSoftmax"]
    (found,) = operator.evaluate(operator.attributes(**attrs), tuple(operands), 1)
    (expected,) = onnxruntime_says("com.microsoft::QLinearSoftmax", operands, attrs, 1, 22)
    assert found.dtype == expected.dtype
    assert np.abs(found.astype(int) - expected.astype(int)).max() <= 1
    assert (found == expected).mean() > 0.9
    sums = (found.astype(int) - np.iinfo(dtype).min).sum(-1 if attrs["axis"] == -1 else 1) if attrs["opset"] == 13 else np.array(256)
    assert np.abs(sums - 256).max() <= 6


@BYTES
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("attrs", [{}, {"pads": [1, 1, 0, 1], "strides": [2, 1]}, {"pads": [1, 1, 1, 1], "count_include_pad": 1}])
def test_average_pool(attrs: dict[str, Any], last: int, dtype: Any) -> None:
    rng = np.random.default_rng(6)
    shape = (2, 6, 7, 3) if last else (2, 3, 6, 7)
    operands = [quantised(rng, dtype, *shape), *parameters(rng, dtype, 0.04), *parameters(rng, dtype, 0.021)]
    agrees("QLinearAveragePool", operands, {"kernel_shape": [3, 2], "channels_last": last, **attrs})


@BYTES
@pytest.mark.parametrize("last", [0, 1])
def test_global_average_pool(last: int, dtype: Any) -> None:
    rng = np.random.default_rng(7)
    shape = (2, 5, 7, 3) if last else (2, 3, 5, 7)
    operands = [quantised(rng, dtype, *shape), *parameters(rng, dtype, 0.04), *parameters(rng, dtype, 0.011)]
    agrees("QLinearGlobalAveragePool", operands, {"channels_last": last})


@BYTES
def test_concat(dtype: Any) -> None:
    rng = np.random.default_rng(8)
    result = parameters(rng, dtype, 0.05)
    tensors = [[quantised(rng, dtype, 2, n, 3), *(result if n == 4 else parameters(rng, dtype, 0.04))] for n in (1, 4, 2)]
    agrees("QLinearConcat", [*result, *(a for each in tensors for a in each)], {"axis": 1})


@BYTES
def test_where(dtype: Any) -> None:
    rng = np.random.default_rng(9)
    operands = [rng.random((3, 5)) < 0.5]
    for shape in ((3, 5), (5,)):
        operands += [quantised(rng, dtype, *shape), *parameters(rng, dtype, 0.04)]
    agrees("QLinearWhere", [*operands, *parameters(rng, dtype, 0.05)])


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("attrs", [{}, {"transA": 1, "transB": 1, "alpha": 0.7}])
@pytest.mark.parametrize("bias", [None, (6,), (5, 6)])
@pytest.mark.parametrize("is_quantised", [False, True])
def test_gemm(columns: bool, attrs: dict[str, Any], bias: tuple[int, ...] | None, is_quantised: bool) -> None:
    rng = np.random.default_rng(10)
    a, b = quantised(rng, np.uint8, 5, 9), quantised(rng, np.int8, 9, 6)
    scale = (0.02 * (1 + rng.random(6))).astype(np.float32) if columns else number(0.023)
    zero_point = rng.integers(-5, 5, 6).astype(np.int8) if columns else np.array(3, np.int8)
    c = None if bias is None else rng.integers(-9000, 9000, bias).astype(np.int32)
    operands = [a.T.copy() if attrs else a, *parameters(rng, np.uint8, 0.04), b.T.copy() if attrs else b, scale, zero_point, c]
    agrees("QGemm", [*operands, *(parameters(rng, np.uint8, 0.9) if is_quantised else ())], attrs, terms=9)


@BYTES
@pytest.mark.parametrize("columns", [False, True])
def test_product_to_float(columns: bool, dtype: Any) -> None:
    rng = np.random.default_rng(11)
    a, b = quantised(rng, np.uint8, 2, 5, 40), quantised(rng, dtype, 40, 7)
    scale = (0.02 * (1 + rng.random(7))).astype(np.float32) if columns else number(0.02)
    zero_point = quantised(rng, dtype, 7) if columns else np.array(7, dtype)
    a_scale, a_zero_point = parameters(rng, np.uint8, 0.04)
    agrees("MatMulIntegerToFloat", [a, b, a_scale, scale, a_zero_point, zero_point, floats(rng, 7)], terms=40)
    agrees("MatMulIntegerToFloat", [a, b, a_scale, scale], terms=40)
    agrees("DynamicQuantizeMatMul", [floats(rng, 2, 5, 40), b, scale, zero_point, floats(rng, 7)], terms=40)
    agrees("DynamicQuantizeMatMul", [floats(rng, 5, 40) + 3, b, scale], terms=40)


def packed(codes: np.ndarray, bits: int) -> np.ndarray:
    """Return codes of the last dimension in bytes, the first in the low bits; the last byte is filled with zeros."""
    per = 8 // bits
    whole = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % per)])
    groups = whole.reshape(*codes.shape[:-1], -1, per).astype(np.uint8) << (np.arange(per, dtype=np.uint8) * bits)
    return np.bitwise_or.reduce(groups, axis=-1)


def nbits(rng: np.random.Generator, bits: int, k: int, n: int, block: int) -> tuple[list[np.ndarray], dict[str, int], np.ndarray]:
    """Return B, scales and packed zero points, attributes, and the codes of the zero points."""
    blocks = -(-k // block)
    codes = rng.integers(0, 1 << bits, (n, blocks, block))
    points = rng.integers(0, 1 << bits, (n, blocks))
    scales = (0.05 * (0.5 + rng.random((n, blocks)))).astype(np.float32)
    return [packed(codes, bits), scales, packed(points, bits)], {"K": k, "N": n, "bits": bits, "block_size": block}, points


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize(("k", "n", "block"), [(64, 7, 16), (96, 5, 32), (80, 3, 32), (16, 4, 16), (300, 2, 128)])
def test_product_with_few_bits(bits: int, k: int, n: int, block: int) -> None:
    rng = np.random.default_rng(12)
    (b, scales, zero_points), attrs, points = nbits(rng, bits, k, n, block)
    a = floats(rng, 2, 3, k)
    agrees("MatMulNBits", [a, b, scales], attrs, terms=k)
    agrees("MatMulNBits", [a, b, scales, zero_points], attrs, terms=k)
    agrees("MatMulNBits", [a[0], b, scales, zero_points, None, floats(rng, n)], attrs, terms=k)
    if bits == 4:
        agrees("MatMulNBits", [a, b, scales, points.astype(np.float32) + np.float32(0.25)], attrs, terms=k)
        agrees_in_half("MatMulNBits", [a, b, scales, zero_points], attrs, terms=k)


def test_large_packed_weights_stay_packed() -> None:
    from nautilus_cli.ir.types import F32, TensorType
    from nautilus_cli.ops.builder import GraphBuilder

    rng = np.random.default_rng(13)
    k, n = 1024, MAX_UNPACKED_BYTES // 1024 + 1
    (b, scales, _), attrs, _ = nbits(rng, 4, k, n, 32)
    builder = GraphBuilder()
    x = builder.input("x", TensorType(F32, (2, k)))
    operator = operators()["com.microsoft::MatMulNBits"]
    operator.lowering.build(builder, operator.attributes(**attrs), (x, builder.constant(b), builder.constant(scales)))  # type: ignore[union-attr]
    constants = [v.constant for node in builder.nodes for v in node.operands() if v.constant is not None]
    assert "nautilus::UnpackBits" in [node.op for node in builder.nodes]
    assert max(c.nbytes for c in constants) == b.nbytes


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"bits": 3}, "bits is 3; the specification allows 2, 4, 8"),
        ({"block_size": 24}, "block_size is 24; the specification requires a power of two"),
        ({"block_size": 8}, "of 16 at least"),
        ({"K": 65}, r"operand 'A' has shape \[3, 64\]; the specification requires 65"),
        ({"N": 8}, "operand 'B' has shape"),
        ({"weight_prepacked": 1}, "laid out for another library's kernels"),
    ],
)
def test_refused_products(changed: dict[str, int], message: str) -> None:
    rng = np.random.default_rng(14)
    (b, scales, _), attrs, _ = nbits(rng, 4, 64, 7, 16)
    refuses("MatMulNBits", [floats(rng, 3, 64), b, scales], {**attrs, **changed}, message)


def test_refused_group_index() -> None:
    rng = np.random.default_rng(14)
    (b, scales, _), attrs, _ = nbits(rng, 4, 64, 7, 16)
    refuses("MatMulNBits", [floats(rng, 3, 64), b, scales, None, np.zeros(64, np.int32)], attrs, "'g_idx' is given")


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("weight", [np.int8, np.uint8])
def test_attention(columns: bool, masked: bool, weight: Any) -> None:
    rng = np.random.default_rng(15)
    heads, size, length, batch, inner = 2, 8, 5, 2, 12
    width = 3 * heads * size
    x, weights = (
        quantised(rng, np.uint8, batch, length, inner),
        rng.integers(-30 if weight == np.int8 else 0, 30, (inner, width)).astype(weight),
    )
    scale = (0.01 * (1 + rng.random(width))).astype(np.float32) if columns else number(0.013)
    zero_point = np.full(width, 2, weight) if columns else np.array(2, weight)
    mask = np.array([3, 5], np.int32) if masked else None
    operands = [x, weights, floats(rng, width), number(0.02), scale, mask, np.array(120, np.uint8), zero_point]
    agrees("QAttention", operands, {"num_heads": heads, "unidirectional": int(masked)}, terms=inner + length + size)


@pytest.mark.parametrize("domain", ["com.microsoft::", ""])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
def test_quantise_and_back(domain: str, dtype: Any) -> None:
    rng = np.random.default_rng(16)
    x = 40 * floats(rng, 3, 4, 50)
    scale, zero_point = (0.1 * (1 + rng.random(4))).astype(np.float32), rng.integers(0, 50, 4).astype(dtype)
    operands = [quantised(rng, dtype, 3, 4, 5), scale, zero_point]
    opset = 22
    check(f"{domain}QuantizeLinear", [x, scale, zero_point], {"axis": 1}, opset=opset, oracle=onnxruntime_says)
    check(f"{domain}DequantizeLinear", operands, {"axis": 1}, opset=opset, oracle=onnxruntime_says)
    check(f"{domain}QuantizeLinear", [x, number(0.13), zero_point[:1].reshape(())], opset=opset, oracle=onnxruntime_says)
    check(f"{domain}DequantizeLinear", [operands[0], scale[:1], zero_point[:1]], opset=opset, oracle=onnxruntime_says)


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_lstm(direction: str, dtype: Any, columns: bool) -> None:
    """One sequence: of several, onnxruntime rounds the states by a range that depends on its threads."""
    rng = np.random.default_rng(17)
    steps, inputs, hidden, directions = 5, 12, 16, 2 if direction == "bidirectional" else 1
    low, zero = (-90, 0) if dtype == np.int8 else (0, 120)
    w = rng.integers(low, low + 180, (directions, inputs, 4 * hidden)).astype(dtype)
    r = rng.integers(low, low + 180, (directions, hidden, 4 * hidden)).astype(dtype)
    shape = (directions, 4 * hidden) if columns else (directions,)
    parameters = [(0.004 * (1 + rng.random(shape))).astype(np.float32), np.full(shape, zero, dtype)]
    states = [floats(rng, directions, 1, hidden) / 2 for _ in range(2)]
    operands = [floats(rng, steps, 1, inputs), w, r, floats(rng, directions, 8 * hidden), None, *states, None, *parameters, *parameters]
    attrs = {"hidden_size": hidden, "direction": direction}
    agrees("DynamicQuantizeLSTM", operands, attrs, outputs=3, terms=inputs + hidden, depth=8 * steps)


def test_lstm_of_several_sequences() -> None:
    """Each is what it is alone, but that the input is rounded by one range."""
    rng = np.random.default_rng(18)
    steps, batch, inputs, hidden = 4, 3, 6, 8
    w, r = (rng.integers(-90, 90, (1, rows, 4 * hidden)).astype(np.int8) for rows in (inputs, hidden))
    parameters = [np.full(1, 0.006, np.float32), np.zeros(1, np.int8)]
    x = floats(rng, steps, batch, inputs)
    x[0, :, 0], x[0, :, 1] = 4, -4  # the same range in every sequence
    operator = operators()["com.microsoft::DynamicQuantizeLSTM"]

    def run(x: np.ndarray) -> np.ndarray:
        rest = [None, None, None, None, None, *parameters, *parameters]
        return operator.evaluate(operator.attributes(hidden_size=hidden), (x, w, r, *rest), 3)[0]

    together = run(x)
    for number in range(batch):
        np.testing.assert_array_equal(together[:, :, number], run(x[:, number : number + 1])[:, :, 0])


@pytest.mark.parametrize("last", [0, 1])
def test_convolution(last: int) -> None:
    rng = np.random.default_rng(19)
    x = quantised(rng, np.uint8, *((2, 7, 6, 4) if last else (2, 4, 7, 6)))
    w = rng.integers(-90, 90, (6, 4, 3, 3)).astype(np.int8)
    scale, zero = (0.001 * (1 + rng.random(6))).astype(np.float32), np.zeros(6, np.int8)
    bias = rng.integers(-3000, 3000, 6).astype(np.int32)
    operands = [x, *parameters(rng, np.uint8, 0.02), w, scale, zero, *parameters(rng, np.uint8, 0.3), bias]
    agrees("QLinearConv", operands, {"channels_last": last, "pads": [1, 0, 1, 1], "strides": [2, 1]})


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("segments", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_embeddings(masked: bool, segments: bool, dtype: Any) -> None:
    rng = np.random.default_rng(20)
    batch, length, hidden = 2, 5, 8
    tables = [quantised(rng, dtype, *shape) for shape in ((20, hidden), (9, hidden), (2, hidden), (hidden,), (hidden,))]
    rows = [parameters(rng, dtype, 0.02) for _ in tables]
    ids, kinds = rng.integers(0, 20, (batch, length)).astype(np.int32), rng.integers(0, 2, (batch, length)).astype(np.int32)
    mask = np.array([[1, 1, 1, 0, 0], [1] * 5], np.int32) if masked else None
    operands = [ids, kinds, *tables, mask, *(scale for scale, _ in rows), *(zero for _, zero in rows)]
    if not segments:
        for place in (1, 4, 10, 15):
            operands[place] = None
    agrees("QEmbedLayerNormalization", operands, {"epsilon": 1e-6}, outputs=2, terms=hidden)


@pytest.mark.parametrize("pointed", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("shape", [(9, 48), (7, 2, 40)])
def test_rows_of_a_table_of_bytes(shape: tuple[int, ...], bits: int, pointed: bool) -> None:
    rng = np.random.default_rng(21)
    blocks = (*shape[:-1], -(-shape[-1] // 16))
    data = packed(rng.integers(0, 1 << bits, shape), bits)
    scales = (0.05 * (0.5 + rng.random(blocks))).astype(np.float32)
    points = packed(rng.integers(0, 1 << bits, blocks), bits) if pointed else None
    indices = rng.integers(0, shape[0], (2, 3))
    attrs = {"bits": bits, "block_size": 16, "quantize_axis": len(shape) - 1}
    agrees("GatherBlockQuantized", [data, indices, scales, *([points] if pointed else [])], attrs)
    agrees_in_half("GatherBlockQuantized", [data, indices, scales, *([points] if pointed else [])], attrs)


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4])
@pytest.mark.parametrize(("gathered", "quantised_axis"), [(0, 1), (1, 0), (1, 1), (0, 0)])
@pytest.mark.parametrize("pointed", [False, True])
def test_rows_of_a_table_of_4_bits(dtype: Any, gathered: int, quantised_axis: int, pointed: bool) -> None:
    """onnxruntime's Python takes no such array: numpy says what comes out."""
    rng = np.random.default_rng(22)
    shape, blocks = (20, 36), [20, 36]
    blocks[quantised_axis] = -(-shape[quantised_axis] // 16)
    low = -8 if dtype == ml_dtypes.int4 else 0
    data, points = (rng.integers(low, low + 16, s).astype(np.int8).astype(dtype) for s in (shape, blocks))
    scales = (0.05 * (0.5 + rng.random(blocks))).astype(np.float32)
    indices = rng.integers(-20, 20, (2, 3))
    operator = operators()["com.microsoft::GatherBlockQuantized"]
    attrs = operator.attributes(block_size=16, gather_axis=gathered, quantize_axis=quantised_axis)
    operands = (data, indices, scales, *([points] if pointed else []))
    (found,) = operator.evaluate(attrs, operands, 1)

    def each(a: np.ndarray) -> np.ndarray:
        return np.take(np.repeat(a.astype(np.float32), 16, quantised_axis), np.arange(shape[quantised_axis]), quantised_axis)

    table = (data.astype(np.float32) - (each(points) if pointed else 0)) * each(scales)
    np.testing.assert_array_equal(found, np.take(table, indices, gathered))
    np.testing.assert_array_equal(lowered(operator, attrs, operands, 1)[0], found)


def test_refused_tables() -> None:
    data, indices, scales = np.zeros((4, 8), np.uint8), np.zeros(2, np.int64), np.zeros((4, 1), np.float32)
    refuses("GatherBlockQuantized", [data, indices, scales], {"bits": 3}, "bits is 3; the specification allows 2, 4 and 8")
    refuses("GatherBlockQuantized", [data, indices, scales], {"block_size": 24}, "block_size is 24")
    refuses("GatherBlockQuantized", [data, indices, scales], {"gather_axis": 1}, "gathered along axis 0 alone")
    refuses("GatherBlockQuantized", [data, indices, scales[:2]], {"block_size": 16}, "operand 'scales' has shape")


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize(("k", "n", "block"), [(64, 6, 16), (48, 3, 32), (5, 7, 16)])
def test_product_with_uneven_steps(k: int, n: int, block: int, kind: int) -> None:
    rng = np.random.default_rng(23)
    b = rng.integers(0, 256, -(-n * k // 2)).astype(np.uint8)
    scales = (0.5 + rng.random(-(-n * k // block))).astype(np.float32)
    attrs = {"K": k, "N": n, "block_size": block, "quant_type": kind}
    agrees("MatMulBnb4", [floats(rng, 2, 3, k), b, scales], attrs, terms=k)
    agrees_in_half("MatMulBnb4", [floats(rng, 3, k), b, scales], attrs, terms=k)


def test_product_with_uneven_steps_the_other_way() -> None:
    """onnxruntime's CPU kernel reads past the weights here: the product with an identity shows them."""
    rng = np.random.default_rng(24)
    k, n = 48, 6
    operator = operators()["com.microsoft::MatMulBnb4"]
    b, scales = rng.integers(0, 256, n * k // 2).astype(np.uint8), np.linspace(0.5, 2, n * k // 32).astype(np.float32)
    same, other = (operator.attributes(K=k, N=n, block_size=32, quant_type=1, transB=way) for way in (1, 0))
    (straight,) = operator.evaluate(same, (np.eye(k, dtype=np.float32), b, scales), 1)
    (turned,) = operator.evaluate(other, (np.eye(n, dtype=np.float32), b, scales), 1)
    np.testing.assert_array_equal(turned, straight.T)


def test_refused_uneven_steps() -> None:
    a, b, scales = np.zeros((2, 64), np.float32), np.zeros(64, np.uint8), np.zeros(8, np.float32)
    attrs = {"K": 64, "N": 2, "block_size": 16, "quant_type": 1}
    refuses("MatMulBnb4", [a, b, scales], {**attrs, "quant_type": 2}, "quant_type is 2")
    refuses("MatMulBnb4", [a, b, scales], {**attrs, "block_size": 8}, "block_size is 8")
    refuses("MatMulBnb4", [a, b[:9], scales], attrs, "operand 'B' has shape")
    refuses("MatMulBnb4", [a[:, :9], b, scales], attrs, "requires 64 columns")

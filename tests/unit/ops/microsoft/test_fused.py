from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nautilus_cli.ops.registry import operators
from tests.unit.ops.microsoft.contrib import agrees, agrees_in_half, floats, refuses
from tests.unit.ops.oracle import onnxruntime_says, same

RNG = np.random.default_rng(3)


@pytest.mark.parametrize(
    ("a", "b", "attrs"),
    [
        ((3, 4), (4, 5), {}),
        ((4, 3), (4, 5), {"transA": 1, "alpha": 0.25}),
        ((2, 3, 4), (2, 5, 4), {"transB": 1}),
        ((2, 7, 4, 3), (7, 5, 4), {"transA": 1, "transB": 1, "alpha": -1.5}),
        ((3, 2, 4), (2, 4, 5), {"transBatchA": 1}),
        ((3, 2, 4), (4, 2, 5), {"transBatchA": 1, "transBatchB": 1}),
        ((4, 2, 3), (4, 2, 5), {"transBatchA": 1, "transBatchB": 1, "transA": 1, "alpha": 2.0}),
        ((5, 2, 3, 4), (2, 3, 4, 6), {"transBatchA": 1}),
        ((4,), (4, 5), {}),
    ],
)
def test_matmul(a: tuple[int, ...], b: tuple[int, ...], attrs: dict[str, Any]) -> None:
    if attrs.get("transBatchA") and attrs.get("transA"):
        a, b = (2, 4, 3), (2, 4, 5)
        attrs = {"transA": 1, "alpha": 2.0}
    left, right = floats(RNG, *a), floats(RNG, *b)
    agrees("FusedMatMul", [left, right], attrs, terms=8)
    agrees_in_half("FusedMatMul", [left, right], attrs, terms=8)


@pytest.mark.parametrize("activation", [None, "Relu", "Tanh", "Sigmoid", "LeakyRelu", "Elu", "HardSigmoid", "Softplus", "Selu"])
def test_gemm(activation: str | None) -> None:
    attrs: dict[str, Any] = {"transB": 1, "alpha": 0.5, "beta": 2.0}
    numbers = {"LeakyRelu": (0.3,), "Elu": (1.2,), "HardSigmoid": (0.4, 0.3)}.get(activation or "", ())
    attrs |= dict(zip(("activation_alpha", "activation_beta"), numbers, strict=False))
    if activation == "Selu":
        attrs |= {"activation_alpha": 1.5, "activation_gamma": 1.1}
    if activation:
        attrs["activation"] = activation
        agrees("FusedGemm", [floats(RNG, 3, 4), floats(RNG, 5, 4), floats(RNG, 5)], attrs, terms=8)
    found = operators()["com.microsoft::FusedGemm"]
    a, b = floats(RNG, 3, 4), floats(RNG, 5, 4)
    plain = found.evaluate(found.attributes(transB=1), (a, b), 1)
    same(plain[0], a @ b.T, terms=8, depth=2)


@pytest.mark.parametrize(
    ("activation", "params"),
    [("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", (0.2,)), ("Clip", (-0.5, 0.5)), ("HardSigmoid", (0.2, 0.5))],
)
@pytest.mark.parametrize("summed", [True, False])
def test_conv(activation: str, params: tuple[float, ...] | None, summed: bool) -> None:
    x, w, bias = floats(RNG, 2, 4, 6, 7), floats(RNG, 6, 2, 3, 3), floats(RNG, 6)
    attrs: dict[str, Any] = {"group": 2, "pads": [1, 1, 1, 1], "activation": activation}
    if params:
        attrs["activation_params"] = params
    z = floats(RNG, 2, 6, 6, 7) if summed else None
    agrees("FusedConv", [x, w, bias, z][: 4 if summed else 3], attrs, terms=32)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_channels_last_conv(rank: int) -> None:
    x, w, bias = floats(RNG, 2, *(7,) * rank, 4), floats(RNG, 6, 2, *(3,) * rank), floats(RNG, 6)
    last = (0, *range(2, rank + 2), 1)
    first = np.ascontiguousarray(x.transpose(0, rank + 1, *range(1, rank + 1)))
    (wanted,) = onnxruntime_says("Conv", [first, w, bias], {"group": 2, "strides": [2] * rank}, 1, 22)
    operator = operators()["com.microsoft::NhwcConv"]
    (found,) = operator.evaluate(operator.attributes(group=2, strides=(2,) * rank), (x, np.ascontiguousarray(w.transpose(last)), bias), 1)
    same(found, wanted.transpose(last), terms=64, depth=2)


def test_bias_add_and_dropout() -> None:
    x, bias, skip = floats(RNG, 2, 3, 8), floats(RNG, 8), floats(RNG, 2, 3, 8)
    for op, arrays in (("BiasAdd", (x, bias, skip)), ("BiasDropout", (x, bias, skip))):
        operator = operators()[f"com.microsoft::{op}"]
        found = operator.evaluate(operator.attributes(), arrays, 1)
        same(found[0], x + bias + skip, terms=1, depth=2)
    operator = operators()["com.microsoft::BiasDropout"]
    total, mask = operator.evaluate(operator.attributes(), (x, x), 2)
    same(total, x + x, terms=1, depth=1)
    assert mask.all() and mask.shape == x.shape


@pytest.mark.parametrize(
    ("data", "bias", "axis", "inner"),
    [((2, 3, 4, 5), (2, 1, 1, 5), 3, 1), ((2, 3, 4, 5), (4, 5), 2, 0), ((2, 3, 4, 5), (2, 5), 3, 1), ((2, 3, 4), (3, 4), 1, 0)],
)
def test_bias_softmax(data: tuple[int, ...], bias: tuple[int, ...], axis: int, inner: int) -> None:
    x, addend = floats(RNG, *data), floats(RNG, *bias)
    shape = (bias[0], 1, 1, bias[1]) if inner and len(bias) == 2 else bias
    total = x + addend.reshape(shape)
    rows = np.exp(total - total.max(tuple(range(axis, x.ndim)), keepdims=True))
    operator = operators()["com.microsoft::BiasSoftmax"]
    (found,) = operator.evaluate(operator.attributes(axis=axis, is_inner_broadcast=inner), (x, addend), 1)
    same(found, rows / rows.sum(tuple(range(axis, x.ndim)), keepdims=True), terms=12, depth=6)


def test_refusals() -> None:
    a, b = floats(RNG, 3, 4), floats(RNG, 4, 5)
    refuses("FusedMatMul", [a, b.T], {}, "inner dimensions 4 and 5 differ")
    refuses("FusedMatMul", [a, b], {"transBatchA": 1}, "transBatchA is 1 for an operand of rank 2")
    refuses("FusedGemm", [a, b], {"activation": "Relux"}, "activation is 'Relux'; supported are Relu")
    refuses("FusedGemm", [a, b], {"activation": "Relu", "activation_alpha": 1.0}, "given 1 numbers; the specification allows 0")
    x, w = floats(RNG, 1, 2, 5, 5), floats(RNG, 3, 2, 3, 3)
    refuses("FusedConv", [x, w, None, x], {}, "'Z' has shape")
    refuses("FusedConv", [x, w], {"activation": "Clip", "activation_params": (1.0,)}, "given 1 numbers; the specification allows 2")
    refuses("NhwcConv", [x[0, 0], w], {}, "requires batch, spatial dimensions and channels")
    refuses("BiasDropout", [a, a[0], None, np.float32(0.5), np.array(True)], {}, "training_mode is not known to be false")

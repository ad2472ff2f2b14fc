from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F32, I32, TensorType
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import FLOATS, broadcastable, seeds, values
from tests.unit.ops.lowered import Evaluator
from tests.unit.ops.oracle import check, onnxruntime_says

KINDS = st.sampled_from((*FLOATS, np.int32, np.int64, np.uint32))
size = st.integers(1, 6)


@given(st.data(), KINDS, size, size, size, broadcastable(2), seeds())
@settings(max_examples=60)
def test_matmul(data: st.DataObject, dtype: object, m: int, k: int, n: int, batch: list[tuple[int, ...]], rng: np.random.Generator) -> None:
    left: tuple[int, ...] = (k,) if data.draw(st.booleans()) else (*batch[0], m, k)
    right: tuple[int, ...] = (k,) if data.draw(st.booleans()) else (*batch[1], k, n)
    check("MatMul", [values(rng, left, dtype), values(rng, right, dtype)], terms=k)


@given(st.data(), KINDS, size, size, size, st.booleans(), st.booleans(), seeds())
@settings(max_examples=60)
def test_gemm(data: st.DataObject, dtype: Any, m: int, k: int, n: int, trans_a: bool, trans_b: bool, rng: np.random.Generator) -> None:
    a = values(rng, (k, m) if trans_a else (m, k), dtype)
    b = values(rng, (n, k) if trans_b else (k, n), dtype)
    c = data.draw(st.sampled_from([None, (), (1,), (n,), (1, n), (m, 1), (m, n)]))
    factor = st.sampled_from([1.0, 2.0, 3.0]) if np.dtype(dtype).kind in "iu" else st.sampled_from([1.0, 0.1, -2.0])
    attrs = {"alpha": data.draw(factor), "beta": data.draw(factor), "transA": int(trans_a), "transB": int(trans_b)}
    check("Gemm", [a, b] if c is None else [a, b, values(rng, c, dtype)], attrs, terms=k, depth=6)


def test_gemm_factor_is_not_rounded_to_half() -> None:
    """0.1 in float16 is off by 2e-4 of itself; the product must be rounded once."""
    evaluator = Evaluator()
    a, b = np.full((1, 1), 1, np.float16), np.full((1, 1), 1000, np.float16)
    operator = operators()["Gemm"]
    values_ = tuple(map(evaluator.constant, (a, b)))
    (found,) = evaluator.apply(operator, operator.attributes(alpha=0.1), values_, 1)
    assert found.constant is not None
    assert found.constant.item() == np.float16(np.float32(0.1) * 1000)
    assert evaluator.reached == ["MatMul", "Cast", "Mul", "Cast"]


@given(
    st.data(),
    st.integers(1, 2),
    st.sampled_from([np.float32]),
    seeds(),
    st.sampled_from(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]),
    st.sampled_from([1, 2, 3]),
)
@settings(max_examples=80)
def test_conv(data: st.DataObject, rank: int, dtype: object, rng: np.random.Generator, auto_pad: str, group: int) -> None:
    kernel = [data.draw(st.integers(1, 3)) for _ in range(rank)]
    # onnxruntime ignores dilations where it finds the padding itself.
    dilations = [data.draw(st.integers(1, 2)) if auto_pad in ("NOTSET", "VALID") else 1 for _ in range(rank)]
    strides = [data.draw(st.integers(1, 3)) for _ in range(rank)]
    spatial = tuple(data.draw(st.integers(6, 9)) for _ in range(rank))
    channels, outputs, batch = group * data.draw(st.integers(1, 2)), group * data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
    attrs: dict[str, Any] = {"group": group, "kernel_shape": kernel, "dilations": dilations, "strides": strides, "auto_pad": auto_pad}
    if auto_pad == "NOTSET":
        attrs["pads"] = [data.draw(st.integers(0, 2)) for _ in range(2 * rank)]
    operands = [values(rng, (batch, channels, *spatial), dtype), values(rng, (outputs, channels // group, *kernel), dtype)]
    if data.draw(st.booleans()):
        operands.append(values(rng, (outputs,), dtype))
    check("Conv", operands, attrs, oracle=onnxruntime_says, terms=operands[1][0].size, depth=6)


def test_conv_of_three_dimensions_and_of_other_types() -> None:
    rng = np.random.default_rng(0)
    check("Conv", [values(rng, (1, 2, 4, 5, 6), np.float32), values(rng, (3, 2, 2, 3, 2), np.float32)], oracle=onnxruntime_says, terms=24)
    for dtype in (np.float16, np.float64):
        check("Conv", [values(rng, (1, 2, 5, 5), dtype), values(rng, (3, 2, 3, 3), dtype), values(rng, (3,), dtype)], terms=18)


def test_normal_form_of_conv() -> None:
    evaluator = Evaluator()
    x, w, b = (evaluator.constant(np.zeros(s, np.float32)) for s in ((1, 2, 9), (4, 2, 3), (4,)))
    operator = operators()["Conv"]
    evaluator.apply(operator, operator.attributes(auto_pad="SAME_UPPER"), (x, w, b), 1)
    assert evaluator.reached == ["Reshape", "Reshape", "Conv", "Reshape", "Reshape", "Add"]


@pytest.mark.parametrize(
    ("name", "types", "attrs", "message"),
    [
        ("MatMul", [TensorType(F32, (2, 3)), TensorType(F32, (2, 3))], {}, "the inner dimensions 3 and 2 differ"),
        ("MatMul", [TensorType(F32, ()), TensorType(F32, (2, 3))], {}, "requires rank 1 at least"),
        ("MatMul", [TensorType(F32, (2, 1, 3)), TensorType(F32, (4, 3, 1))], {}, "do not broadcast"),
        ("Gemm", [TensorType(F32, (2, 3, 1)), TensorType(F32, (2, 3))], {}, "requires matrices"),
        ("Gemm", [TensorType(F32, (2, 3)), TensorType(F32, (2, 3))], {}, "the inner dimensions 3 and 2 differ.*after transA"),
        ("Gemm", [TensorType(F32, (2, 3)), TensorType(F32, (3, 4)), TensorType(F32, (2,))], {}, "do not broadcast"),
        ("Gemm", [TensorType(F32, (2, 3)), TensorType(F32, (3, 4)), TensorType(F32, (1, 2, 4))], {}, "'C' has shape"),
        ("Gemm", [TensorType(I32, (2, 3)), TensorType(I32, (3, 4))], {"alpha": 0.5}, "only whole factors"),
        ("Conv", [TensorType(F32, (1, 2, 5, 5)), TensorType(F32, (4, 3, 3, 3))], {}, "group is 1 for operands of shapes"),
        ("Conv", [TensorType(F32, (1, 2, 5, 5)), TensorType(F32, (3, 1, 3, 3))], {"group": 2}, "out channels that group divides"),
        ("Conv", [TensorType(F32, (1, 2, 5, 5)), TensorType(F32, (4, 2, 3, 3))], {"kernel_shape": (5, 5)}, "but operand 'W'"),
        ("Conv", [TensorType(F32, (1, 2, 5, 5)), TensorType(F32, (4, 2, 3))], {}, "batch, channels and spatial"),
        ("Conv", [TensorType(F32, (1, 2, 5, 5)), TensorType(F32, (4, 2, 7, 3))], {}, "a window of 7 does not fit in a dimension of 5"),
        ("Conv", [TensorType(F32, (1, 2, 5, 5)), TensorType(F32, (4, 2, 3, 3))], {"pads": (1, 1)}, "requires two numbers each"),
        ("Conv", [TensorType(F32, (1, 2, 5, 5)), TensorType(F32, (4, 2, 3, 3))], {"strides": (0, 1)}, "one positive number each"),
        ("Conv", [TensorType(F32, (1, 2, 5, 5)), TensorType(F32, (4, 2, 3, 3)), TensorType(F32, (3,))], {}, r"'B' has shape \[3\]"),
        ("Conv", [TensorType(F32, (1, 2, 5, 5)), TensorType(F32, (4, 2, 3, 3))], {"auto_pad": "SAME"}, "auto_pad is 'SAME'"),
    ],
)
def test_refusals(name: str, types: list[TensorType], attrs: dict[str, Any], message: str) -> None:
    operator = operators()[name]
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes(**attrs), tuple(types), (None,) * len(types), 1))

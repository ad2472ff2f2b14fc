from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import BOOL, F32, I64, TensorType
from nautilus_cli.ops.reduce import ReduceAttrs, reduced_axes
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference, Reduction
from tests.unit.ops.drawing import FLOATS, axes_of, full_shapes, seeds, shapes, values
from tests.unit.ops.lowered import lowered
from tests.unit.ops.oracle import check, onnxruntime_says

WHOLE = (np.int32, np.int64, np.uint32, np.uint64)
COMPOSED = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")
BASIC = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")


def kinds(name: str) -> tuple[object, ...]:
    if name in ("ReduceMax", "ReduceMin"):
        return (*FLOATS, *WHOLE, np.int8, np.uint8, np.bool_)
    if name in ("ReduceL1", "ReduceL2", "ReduceSumSquare"):
        return (*FLOATS, np.int64, np.uint64)  # the reference evaluator widens 32 bits
    return FLOATS if "Log" in name else (*FLOATS, *WHOLE)


@pytest.mark.parametrize("name", [*BASIC, *COMPOSED])
@given(st.data(), full_shapes(), seeds(), st.integers(0, 1), st.integers(0, 1))
@settings(max_examples=40)
def test_reductions(name: str, data: st.DataObject, shape: tuple[int, ...], rng: np.random.Generator, keepdims: int, noop: int) -> None:
    shape = shape or (1,) if name == "ReduceLogSumExp" else shape  # the reference evaluator has no scalars here
    x = values(rng, shape, data.draw(st.sampled_from(kinds(name))))
    if name == "ReduceLogSum":
        x = (np.abs(x.astype(np.float32)) + 0.5).astype(x.dtype)
    axes = data.draw(axes_of(len(shape)) | st.none())
    operands = [x] if axes is None else [x, np.array(axes, np.int64)]
    check(name, operands, {"keepdims": keepdims, "noop_with_empty_axes": noop}, terms=max(1, x.size), depth=6)


@pytest.mark.parametrize("name", [*BASIC, *COMPOSED])
def test_axes_as_an_attribute(name: str) -> None:
    x = np.abs(values(np.random.default_rng(1), (2, 3, 4), np.float32)) + 1
    check(name, [x], {"axes": [0, 2], "keepdims": 0}, opset=11, terms=8)
    check(name, [x], opset=11, terms=24)


@pytest.mark.parametrize(("name", "expected"), [("ReduceSum", 0), ("ReduceProd", 1), ("ReduceMax", -np.inf), ("ReduceMin", np.inf)])
def test_reduction_of_nothing_is_the_identity(name: str, expected: float) -> None:
    (found,) = operators()[name].evaluate(ReduceAttrs(), (np.zeros((0, 2), np.float32), np.array([0])), 1)
    assert found.tolist() == [[expected, expected]]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int64])
def test_mean_of_nothing_is_zero(dtype: type) -> None:
    (found,) = operators()["ReduceMean"].evaluate(ReduceAttrs(), (np.zeros((0, 2), dtype), np.array([0])), 1)
    assert found.tolist() == [[0, 0]]


def test_sixteen_bit_sums_do_not_overflow_on_the_way() -> None:
    x = np.full(3, 300, np.float16)
    for name, expected in (("ReduceL2", 519.6152), ("ReduceSumSquare", np.inf), ("ReduceMean", 300)):
        (found,) = lowered(operators()[name], ReduceAttrs(), [x], 1)
        assert found.dtype == np.float16
        assert found.item() == pytest.approx(expected, rel=2**-11)


def test_log_sum_exp_of_infinities() -> None:
    x = np.array([[-np.inf, -np.inf], [np.inf, 1], [1e4, 1e4]], np.float32)
    (found,) = lowered(operators()["ReduceLogSumExp"], ReduceAttrs(axes=(1,), keepdims=0), [x], 1)
    assert found.tolist() == [-np.inf, np.inf, pytest.approx(1e4 + np.log(2))]


def test_sums_of_thirty_two_bits_keep_their_type() -> None:
    x = np.array([-3, 4], np.int32)
    for name, expected in (("ReduceL1", 7), ("ReduceL2", 5), ("ReduceSumSquare", 25)):
        for (found,) in (operators()[name].evaluate(ReduceAttrs(), (x,), 1), lowered(operators()[name], ReduceAttrs(), [x], 1)):
            assert found.dtype == np.int32
            assert found.item() == expected


def test_integer_means_are_cut_towards_zero() -> None:
    (found,) = operators()["ReduceMean"].evaluate(ReduceAttrs(keepdims=0), (np.array([-3, -4], np.int32),), 1)
    assert found == -3


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax"])
@given(st.data(), full_shapes(1), st.sampled_from(FLOATS), seeds())
@settings(max_examples=30)
def test_softmax(name: str, data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    check(name, [values(rng, shape, dtype)], {"axis": axis}, terms=shape[axis], depth=6)


def test_softmax_of_large_and_masked_values() -> None:
    x = np.array([[6e4, 6e4, -np.inf], [-6e4, 0, 1]], np.float16)
    for found in (operators()["Softmax"].evaluate(operators()["Softmax"].attributes(), (x,), 1)[0], lowered(*softmax(x))[0]):
        np.testing.assert_array_equal(found[0], [0.5, 0.5, 0])
    masked = np.full((1, 2), -np.inf, np.float32)
    assert np.isnan(lowered(*softmax(masked))[0]).all()


def softmax(x: np.ndarray) -> tuple[object, object, list[np.ndarray], int]:
    return operators()["Softmax"], operators()["Softmax"].attributes(), [x], 1


@pytest.mark.parametrize("name", ["GlobalAveragePool", "GlobalMaxPool"])
@given(full_shapes(3, 5), seeds())
@settings(max_examples=20)
def test_global_pool(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    check(name, [values(rng, shape, np.float32)], oracle=onnxruntime_says, terms=int(np.prod(shape[2:])))


@given(full_shapes(3, 5), st.integers(1, 3), seeds())
@settings(max_examples=20)
def test_global_lp_pool(shape: tuple[int, ...], p: int, rng: np.random.Generator) -> None:
    x = values(rng, shape, np.float32)
    attrs = operators()["GlobalLpPool"].attributes(p)
    expected = np.linalg.norm(x.astype(np.float64).reshape(*shape[:2], -1), p, axis=-1).reshape(*shape[:2], *(1 for _ in shape[2:]))
    for found in (operators()["GlobalLpPool"].evaluate(attrs, (x,), 1)[0], lowered(operators()["GlobalLpPool"], attrs, [x], 1)[0]):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_every_reduction_is_tried_here() -> None:
    assert {n for n, o in operators().items() if isinstance(o.lowering, Reduction)} == set(BASIC)


@given(st.data(), shapes())
def test_axes_are_normal(data: st.DataObject, shape: tuple[int, ...]) -> None:
    axes = reduced_axes(ReduceAttrs(), data.draw(axes_of(len(shape))), len(shape))
    assert axes == tuple(sorted(set(axes)))
    assert all(0 <= a < len(shape) for a in axes)


@pytest.mark.parametrize(
    ("types", "axes", "message"),
    [
        ((TensorType(F32, (2, 3)),), (2,), "axes is 2; for a tensor of rank 2 the specification allows -2 to 1"),
        ((TensorType(F32, (2, 3)),), (0, -2), "names a dimension twice"),
        ((TensorType(BOOL, (2, 3)),), None, "operand 'data' has type bool"),
        ((TensorType(F32, (2, 3)), TensorType(I64, (1,))), None, "'axes' decides the result's shape"),
    ],
)
def test_refusals(types: tuple[TensorType, ...], axes: tuple[int, ...] | None, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        operators()["ReduceSum"].infer(Inference(ReduceAttrs(axes=axes), types, (None,) * len(types), 1))

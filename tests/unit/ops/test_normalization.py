from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F16, F32, TensorType
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import FLOATS, full_shapes, seeds, values
from tests.unit.ops.lowered import lowered
from tests.unit.ops.oracle import check, onnxruntime_says, same

WIDE = st.sampled_from((np.float32, np.float64))


def scales(rng: np.random.Generator, shape: tuple[int, ...], dtype: object, count: int) -> list[np.ndarray]:
    return [values(rng, shape, dtype) for _ in range(count)]


@given(st.data(), full_shapes(1), st.sampled_from((np.float32, np.float16)), seeds(), st.booleans())
@settings(max_examples=30)
def test_layer_normalization(data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator, has_bias: bool) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = values(rng, shape, dtype)
    operands = [x, *scales(rng, shape[axis % len(shape) :], dtype, 1 + has_bias)]
    # In float16 the oracles' statistics have another type than stash_type says.
    outputs = 3 if x.dtype == np.float32 else 1
    check("LayerNormalization", operands, {"axis": axis, "epsilon": 1e-2}, outputs=outputs, terms=x.size, depth=12)


@given(st.data(), full_shapes(1), st.sampled_from((np.float32, np.float16)), seeds())
@settings(max_examples=30)
def test_rms_normalization(data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = values(rng, shape, dtype)
    check("RMSNormalization", [x, *scales(rng, shape[axis % len(shape) :], dtype, 1)], {"axis": axis}, terms=x.size, depth=12)


@given(full_shapes(3), WIDE, seeds())
@settings(max_examples=20)
def test_instance_normalization(shape: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    x = values(rng, shape, dtype)
    check("InstanceNormalization", [x, *scales(rng, shape[1:2], dtype, 2)], {"epsilon": 1e-2}, terms=x.size, depth=12)


@given(full_shapes(3), st.integers(1, 3), seeds())
@settings(max_examples=20)
def test_group_normalization(shape: tuple[int, ...], groups: int, rng: np.random.Generator) -> None:
    shape = (shape[0], shape[1] * groups, *shape[2:])
    x = values(rng, shape, np.float32)
    operands = [x, *scales(rng, shape[1:2], np.float32, 2)]
    check("GroupNormalization", operands, {"epsilon": 1e-2, "num_groups": groups}, terms=x.size, depth=12)


@given(full_shapes(2), st.sampled_from(FLOATS), seeds())
@settings(max_examples=20)
def test_batch_normalization(shape: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    operands = [values(rng, shape, dtype), *scales(rng, shape[1:2], dtype, 3)]
    operands.append(np.abs(values(rng, shape[1:2], dtype)) + operands[0].dtype.type(1))
    check("BatchNormalization", operands, {"epsilon": 2**-10}, depth=12)


@given(full_shapes(2), st.sampled_from([np.float32, np.float64]), seeds(), st.sampled_from([0.9, 0.5]))
@settings(max_examples=20)
def test_batch_normalization_in_training_mode(shape: tuple[int, ...], dtype: object, rng: np.random.Generator, momentum: float) -> None:
    shape = (shape[0] + 1, *shape[1:])  # a single element has no variance, which the reference divides by
    operands = [values(rng, shape, dtype), *scales(rng, shape[1:2], dtype, 3)]
    operands.append(np.abs(values(rng, shape[1:2], dtype)) + operands[0].dtype.type(1))
    attrs = {"epsilon": 2**-10, "momentum": momentum, "training_mode": 1}
    check("BatchNormalization", operands, attrs, outputs=3, terms=operands[0].size, depth=16)


@pytest.mark.parametrize("statistics", [np.float32, np.float16])
def test_batch_normalization_of_a_batch_in_half_precision(statistics: type) -> None:
    """Statistics of large values: their squares would overflow, and their sums would lose what differs."""
    rng = np.random.default_rng(0)
    x = (400 + 8 * rng.standard_normal((64, 3, 7))).astype(np.float16)
    per_channel = [rng.standard_normal(3).astype(np.float16) for _ in range(2)]
    running = [rng.standard_normal(3).astype(statistics), np.ones(3, statistics)]
    operator = operators()["BatchNormalization"]
    attrs = operator.attributes(training_mode=1)
    truth = operator.evaluate(attrs, (x, *per_channel, *running), 3)
    wide = x.astype(np.float64)
    mean = 0.9 * running[0] + 0.1 * wide.mean((0, 2))
    same(truth[1], mean.astype(statistics), terms=x.size, depth=4)
    for found, expected in zip(lowered(operator, attrs, [x, *per_channel, *running], 3), truth, strict=True):
        same(found, expected, terms=x.size, depth=16)


def test_batch_normalization_of_a_vector_is_one_channel() -> None:
    x, one, zero = np.array([1, 2, 6], np.float32), np.ones(1, np.float32), np.zeros(1, np.float32)
    operator = operators()["BatchNormalization"]
    attrs = operator.attributes(epsilon=0.0, training_mode=1)
    for results in (operator.evaluate(attrs, (x, one, zero, zero, one), 3), lowered(operator, attrs, [x, one, zero, zero, one], 3)):
        same(results[0], ((x - 3) / np.sqrt(np.float32(14 / 3))).astype(np.float32), terms=3, depth=8)
        same(results[2], np.array([0.9 + 0.1 * 14 / 3], np.float32), terms=3, depth=8)


@given(st.data(), full_shapes(1), WIDE, seeds(), st.sampled_from([1, 2]))
@settings(max_examples=20)
def test_lp_normalization(data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator, p: int) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    # The reference evaluator forgets the absolute values of the 1-norm.
    check("LpNormalization", [values(rng, shape, dtype)], {"axis": axis, "p": p}, oracle=onnxruntime_says, terms=shape[axis], depth=6)


@given(full_shapes(4), seeds(), st.sampled_from([(0, 2, 3), (1,), (0, 1, 2, 3)]))
@settings(max_examples=20)
def test_mean_variance_normalization(shape: tuple[int, ...], rng: np.random.Generator, axes: tuple[int, ...]) -> None:
    # Not against others: they subtract two mean squares, which cancels. One element alone has no variance: 0 over epsilon.
    shape = (shape[0] + 1, shape[1] + 1, *shape[2:])
    x = values(rng, shape, np.float32)
    wide = x.astype(np.float64)
    expected = (wide - wide.mean(axes, keepdims=True)) / (wide.std(axes, keepdims=True) + 1e-9)
    operator = operators()["MeanVarianceNormalization"]
    attrs = operator.attributes(axes)
    same(operator.evaluate(attrs, (x,), 1)[0], expected.astype(np.float32), terms=x.size, depth=12)
    same(lowered(operator, attrs, [x], 1)[0], expected.astype(np.float32), terms=x.size, depth=12)


@given(full_shapes(4), seeds(), st.sampled_from([1, 3, 5]))
@settings(max_examples=20)
def test_local_response_normalization(shape: tuple[int, ...], rng: np.random.Generator, size: int) -> None:
    attrs = {"size": size, "alpha": 0.5, "beta": 0.7, "bias": 1.5}
    check("LRN", [values(rng, shape, np.float32)], attrs, oracle=onnxruntime_says, depth=8)


def test_local_response_of_even_size_reaches_one_further_behind() -> None:
    """Neither oracle has it."""
    x = np.array([1, 2, 3], np.float32).reshape(1, 3, 1)
    operator = operators()["LRN"]
    attrs = operator.attributes(size=2, alpha=1.0, beta=1.0, bias=1.0)
    expected = np.array([1 / (1 + 5 / 2), 2 / (1 + 13 / 2), 3 / (1 + 9 / 2)], np.float32).reshape(1, 3, 1)
    same(operator.evaluate(attrs, (x,), 1)[0], expected, terms=2, depth=4)
    same(lowered(operator, attrs, [x], 1)[0], expected, terms=2, depth=4)


def test_large_mean_does_not_cancel() -> None:
    """Two passes: the variance of values with a mean of 1e4 deviations."""
    x = (1e4 + np.random.default_rng(0).standard_normal((4, 256))).astype(np.float32)
    one, zero = np.ones(256, np.float32), np.zeros(256, np.float32)
    wide = x.astype(np.float64)
    expected = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    (found,) = lowered(operators()["LayerNormalization"], operators()["LayerNormalization"].attributes(), [x, one, zero], 1)
    # The mean itself has 24 bits: a unit of 1e4 is 2^-10 deviations. One pass (mean of squares less square of mean) would be off by 10.
    assert np.abs(found - expected).max() < 2**-10


def test_sixteen_bits_do_not_overflow_on_the_way() -> None:
    x = np.linspace(-6e4, 6e4, 64).astype(np.float16)[None]
    one, zero = np.ones(64, np.float16), np.zeros(64, np.float16)
    for name, arrays in (("LayerNormalization", [x, one, zero]), ("RMSNormalization", [x, one])):
        (found,) = lowered(operators()[name], operators()[name].attributes(), arrays, 1)
        assert np.abs(found).max() == pytest.approx(np.sqrt(3), rel=0.05)


@pytest.mark.parametrize(
    ("name", "types", "attrs", "message"),
    [
        ("LayerNormalization", [TensorType(F32, (2, 3)), TensorType(F32, (2,))], {}, r"\[2, 3\], \[2\] do not broadcast"),
        ("LayerNormalization", [TensorType(F32, (3,)), TensorType(F32, (2, 3))], {}, r"'Scale' has shape \[2, 3\]; .* broadcasts to \[3\]"),
        ("LayerNormalization", [TensorType(F32, (3,)), TensorType(F16, (3,))], {}, "operand 'Scale' has type f16"),
        ("RMSNormalization", [TensorType(F32, (3,)), TensorType(F32, (3,))], {"axis": 1}, "axis is 1"),
        ("BatchNormalization", [TensorType(F32, (2, 3))] * 5, {}, r"'scale' has shape \[2, 3\]; the specification requires \[3\]"),
        ("BatchNormalization", [TensorType(F32, (2, 3)), *[TensorType(F32, (3,))] * 4], {"spatial": 0}, "only statistics of each channel"),
        ("BatchNormalization", [TensorType(F32, ())] * 5, {}, "'X' is a scalar"),
        (
            "GroupNormalization",
            [TensorType(F32, (1, 4, 2)), *[TensorType(F32, (4,))] * 2],
            {"num_groups": 3},
            "num_groups is 3 for 4 channels",
        ),
        ("InstanceNormalization", [TensorType(F32, (1, 4)), *[TensorType(F32, (4,))] * 2], {}, "batch, channels and spatial"),
        ("LpNormalization", [TensorType(F32, (4,))], {"p": 3}, "p is 3; the specification allows 1 and 2"),
    ],
)
def test_refusals(name: str, types: list[TensorType], attrs: dict[str, Any], message: str) -> None:
    operator = operators()[name]
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes(**attrs), tuple(types), (None,) * len(types), 1))

from __future__ import annotations

from math import erf

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import BOOL, DTYPES, F32, I32, TensorType
from nautilus_cli.ops.element_types import ONNX_NUMBERS
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference, Pointwise
from tests.unit.ops.drawing import FLOATS, INTEGERS, broadcastable, seeds, shapes, values
from tests.unit.ops.oracle import check

NARROW = tuple(t for t in FLOATS if t is not np.float64)
"""For what the reference evaluator computes with constants or functions of float32, whatever the type."""

UNARY = {
    **dict.fromkeys(["Exp", "Floor", "Ceil", "Round", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Tanh", "Asinh"], (FLOATS, 1)),
    **dict.fromkeys(["Sigmoid", "Elu", "Selu", "Celu", "Softplus", "Softsign", "HardSigmoid", "Mish"], (FLOATS, 1)),
    **dict.fromkeys(["Erf", "Gelu", "HardSwish"], (NARROW, 1)),
    **dict.fromkeys(["ThresholdedRelu", "Swish", "Shrink", "LeakyRelu", "Reciprocal", "IsNaN", "IsInf"], (FLOATS, 1)),
    **dict.fromkeys(["Asin", "Acos", "Atanh"], (FLOATS, 0.2)),
    "Abs": ((*FLOATS, *INTEGERS), 1),
    "Sign": ((*FLOATS, *INTEGERS), 1),
    "Neg": ((*FLOATS, np.int8, np.int16, np.int32, np.int64), 1),
    "Relu": ((*FLOATS, np.int8, np.int16, np.int32, np.int64), 1),
    "Not": ((np.bool_,), 1),
    "BitwiseNot": (INTEGERS, 1),
}
POSITIVE = {"Log", "Sqrt", "Acosh"}
BINARY = {
    **dict.fromkeys(["Add", "Sub", "Mul", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"], (*FLOATS, *INTEGERS)),
    **dict.fromkeys(["BitwiseAnd", "BitwiseOr", "BitwiseXor"], INTEGERS),
    **dict.fromkeys(["And", "Or", "Xor"], (np.bool_,)),
    "Equal": (*FLOATS, *INTEGERS, np.bool_),
    "Div": FLOATS,
    "PRelu": (*FLOATS, np.int32, np.int64, np.uint32, np.uint64),
}
VARIADIC = {"Max": (*FLOATS, *INTEGERS), "Min": (*FLOATS, *INTEGERS), "Sum": FLOATS, "Mean": FLOATS}

number = st.floats(-2, 2, width=32)
ATTRIBUTES = {
    "Celu": st.fixed_dictionaries({"alpha": st.floats(0.5, 2, width=32)}),
    "Elu": st.fixed_dictionaries({"alpha": number}),
    "Gelu": st.fixed_dictionaries({"approximate": st.sampled_from(["none", "tanh"])}),
    "HardSigmoid": st.fixed_dictionaries({"alpha": number, "beta": number}),
    "IsInf": st.fixed_dictionaries({"detect_negative": st.integers(0, 1), "detect_positive": st.integers(0, 1)}),
    "LeakyRelu": st.fixed_dictionaries({"alpha": number}),
    "Selu": st.fixed_dictionaries({"alpha": number, "gamma": st.floats(0.5, 2, width=32)}),
    "Shrink": st.fixed_dictionaries({"bias": number, "lambd": st.floats(0, 1, width=32)}),
    "Swish": st.fixed_dictionaries({"alpha": number}),
    "ThresholdedRelu": st.fixed_dictionaries({"alpha": number}),
}


@pytest.mark.parametrize("name", sorted(UNARY))
@given(st.data(), shapes(), seeds())
@settings(max_examples=15)
def test_unary(name: str, data: st.DataObject, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    dtypes, scale = UNARY[name]
    shape = shape or (1,) if name == "Softsign" else shape  # the reference evaluator has no scalars here
    x = values(rng, shape, data.draw(st.sampled_from(dtypes)))
    if scale != 1:
        x = np.clip(x.astype(np.float64) * scale, -0.99, 0.99).astype(x.dtype)
    if name in {"IsNaN", "IsInf"}:
        x = np.where(rng.random(shape) < 0.5, x.dtype.type(rng.choice([np.nan, np.inf, -np.inf])), x)
    check(name, [x], data.draw(ATTRIBUTES[name]) if name in ATTRIBUTES else {})


@pytest.mark.parametrize("name", sorted(POSITIVE))
@given(st.sampled_from(FLOATS), shapes(), seeds())
@settings(max_examples=10)
def test_positive(name: str, dtype: object, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    x = np.asarray(1.25 + np.abs(values(rng, shape, np.float64))).astype(dtype)  # type: ignore[call-overload]
    check(name, [x])


@pytest.mark.parametrize("name", sorted(BINARY))
@given(st.data(), broadcastable(2), seeds())
@settings(max_examples=15)
def test_binary(name: str, data: st.DataObject, pair: list[tuple[int, ...]], rng: np.random.Generator) -> None:
    dtype = data.draw(st.sampled_from(BINARY[name]))
    check(name, [values(rng, shape, dtype) for shape in pair])


@pytest.mark.parametrize("name", sorted(VARIADIC))
@given(st.data(), st.integers(1, 4), seeds())
@settings(max_examples=15)
def test_variadic(name: str, data: st.DataObject, count: int, rng: np.random.Generator) -> None:
    dtype = data.draw(st.sampled_from(VARIADIC[name]))
    drawn = data.draw(broadcastable(count))
    if name == "Mean":
        drawn[0] = np.broadcast_shapes(*drawn)  # the reference evaluator adds to the first operand in place
    check(name, [values(rng, shape, dtype) for shape in drawn])


@given(st.sampled_from(INTEGERS), broadcastable(2), seeds())
@settings(max_examples=25)
def test_integer_division(dtype: object, pair: list[tuple[int, ...]], rng: np.random.Generator) -> None:
    a, b = (values(rng, shape, dtype) for shape in pair)
    check("Div", [a, np.where(b == 0, b.dtype.type(3), b)])


@given(st.sampled_from((*FLOATS, *INTEGERS)), broadcastable(2), seeds(), st.integers(0, 1))
@settings(max_examples=40)
def test_mod(dtype: object, pair: list[tuple[int, ...]], rng: np.random.Generator, fmod: int) -> None:
    a, b = (values(rng, shape, dtype) for shape in pair)
    check("Mod", [a, np.where(b == 0, b.dtype.type(3), b)], {"fmod": fmod})


@given(st.sampled_from(INTEGERS), broadcastable(2), seeds(), st.sampled_from(["LEFT", "RIGHT"]))
@settings(max_examples=25)
def test_bit_shift(dtype: object, pair: list[tuple[int, ...]], rng: np.random.Generator, direction: str) -> None:
    x, y = values(rng, pair[0], dtype), rng.integers(0, 40, pair[1]).astype(dtype)  # type: ignore[call-overload]
    check("BitShift", [x, y], {"direction": direction})


@given(st.sampled_from((np.float32, np.float64, np.float16, np.int32, np.int64)), st.sampled_from((*FLOATS, *INTEGERS)), seeds())
@settings(max_examples=40)
def test_pow(base: object, exponent: object, rng: np.random.Generator) -> None:
    x, y = np.abs(values(rng, (3, 4), base)) % 5 + 1, np.abs(values(rng, (4,), exponent).astype(np.float64)) % 3
    check("Pow", [x.astype(base), y.astype(exponent)])  # type: ignore[call-overload]


@given(broadcastable(3), st.sampled_from((*FLOATS, *INTEGERS, np.bool_)), seeds())
@settings(max_examples=25)
def test_where(three: list[tuple[int, ...]], dtype: object, rng: np.random.Generator) -> None:
    check("Where", [values(rng, three[0], np.bool_), values(rng, three[1], dtype), values(rng, three[2], dtype)])


@pytest.mark.parametrize("target", sorted(DTYPES))
@given(st.data(), shapes(), seeds())
@settings(max_examples=20)
def test_cast(target: str, data: st.DataObject, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    source = data.draw(st.sampled_from((*FLOATS, *INTEGERS, np.bool_)))
    shape = shape or (1,) if target == "f8e8m0" else shape  # of which the reference takes no scalar
    x = values(rng, shape, source)
    if target == "f8e8m0" or (target.startswith("u") and np.dtype(source).kind not in "iu"):
        x = np.abs(x.astype(np.float32)).astype(source)
    check("Cast", [x], {"to": ONNX_NUMBERS[DTYPES[target]]})
    check("CastLike", [x, np.zeros(2, DTYPES[target].numpy)])


@pytest.mark.parametrize("opset", [6, 28])
@given(st.data(), shapes(), seeds())
@settings(max_examples=25)
def test_clip(opset: int, data: st.DataObject, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    low, high = (data.draw(st.none() | st.sampled_from([-3, -1, 0, 2])) for _ in range(2))
    if opset == 6:
        limits = {name: float(v) for name, v in (("min", low), ("max", high)) if v is not None}
        check("Clip", [values(rng, shape, np.float32)], limits, opset=opset)
        return
    dtype = data.draw(st.sampled_from((np.float32, np.float16, np.int32)))
    operands = [None if v is None else np.array(v, dtype) for v in (low, high)]
    while operands and operands[-1] is None:
        operands.pop()
    check("Clip", [values(rng, shape, dtype), *operands])


def test_nan_propagates() -> None:
    nan, one = np.array([np.nan, 1, np.nan], np.float32), np.array([1, np.nan, np.nan], np.float32)
    for name in ("Max", "Min"):
        (found,) = operators()[name].evaluate(None, (nan, one), 1)
        assert np.isnan(found).all()
    for name in ("Relu", "Clip"):
        (found,) = operators()[name].evaluate(operators()[name].attributes(), (nan,), 1)
        assert np.isnan(found).tolist() == [True, False, True]


def test_integer_edges() -> None:
    low, high = np.int32(-(2**31)), np.int32(2**31 - 1)
    a = np.array([low, low, high, 7, -7, 7, -7, 5], np.int32)
    b = np.array([-1, 2, -2, 2, 2, -2, -2, 0], np.int32)
    (quotient,) = operators()["Div"].evaluate(None, (a, b), 1)
    assert quotient.tolist() == [low, -(2**30), -(2**30) + 1, 3, -3, -3, 3, 0]
    for fmod, rests in ((0, [0, 0, -1, 1, 1, -1, -1, 0]), (1, [0, 0, 1, 1, -1, 1, -1, 0])):
        (rest,) = operators()["Mod"].evaluate(operators()["Mod"].attributes(fmod), (a, b), 1)
        assert rest.tolist() == rests
    (power,) = operators()["Pow"].evaluate(
        None, (np.array([2, -1, -1, 1, 0, 3], np.int32), np.array([-1, -3, -2, -9, -1, 40], np.int32)), 1
    )
    assert power.tolist() == [0, -1, 1, 1, 0, np.array(3**40 % 2**32, np.uint32).astype(np.int32)]


def test_erf_of_doubles() -> None:
    x = np.array([0, -0.5, 1e-3, 3, np.inf, np.nan])
    (found,) = operators()["Erf"].evaluate(None, (x,), 1)
    assert found.tolist() == pytest.approx([erf(v) for v in x], rel=2**-52, abs=0, nan_ok=True)


def test_pointwise_of_sixteen_bits_rounds_once() -> None:
    x = np.array([1 + 2**-10], np.float16)
    (found,) = operators()["Mean"].evaluate(None, (x, x, x), 1)
    assert found == x
    assert (operators()["Add"].evaluate(None, (np.array([1], ml_dtypes.bfloat16),) * 2, 1)[0].dtype) == ml_dtypes.bfloat16


@pytest.mark.parametrize(
    ("name", "types", "message"),
    [
        (
            "Add",
            (TensorType(F32, (2, 3)), TensorType(F32, (4, 3))),
            r"shapes \[2, 3\], \[4, 3\] do not broadcast: dimensions \[2, 4\] meet",
        ),
        ("Add", (TensorType(F32, (2,)), TensorType(I32, (2,))), "operand 'B' has type i32; .* f32"),
        ("Add", (TensorType(F32, (2,)),), "has 1 operands; the specification allows 2"),
        ("Add", (TensorType(BOOL, (2,)), TensorType(BOOL, (2,))), "operand 'A' has type bool; the specification allows f16, .*u64"),
        ("Add", (None, TensorType(F32, (2,))), "operand 'A' is missing"),
        ("Max", (), "has 0 operands; the specification allows at least 1"),
        ("Sqrt", (TensorType(I32, (2,)),), "operand 'X' has type i32"),
        ("Where", (TensorType(F32, ()), TensorType(F32, ()), TensorType(F32, ())), "operand 'condition' has type f32; .* bool"),
        ("Where", (TensorType(BOOL, ()), TensorType(F32, ()), TensorType(I32, ())), "types f32 and i32; .* one type"),
    ],
)
def test_refusals(name: str, types: tuple[TensorType | None, ...], message: str) -> None:
    operator = operators()[name]
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes(), types, (None,) * len(types), 1))


@pytest.mark.parametrize(
    ("name", "attrs", "message"),
    [
        ("Gelu", {"approximate": "fast"}, "approximate is 'fast'; the specification allows 'none', 'tanh'"),
        ("BitShift", {"direction": "UP"}, "direction is 'UP'"),
        ("Cast", {"to": 8}, "element type string is not supported"),
        ("Cast", {"to": 1, "round_mode": "odd"}, "round_mode is 'odd'"),
    ],
)
def test_refused_attributes(name: str, attrs: dict[str, object], message: str) -> None:
    operator = operators()[name]
    count = 2 if name == "BitShift" else 1
    dtype = DTYPES["u8"] if name == "BitShift" else F32
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes(**attrs), (TensorType(dtype, (2,)),) * count, (None,) * count, 1))


def test_every_pointwise_operator_is_tried_here() -> None:
    tried = {*UNARY, *POSITIVE, *BINARY, *VARIADIC, "Div", "Mod", "BitShift", "Pow", "Where"}
    ours = {n for n in operators() if "::" in n}  # no oracle knows them; they have tests of their own
    assert {n for n, o in operators().items() if isinstance(o.lowering, Pointwise)} - ours <= tried

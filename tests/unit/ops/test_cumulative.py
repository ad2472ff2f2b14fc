from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import BOOL, F32, I64, TensorType
from nautilus_cli.ops.cumulative import CumulativeAttrs
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import FLOATS, full_shapes, seeds, values
from tests.unit.ops.lowered import lowered
from tests.unit.ops.oracle import check

KINDS = (*FLOATS, np.int32, np.int64, np.uint32, np.uint64)


@pytest.mark.parametrize("name", ["CumSum", "CumProd"])
@given(st.data(), full_shapes(1), st.sampled_from(KINDS), seeds(), st.booleans(), st.booleans())
@settings(max_examples=80)
def test_cumulative(
    name: str, data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator, exclusive: bool, reverse: bool
) -> None:
    axis = np.array(data.draw(st.integers(-len(shape), len(shape) - 1)), data.draw(st.sampled_from([np.int32, np.int64])))
    check(name, [values(rng, shape, dtype), axis], {"exclusive": int(exclusive), "reverse": int(reverse)}, terms=max(shape), depth=4)


@pytest.mark.parametrize(("name", "first"), [("CumSum", 0), ("CumProd", 1)])
def test_exclusive_scans_begin_with_the_identity(name: str, first: int) -> None:
    x = np.array([[2, 3, 4], [5, 6, 7]])
    for reverse in (0, 1):
        (found,) = operators()[name].evaluate(CumulativeAttrs(exclusive=1, reverse=reverse), (x, np.array(1)), 1)
        assert found[:, -1 if reverse else 0].tolist() == [first, first]
    for shape in ((0,), (2, 0)):
        (found,) = lowered(operators()[name], CumulativeAttrs(exclusive=1), [np.zeros(shape, np.float32), np.array(-1)], 1)
        assert found.shape == shape


def test_sixteen_bit_sums_are_carried_in_float32() -> None:
    x = np.ones(4096, np.float16)
    (found,) = operators()["CumSum"].evaluate(CumulativeAttrs(), (x, np.array(0)), 1)
    assert found[-1] == 4096  # sums in float16 stop at 2048


def test_the_axis_may_be_a_vector_of_one() -> None:
    x = np.arange(6).reshape(2, 3)
    (found,) = operators()["CumSum"].evaluate(CumulativeAttrs(), (x, np.array([-1])), 1)
    assert found.tolist() == [[0, 1, 3], [3, 7, 12]]


def test_the_axis_of_a_vector_need_not_be_known() -> None:
    infer = operators()["CumSum"].infer
    assert infer(Inference(CumulativeAttrs(), (TensorType(F32, (5,)), TensorType(I64, ())), (None, None), 1)) == (TensorType(F32, (5,)),)
    with pytest.raises(ModelError, match="operand 'axis' decides the result's shape, but its contents are not known"):
        infer(Inference(CumulativeAttrs(), (TensorType(F32, (5, 2)), TensorType(I64, ())), (None, None), 1))


@pytest.mark.parametrize(
    ("type_", "axis", "message"),
    [
        (TensorType(F32, (2, 3)), np.array(2), "axis is 2; for a tensor of rank 2 the specification allows -2 to 1"),
        (TensorType(F32, ()), np.array(0), "for a tensor of rank 0"),
        (TensorType(F32, (2, 3)), np.array([0, 1]), r"operand 'axis' has shape \[2\]"),
        (TensorType(BOOL, (2,)), np.array(0), "operand 'x' has type bool"),
    ],
)
def test_refusals(type_: TensorType, axis: np.ndarray, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        operators()["CumProd"].infer(Inference(CumulativeAttrs(), (type_, TensorType(I64, axis.shape)), (None, axis), 1))

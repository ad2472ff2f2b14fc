"""Inputs: shapes and constants that the user gives, and what is said where they are missing or do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import GraphProto, TensorProto, ValueInfoProto, helper

from nautilus_cli.errors import ModelError, NautilusError, UsageError
from nautilus_cli.frontend.bindings import bound_array
from nautilus_cli.frontend.inputs import Inputs, resolve_inputs
from nautilus_cli.ir.types import BOOL, F32, I8, I64, DType, TensorType
from tests.unit.frontend.models import INT64, graph, tensor_input, told

IMAGE = tensor_input("x", "N", 3, None, "w")
IDS = tensor_input("ids", "batch", "seq", dtype=INT64)
MASK = tensor_input("mask", "batch", "seq", dtype=INT64)
ANY = helper.make_tensor_value_info("any", TensorProto.FLOAT, None)


def resolved(*inputs: ValueInfoProto, initializers: dict[str, np.ndarray] | None = None, bindings: Any = None, **shapes: Any) -> Inputs:
    return resolve_inputs(graph([], inputs, [], initializers), shapes, bindings or {})


def refused(kind: type[NautilusError], *inputs: ValueInfoProto, **given_: Any) -> str:
    with pytest.raises(kind) as caught:
        resolved(*inputs, **given_)
    return told(caught.value)


def test_static_input_needs_nothing() -> None:
    assert resolved(tensor_input("x", 1, 3)).types == {"x": TensorType(F32, (1, 3))}


def test_shape_binds_open_dimensions() -> None:
    assert resolved(IMAGE, x=(1, 3, 48, 192)).types == {"x": TensorType(F32, (1, 3, 48, 192))}


def test_one_name_is_one_size_in_every_input() -> None:
    found = resolved(IDS, MASK, mask=(2, 16))
    assert found.types["ids"].shape == (2, 16)


def test_input_of_unknown_rank_takes_any_shape() -> None:
    assert resolved(ANY, any=()).types["any"].shape == ()


def test_negative_dimension_of_a_writer_is_open() -> None:
    assert resolved(tensor_input("x", -1, 3), x=(7, 3)).types["x"].shape == (7, 3)


def test_empty_dimension_is_a_size() -> None:
    assert resolved(tensor_input("x", 0, 3)).types["x"].shape == (0, 3)


def test_initializer_that_is_also_an_input_is_no_input() -> None:
    assert resolved(IMAGE, ANY, initializers={"x": np.zeros(3), "any": np.zeros(1)}).types == {}


def test_open_input_shows_the_option() -> None:
    assert refused(ModelError, IMAGE) == (
        "an input has dimensions that the model leaves open: 'x' [N, 3, ?, w] | Pass their sizes, for example: --shape x=1x3x224x224"
    )


def test_every_open_input_is_shown_at_once() -> None:
    message = refused(ModelError, IDS, MASK, ANY, tensor_input("z", 1))
    assert message == (
        "inputs have dimensions that the model leaves open: 'ids' [batch, seq]; 'mask' [batch, seq]; 'any' of any shape | "
        "Pass their sizes, for example: --shape ids=1x128 --shape mask=1x128 --shape any=1x3x224x224"
    )


def test_example_keeps_sizes_that_are_known() -> None:
    message = refused(ModelError, IDS, tensor_input("past", "batch", 8, "past_length", 64), ids=(4, 1))
    assert "--shape past=4x8x128x64" in message


def test_name_in_the_example_is_quoted_for_the_shell() -> None:
    assert "--shape '$(reboot)\\n=1'" in refused(ModelError, tensor_input("$(reboot)\n", None))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"y": (1,)}, "--shape 'y': the model has no input of this name | Known: x."),
        (
            {"x": (1, 3, 48)},
            "--shape 'x': 1x3x48 has 3 dimensions; the model declares 4: 'x' [N, 3, ?, w] | For example: --shape x=1x3x224x224.",
        ),
        ({"x": (1, 4, 48, 48)}, "--shape 'x': 1x4x48x48 has 4 in dimension 1; the model declares 3: 'x' [N, 3, ?, w]"),
        ({"x": (1, 3, -48, 48)}, "--shape 'x': 1x3x-48x48 has a negative dimension"),
        ({"x": (1,) * 70}, "has 70 dimensions"),
    ],
)
def test_shape_that_does_not_fit(shapes: dict[str, tuple[int, ...]], message: str) -> None:
    assert message in refused(UsageError, IMAGE, **shapes)


def test_one_name_in_two_sizes() -> None:
    assert refused(UsageError, IDS, MASK, ids=(2, 16), mask=(2, 17)) == (
        "--shape 'mask': 2x17 makes dimension 'seq' 17; input 'ids' makes it 16 | One name of a dimension is one size."
    )


def test_initializer_is_a_constant_already() -> None:
    zeros = {"x": np.zeros(3)}
    message = "'x': is an initializer of the model, a constant already"
    assert refused(UsageError, IMAGE, initializers=zeros, x=(1, 3, 2, 2)) == f"--shape {message}"
    assert refused(UsageError, IMAGE, initializers=zeros, bindings={"x": "1"}) == f"--bind {message}"


def test_enormous_shape() -> None:
    assert "takes 4000000000000 bytes" in refused(ModelError, ANY, any=(10**6, 10**6))


def test_binding_makes_a_constant_of_an_open_input() -> None:
    found = resolved(IDS, ANY, bindings={"any": "2.5", "ids": "7"})
    assert found.types == {}
    assert found.constants["any"] == np.float32(2.5)
    assert found.constants["ids"].tolist() == [[7]]


def test_binding_of_an_unknown_name() -> None:
    assert refused(UsageError, IDS, bindings={"id": "7"}) == "--bind 'id': the model has no input of this name | Known: ids."


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([IDS, IDS], "two inputs are called 'ids'"),
        ([tensor_input("", 1)], "an input has no name"),
        ([ValueInfoProto(name="x")], "input 'x': has no type; only dense tensors are supported"),
        ([helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, None)], "input 'x': is a sequence; only dense tensors"),
        ([helper.make_sparse_tensor_value_info("x", TensorProto.FLOAT, [1])], "input 'x': is a sparse tensor; only dense tensors"),
        ([tensor_input("x", 1, dtype=TensorProto.COMPLEX64)], "input 'x': element type COMPLEX64 is not supported"),
        ([tensor_input("x", *[1] * 100)], "input 'x': has 100 dimensions"),
    ],
)
def test_input_that_is_not_supported(inputs: list[ValueInfoProto], message: str) -> None:
    assert message in refused(ModelError, *inputs)


@given(st.integers(-(2**63), 2**63 - 1))
def test_any_integer_is_bound_exactly(number: int) -> None:
    assert bound_array("x", str(number), TensorType(I64, ())).item() == number


@given(st.floats(width=32))
def test_any_number_is_bound_exactly(number: float) -> None:
    np.testing.assert_array_equal(bound_array("x", repr(number), TensorType(F32, (2,))), np.full(2, number, np.float32))


@pytest.mark.parametrize(
    ("dtype", "shape", "text", "wanted"),
    [
        (I64, (), "16000", 16000),
        (I64, (3,), "1, 2,-3", [1, 2, -3]),
        (I64, (2, 2), "[1,2,3,4]", [[1, 2], [3, 4]]),
        (BOOL, (2,), "true,False", [True, False]),
        (BOOL, (), "1", True),
        (F32, (2,), "inf", [np.inf, np.inf]),
    ],
)
def test_text_of_a_constant(dtype: DType, shape: tuple[int, ...], text: str, wanted: Any) -> None:
    found = bound_array("x", text, TensorType(dtype, shape))
    assert found.dtype == dtype.numpy
    assert found.tolist() == wanted


@pytest.mark.parametrize(
    ("dtype", "shape", "text", "message"),
    [
        (I64, (), "1.5", "--bind 'x': '1.5' is not an integer | The input's element type is i64."),
        (I64, (), "", "'' is not an integer"),
        (I64, (), "9" * 5000, "is not an integer"),
        (I8, (), "128", "128 does not fit i8 | Allowed is -128 to 127."),
        (F32, (), "one", "'one' is not a number"),
        (BOOL, (), "2", "'2' is not a boolean | Allowed are true and false."),
        (I64, (3,), "1,2", "2 values are given for an input of type i64[3] | Give one value for all elements, or 3."),
    ],
)
def test_text_that_does_not_fit(dtype: DType, shape: tuple[int, ...], text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        bound_array("x", text, TensorType(dtype, shape))
    assert message in told(caught.value)


def test_empty_graph_has_no_inputs() -> None:
    assert resolve_inputs(GraphProto(), {}, {}).types == {}


def test_endless_names_are_cut() -> None:
    assert len(refused(ModelError, tensor_input("x", "n" * 10**6))) < 1000
    assert len(refused(UsageError, tensor_input("x" * 10**6, 3), **{"z" * 10**6: (1,)})) < 1000

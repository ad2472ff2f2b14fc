"""Tensors of every element type and form, and declared sizes that do not fit their data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from onnx import TensorProto, helper, numpy_helper

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.frontend.tensors import tensor_array
from nautilus_cli.ir.types import DTYPES, NARROW, DType
from nautilus_cli.ops.element_types import ONNX_NUMBERS

NOWHERE = ExternalData(None)


def tensor(data_type: int = TensorProto.FLOAT, dims: tuple[int, ...] = (2,), **fields: object) -> TensorProto:
    return TensorProto(name="t", data_type=data_type, dims=dims, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
@given(data=st.data())
def test_raw_and_typed_fields_give_what_onnx_gives(dtype: DType, data: st.DataObject) -> None:
    shape = data.draw(arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
    if dtype in NARROW:
        array = data.draw(arrays.arrays(np.uint8, shape, elements=st.integers(0, (1 << dtype.bits) - 1))).view(dtype.numpy)
    else:
        kind = np.dtype(np.float32) if dtype.name == "bf16" else dtype.numpy
        array = data.draw(arrays.arrays(kind, shape)).astype(dtype.numpy)
    raw = numpy_helper.from_array(array, "t")
    assert raw.HasField("raw_data")
    vals = array
    if dtype.bits < 8:  # several to a byte, in typed fields too
        vals = np.frombuffer(raw.raw_data, np.uint8)
    elif (dtype.is_float and dtype.bits < 32) or dtype.kind == "bool":
        vals = array.view(f"u{dtype.bytes}")
    typed = TensorProto(name="t", data_type=ONNX_NUMBERS[dtype], dims=shape)
    field = {"f32": "float_data", "f64": "double_data", "i64": "int64_data", "u32": "uint64_data", "u64": "uint64_data"}.get(
        dtype.name, "int32_data"
    )
    getattr(typed, field).extend(np.asarray(vals).reshape(-1).tolist())
    for proto in (raw, typed):
        found = tensor_array(proto, NOWHERE)
        assert found.dtype == dtype.numpy
        assert found.shape == shape
        assert found.tobytes() == array.tobytes() or np.isnan(array.astype(np.float64)).any()
        assert not found.flags.writeable


def test_raw_data_is_not_copied() -> None:
    proto = numpy_helper.from_array(np.arange(8, dtype=np.float32), "t")
    assert tensor_array(proto, NOWHERE).base is not None


def test_booleans_of_odd_bytes_are_true() -> None:
    found = tensor_array(tensor(TensorProto.BOOL, (3,), raw_data=b"\x00\x02\xff"), NOWHERE)
    assert found.view(np.uint8).tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("proto", "message"),
    [
        (tensor(raw_data=bytes(7)), r"tensor 't': holds 7 bytes; its type f32\[2\] needs 8"),
        (tensor(float_data=[1.0]), r"tensor 't': holds 1 elements; its type f32\[2\] needs 2"),
        (tensor(), "holds 0 elements"),
        (tensor(TensorProto.INT64, int32_data=[1, 2]), "holds 0 elements"),
        (tensor(dims=(10**6, 10**6), raw_data=bytes(8)), r"takes 4000000000000 bytes.*\(256 GiB\)"),
        (tensor(dims=(2**40, 2**40)), "The limit is"),
        (tensor(dims=(100_000, 100_000)), r"holds 0 elements; its type f32\[100000, 100000\] needs 10000000000"),
        (tensor(dims=(-2,), raw_data=bytes(8)), r"has the shape \[-2\], with a negative dimension"),
        (tensor(TensorProto.STRING, string_data=[b"a", b"b"]), "element type STRING is not supported"),
        (tensor(TensorProto.COMPLEX64), "element type COMPLEX64 is not supported.*Supported: f32"),
        (tensor(TensorProto.FLOAT6E2M3, raw_data=b"ab"), "element type FLOAT6E2M3 is not supported"),
        (tensor(TensorProto.INT4, (3,), raw_data=b"abc"), r"holds 3 bytes; its type i4\[3\] needs 2"),
        (tensor(TensorProto.UINT2, (3, 3), int32_data=[1, 2]), "holds 2 elements; .* needs 3"),
        (tensor(99), "element type 99 is not supported"),
        (tensor(0), "element type UNDEFINED is not supported"),
        (tensor(segment=TensorProto.Segment(begin=0, end=1)), "is a segment of a tensor"),
    ],
)
def test_declared_type_that_does_not_fit(proto: TensorProto, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        tensor_array(proto, NOWHERE)


def test_every_supported_type_is_known_to_onnx() -> None:
    for dtype, number in ONNX_NUMBERS.items():
        assert helper.tensor_dtype_to_np_dtype(number) == dtype.numpy

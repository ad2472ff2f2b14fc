"""Sets of element types as ONNX's type constraints name them, and ONNX's numbers for element types."""

from __future__ import annotations

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import (
    BF16,
    BOOL,
    F4E2M1,
    F8E4M3FN,
    F8E4M3FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
    F8E8M0,
    F16,
    F32,
    F64,
    I2,
    I4,
    I8,
    I16,
    I32,
    I64,
    NARROW,
    U2,
    U4,
    U8,
    U16,
    U32,
    U64,
    DType,
)

FLOATS = (F16, BF16, F32, F64)
SIGNED = (I8, I16, I32, I64)
UNSIGNED = (U8, U16, U32, U64)
INTEGERS = (*SIGNED, *UNSIGNED)
NUMERIC = (*FLOATS, *INTEGERS)
ALL = (*NUMERIC, BOOL)
INDICES = (I32, I64)
FLOAT8 = (F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ)
STORABLE = (*ALL, *NARROW)
"""Whatever a tensor can hold."""

ONNX_NUMBERS = {
    F32: 1,
    U8: 2,
    I8: 3,
    U16: 4,
    I16: 5,
    I32: 6,
    I64: 7,
    BOOL: 9,
    F16: 10,
    F64: 11,
    U32: 12,
    U64: 13,
    BF16: 16,
    F8E4M3FN: 17,
    F8E4M3FNUZ: 18,
    F8E5M2: 19,
    F8E5M2FNUZ: 20,
    U4: 21,
    I4: 22,
    F4E2M1: 23,
    F8E8M0: 24,
    U2: 25,
    I2: 26,
}
"""Source: onnx.proto, TensorProto.DataType."""

_BY_NUMBER = {number: dtype for dtype, number in ONNX_NUMBERS.items()}

_UNSUPPORTED = {8: "string", 14: "complex64", 15: "complex128", 27: "float6e2m3", 28: "float6e3m2"}


def dtype_from_onnx(number: int) -> DType:
    """Return the element type with this number in TensorProto.DataType.

    Raises:
        ModelError: it is not supported.
    """
    if number not in _BY_NUMBER:
        name = _UNSUPPORTED.get(number, f"number {number}")
        supported = f"Supported: {', '.join(d.name for d in ONNX_NUMBERS)}."
        hint = "Text has no place on a device: turn it into numbers before the model." if name == "string" else supported
        raise ModelError(f"element type {name} is not supported", hint=hint)
    return _BY_NUMBER[number]


def stash_dtype(number: int) -> DType:
    """Return the type that an attribute stash_type names, in which an operator computes what it then rounds.

    Raises:
        ModelError: it is not a floating-point type.
    """
    dtype = dtype_from_onnx(number)
    if dtype not in FLOATS:
        raise ModelError(f"stash_type is {number}, which is {dtype}; the specification requires a floating-point type, such as 1")
    return dtype

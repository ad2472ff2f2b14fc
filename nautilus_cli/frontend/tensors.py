"""TensorProto to numpy, checked before anything is allocated, without copies where the data is raw or external."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from onnx import TensorProto

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.types import DType, TensorType, unpacked
from nautilus_cli.ops.element_types import dtype_from_onnx
from nautilus_cli.ops.tensor_limits import check_size

_FIELDS: dict[int, str] = {
    TensorProto.FLOAT: "float_data",
    TensorProto.DOUBLE: "double_data",
    TensorProto.INT64: "int64_data",
    TensorProto.UINT32: "uint64_data",
    TensorProto.UINT64: "uint64_data",
}
"""Source: onnx.proto, TensorProto: where elements stand that are not raw; every other type stands in int32_data."""


def tensor_label(tensor: TensorProto, role: str = "tensor") -> str:
    """Return where an error is."""
    return f"{role} {quoted(tensor.name)}" if tensor.name else role


def element_type(number: int, where: str) -> DType:
    """Return the element type with a number of TensorProto.DataType.

    Raises:
        ModelError: it is not supported.
    """
    try:
        return dtype_from_onnx(number)
    except ModelError as error:
        names = {value: name for name, value in TensorProto.DataType.items()}
        raise ModelError(f"element type {names.get(number, number)} is not supported", where=where, hint=error.hint) from error


def tensor_type(tensor: TensorProto, where: str) -> TensorType:
    """Return the declared type; nothing is allocated.

    Raises:
        ModelError: the element type is not supported, a dimension is negative, or the size is absurd.
    """
    if tensor.HasField("segment"):
        raise ModelError("is a segment of a tensor; only whole tensors are supported", where=where)
    dims = tuple(tensor.dims)
    if any(dim < 0 for dim in dims):
        raise ModelError(f"has the shape {list(dims)}, with a negative dimension", where=where)
    return check_size(TensorType(element_type(tensor.data_type, where), dims), where)


@dataclass(frozen=True, slots=True)
class Initializer:
    """A tensor of a graph.

    Attributes:
        tensor: as the model holds it.
        raw: its raw data, where that was taken out of the model before it was parsed.
    """

    tensor: TensorProto
    raw: np.ndarray | None = None


def initializer_array(initializer: Initializer, external: ExternalData) -> np.ndarray:
    """Return the contents of an initializer, read-only; errors as those of `tensor_array`."""
    return tensor_array(initializer.tensor, external, "initializer", initializer.raw)


def tensor_array(tensor: TensorProto, external: ExternalData, role: str = "tensor", raw: np.ndarray | None = None) -> np.ndarray:
    """Return the contents of a tensor, read-only.

    Args:
        tensor: the tensor.
        external: where external data is read from.
        role: what to call it in an error.
        raw: bytes that stand for its raw data.

    Raises:
        ModelError: declared type and shape do not fit the data that is there.
        FileError: external data cannot be read.
    """
    where = tensor_label(tensor, role)
    type_ = tensor_type(tensor, where)
    stored_bytes = type_.dtype.packed_bytes(type_.elements)
    if tensor.data_location == TensorProto.EXTERNAL:
        array = _elements(external.bytes_of(tensor, stored_bytes, where), type_)
    elif raw is not None or tensor.HasField("raw_data"):
        raw = np.frombuffer(tensor.raw_data, np.uint8) if raw is None else raw
        if len(raw) != stored_bytes:
            raise ModelError(f"holds {len(raw)} bytes; its type {type_} needs {stored_bytes}", where=where)
        array = _elements(raw, type_)
    else:
        array = _from_field(tensor, type_, where)
    if type_.dtype.kind == "bool":
        array = array.view(np.uint8) != 0  # numpy takes every other byte for undefined
    array = array.reshape(type_.static).view()
    array.flags.writeable = False
    return array


def _elements(data: np.ndarray, type_: TensorType) -> np.ndarray:
    """Return stored bytes as elements."""
    dtype = type_.dtype
    return unpacked(data, dtype, type_.elements) if dtype.bits < 8 else _aligned(data, dtype.numpy)


def _aligned(data: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return bytes as elements; copied where they stand at an odd address, since numpy and kernels want aligned elements."""
    return (data if data.ctypes.data % dtype.itemsize == 0 else data.copy()).view(dtype)


def _from_field(tensor: TensorProto, type_: TensorType, where: str) -> np.ndarray:
    """Return elements that stand in one of the typed fields, flat."""
    elements = getattr(tensor, _FIELDS.get(tensor.data_type, "int32_data"))
    dtype = type_.dtype
    count = dtype.packed_bytes(prod(type_.static)) if dtype.bits < 8 else prod(type_.static)
    if len(elements) != count:
        raise ModelError(f"holds {len(elements)} elements; its type {type_} needs {count}", where=where)
    if tensor.data_type in _FIELDS:
        return np.array(elements, dtype.numpy)
    integers = np.array(elements, np.int32)
    # Narrow floats stand there as their bits, integers as their values, and what is packed as bytes.
    if dtype.bits < 8:
        return _elements(integers.astype(np.uint8), type_)
    return integers.astype(f"u{dtype.bytes}").view(dtype.numpy) if dtype.is_float else integers.astype(dtype.numpy)

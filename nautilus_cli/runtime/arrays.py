"""What a caller passes as a tensor: numpy arrays, and whatever speaks DLPack or the CUDA array interface.

Source: CUDA Array Interface, version 3 (numba documentation); DLPack's Python specification.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np

from nautilus_cli.errors import ModelError, UsageError
from nautilus_cli.ir.types import ML_DTYPES, U32, UCS4, dtype_of
from nautilus_cli.numerics.strings import code_points, is_text
from nautilus_cli.runtime import dlpack
from nautilus_cli.runtime.description import Tensor

OPEN = -1
"""A dimension of a tensor of which the library knows the size only when it runs."""

LEGACY_STREAM = 1
"""How DLPack and the CUDA array interface name the legacy default stream, which the driver calls 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A tensor somewhere in memory.

    Attributes:
        address: of its first element.
        type: name of its element type, as in `ir.types`.
        shape: its shape.
        is_dense: whether it is row-major without gaps.
        is_host: whether it lies in host memory.
        is_writable: whether it may be written.
        device: number of its GPU; 0 on the host.
        producer_stream: stream that its contents still depend on, where the reader must see to that.
        owner: what keeps the memory.
    """

    address: int
    type: str
    shape: tuple[int, ...]
    is_dense: bool
    is_host: bool
    is_writable: bool = True
    device: int = 0
    producer_stream: int | None = None
    owner: object


def _is_dense(shape: Sequence[int], strides: Sequence[int] | None, item: int) -> bool:
    """Whether strides (in units of which an element has ITEM) are those of a row-major tensor."""
    if strides is None or prod(shape) == 0:
        return True
    expected = item
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


@cache
def _type_name(dtype: np.dtype) -> str:
    try:
        return dtype_of(dtype).name if dtype.isnative else str(dtype)
    except ModelError:
        return str(dtype)


def _numpy_view(array: np.ndarray) -> View:
    return View(
        address=array.ctypes.data,
        type=_type_name(array.dtype),
        shape=array.shape,
        is_dense=array.flags.c_contiguous,
        is_host=True,
        is_writable=array.flags.writeable,
        owner=array,
    )


def _cuda_view(array: Any) -> View:
    interface = array.__cuda_array_interface__
    dtype = np.dtype(interface["typestr"])
    address, is_read_only = interface["data"]
    return View(
        address=address or 0,
        type=_type_name(dtype),
        shape=tuple(interface["shape"]),
        is_dense=_is_dense(interface["shape"], interface.get("strides"), dtype.itemsize),
        is_host=False,
        is_writable=not is_read_only,
        producer_stream=interface.get("stream"),
        owner=array,
    )


def _dlpack_view(array: Any, stream: int) -> View:
    kind, device = array.__dlpack_device__()
    if kind not in (dlpack.CPU, dlpack.CUDA, dlpack.CUDA_HOST, dlpack.CUDA_MANAGED):
        raise UsageError(f"a tensor on a device of DLPack kind {kind} cannot be read", hint="Move it to the GPU or to the host.")
    is_host = kind in (dlpack.CPU, dlpack.CUDA_HOST)
    # With a stream the producer itself makes that stream wait for the contents.
    capsule = array.__dlpack__() if kind == dlpack.CPU else array.__dlpack__(stream=stream or LEGACY_STREAM)
    address, name, shape, strides = dlpack.read(capsule)
    return View(
        address=address,
        type=name,
        shape=shape,
        is_dense=_is_dense(shape, strides, 1),
        is_host=is_host,
        device=0 if is_host else device,
        owner=(array, capsule),
    )


def view(array: object, where: str, stream: int) -> View:
    """Return where a tensor lies.

    Args:
        array: what the caller passed.
        where: which input or output, for messages.
        stream: the stream that will read or write it.

    Raises:
        UsageError: it is no tensor.
    """
    if isinstance(array, np.ndarray):
        return _numpy_view(array)
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return _dlpack_view(array, stream)
    if hasattr(array, "__cuda_array_interface__"):
        return _cuda_view(array)
    raise UsageError(
        f"{type(array).__name__} is no tensor",
        where=where,
        hint="Pass a numpy array, or an object with __dlpack__ or __cuda_array_interface__.",
    )


def dense_host_array(array: object, tensor: Tensor) -> object:
    """Return ARRAY, or a dense copy of a numpy array that is not dense: a host run copies in any case. Strings become code points.

    Raises:
        UsageError: a string is longer than the model takes.
    """
    if tensor.type == UCS4 and isinstance(array, np.ndarray) and is_text(array):
        longest = max(map(len, array.flat), default=0)
        return code_points(array, longest if tensor.shape[-1] == OPEN else tensor.shape[-1], f"input '{tensor.name}'")
    if isinstance(array, np.ndarray | np.generic):
        return np.asarray(array, order="C")
    return array


def counted(array: Any, shape: Sequence[int]) -> Any:
    """Return the front of an array that has room for more, in the shape that came out; what is no array of ours as it is."""
    if isinstance(array, np.ndarray):
        return array.reshape(-1)[: prod(shape)].reshape(tuple(shape))
    if hasattr(array, "shrink"):
        array.shrink(shape)
    return array


def check(tensor: Tensor, found: View, where: str) -> None:
    """Refuse a tensor that is not what the model wants.

    Raises:
        UsageError: its type, shape or layout differs.
    """
    name = U32.name if tensor.type == UCS4 else tensor.type.name
    if found.type != name and not (name in ML_DTYPES and found.type == tensor.type.bits_type):
        raise UsageError(f"the element type is {found.type}; the model wants {name}", where=where, hint=_conversion(tensor))
    if len(found.shape) != len(tensor.shape) or any(d not in (OPEN, size) for size, d in zip(found.shape, tensor.shape, strict=True)):
        raise UsageError(f"the shape is {_shape(found.shape)}; the model wants {_shape(tensor.shape)}", where=where)
    if not found.is_dense:
        raise UsageError("the tensor is not dense in row-major order", where=where, hint="Pass a contiguous copy of it.")


def _conversion(tensor: Tensor) -> str:
    return "Pass an array of strings." if tensor.type == UCS4 else f"Convert it to {tensor.dtype}."


def _shape(shape: Sequence[int]) -> str:
    return "x".join("?" if d == OPEN else str(d) for d in shape) if shape else "that of a scalar"

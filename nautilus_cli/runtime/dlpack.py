"""DLPack in both directions, through ctypes.

Source: dlpack.h of DLPack 0.8 (structures and numbers); Python Array API, "Data interchange mechanisms" (streams, capsule names).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p, py_object
from typing import Any, ClassVar

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
"""DLDeviceType of what a library can read."""

_KINDS = {"int": 0, "uint": 1, "float": 2, "bool": 6}
_BFLOAT = 4
_KIND_NAMES = {0: "i", 1: "u", 2: "f", _BFLOAT: "bf"}

_NAME = b"dltensor"


class _DataType(Structure):
    _fields_: ClassVar[Any] = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class _Tensor(Structure):
    _fields_: ClassVar[Any] = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("rank", c_int32),
        ("dtype", _DataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class _ManagedTensor(Structure):
    pass


_DELETER = CFUNCTYPE(None, POINTER(_ManagedTensor))
_ManagedTensor._fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", _DELETER)]

_api = ctypes.pythonapi
_capsule_pointer = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", _api))
_capsule_new = ctypes.PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", _api))
# A destructor sees a capsule that must not be referred to again, so its address is handled, not the object.
_dying_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, c_char_p)(("PyCapsule_IsValid", _api))
_dying_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _api))


def read(capsule: object) -> tuple[int, str, tuple[int, ...], tuple[int, ...] | None]:
    """Return (address, element type, shape, strides in elements) of the tensor in a capsule, which stays the owner.

    The element type is named as in `ir.types`, or `?` where it has none there.
    """
    address = _capsule_pointer(capsule, _NAME)
    tensor = ctypes.cast(address, POINTER(_ManagedTensor)).contents.tensor
    dtype = tensor.dtype
    name = "bool" if dtype.code == _KINDS["bool"] else f"{_KIND_NAMES.get(dtype.code, '?')}{dtype.bits}"
    shape = tuple(tensor.shape[: tensor.rank]) if tensor.rank else ()
    strides = tuple(tensor.strides[: tensor.rank]) if tensor.rank and tensor.strides else None
    return (tensor.data or 0) + tensor.byte_offset, name if dtype.lanes == 1 else "?", shape, strides


_exported: dict[int, tuple[object, ...]] = {}
"""What each exported tensor keeps alive, by the address of its structure, until its consumer deletes it."""


def _forget(pointer: Any) -> None:
    _exported.pop(ctypes.addressof(pointer.contents), None)


def _destroy_capsule(capsule: int) -> None:
    if _dying_is_valid(capsule, _NAME):  # else a consumer took the tensor over and renamed the capsule
        _exported.pop(_dying_pointer(capsule, _NAME), None)


_forget_callback = _DELETER(_forget)
_destroy_callback: Callable[[int], None] = ctypes.PYFUNCTYPE(None, c_void_p)(_destroy_capsule)


def export(owner: object, *, address: int, kind: str, bits: int, is_bfloat: bool, shape: Sequence[int], device: tuple[int, int]) -> object:
    """Return a capsule for a dense tensor; OWNER lives as long as the capsule's consumer.

    Args:
        owner: what holds the memory.
        address: of the first element.
        kind: `float`, `int`, `uint` or `bool`.
        bits: of an element.
        is_bfloat: whether the float is a bfloat.
        shape: of the tensor.
        device: (DLDeviceType, number).
    """
    managed = _ManagedTensor()
    sizes = (c_int64 * max(len(shape), 1))(*shape)
    managed.tensor.data = address
    managed.tensor.device_type, managed.tensor.device_id = device
    managed.tensor.rank = len(shape)
    managed.tensor.dtype = _DataType(_BFLOAT if is_bfloat else _KINDS[kind], bits, 1)
    managed.tensor.shape = ctypes.cast(sizes, POINTER(c_int64))
    managed.deleter = _forget_callback
    _exported[ctypes.addressof(managed)] = (managed, sizes, owner)
    destructor = ctypes.cast(_destroy_callback, c_void_p)  # type: ignore[arg-type]
    return _capsule_new(ctypes.addressof(managed), _NAME, destructor)

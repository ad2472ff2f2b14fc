"""What the machine has: the CUDA driver and its devices, asked through libcuda alone.

Nothing here raises for a missing or failing driver: the answer then says why there is no device.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_LIBRARY = "libcuda.so.1"

# Source: cuda.h of CUDA 13.0, CUdevice_attribute and cuDriverGetVersion (1000 * major + 10 * minor).
_ATTRIBUTE_MULTIPROCESSORS = 16
_ATTRIBUTE_CAPABILITY_MAJOR = 75
_ATTRIBUTE_CAPABILITY_MINOR = 76
_NAME_BYTES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A GPU.

    Attributes:
        index: as the driver counts; CUDA_VISIBLE_DEVICES, which the driver obeys, has been applied.
        name: marketing name.
        capability: (major, minor).
        multiprocessors: how many.
    """

    index: int
    name: str
    capability: tuple[int, int]
    multiprocessors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """The CUDA driver.

    Attributes:
        version: newest CUDA version that it supports, (major, minor); None without a driver.
        devices: in the driver's order.
        problem: why there is no device, in a sentence; None where there is one.
    """

    version: tuple[int, int] | None
    devices: tuple[Device, ...]
    problem: str | None


class _CallError(Exception):
    """A driver function returned an error."""


def driver(open_library: Callable[[str], Any] = ctypes.CDLL) -> Driver:
    """Ask the driver for its version and devices; makes no context.

    Args:
        open_library: loads libcuda by name; a test passes its own.
    """
    try:
        cuda = open_library(_LIBRARY)
    except OSError:
        return Driver(version=None, devices=(), problem=f"no CUDA driver ({_LIBRARY} cannot be loaded)")
    version: tuple[int, int] | None = None
    try:
        number = ctypes.c_int()
        _call(cuda, "cuDriverGetVersion", ctypes.byref(number))
        version = (number.value // 1000, number.value % 1000 // 10)
        _call(cuda, "cuInit", ctypes.c_uint(0))
        count = ctypes.c_int()
        _call(cuda, "cuDeviceGetCount", ctypes.byref(count))
        devices = tuple(_device(cuda, index) for index in range(count.value))
    except _CallError as failure:
        return Driver(version=version, devices=(), problem=str(failure))
    return Driver(version=version, devices=devices, problem=None if devices else "the driver sees no device")


def _device(cuda: Any, index: int) -> Device:
    handle = ctypes.c_int()
    _call(cuda, "cuDeviceGet", ctypes.byref(handle), ctypes.c_int(index))
    name = ctypes.create_string_buffer(_NAME_BYTES)
    _call(cuda, "cuDeviceGetName", name, ctypes.c_int(_NAME_BYTES), handle)

    def attribute(number: int) -> int:
        value = ctypes.c_int()
        _call(cuda, "cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(number), handle)
        return value.value

    return Device(
        index=index,
        name=name.value.decode(errors="replace"),
        capability=(attribute(_ATTRIBUTE_CAPABILITY_MAJOR), attribute(_ATTRIBUTE_CAPABILITY_MINOR)),
        multiprocessors=attribute(_ATTRIBUTE_MULTIPROCESSORS),
    )


def _call(cuda: Any, name: str, *arguments: Any) -> None:
    """Call a driver function.

    Raises:
        _CallError: it is missing, or returned an error.
    """
    try:
        function = getattr(cuda, name)
    except AttributeError:
        raise _CallError(f"{_LIBRARY} has no {name}") from None
    status = function(*arguments)
    if status:
        raise _CallError(f"{name} returned {_error_name(cuda, status)}")


def _error_name(cuda: Any, status: int) -> str:
    text = ctypes.c_char_p()
    try:
        failed = cuda.cuGetErrorName(ctypes.c_int(status), ctypes.byref(text))
    except AttributeError:
        failed = 1
    return f"error {status}" if failed or not text.value else text.value.decode()

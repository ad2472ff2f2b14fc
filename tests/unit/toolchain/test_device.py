"""Asking the driver: every way it can be missing or fail is an answer."""

from __future__ import annotations

import ctypes
from typing import Any

from nautilus_cli.toolchain.device import Device, driver

ATTRIBUTES = {16: 132, 75: 9, 76: 0}


class FakeCuda:
    """The functions of libcuda that are asked, over one H200."""

    def __init__(self, *, init: int = 0, devices: int = 1) -> None:
        self.init, self.devices = init, devices

    def cuDriverGetVersion(self, version: Any) -> int:  # noqa: N802
        version._obj.value = 13000
        return 0

    def cuInit(self, flags: Any) -> int:  # noqa: N802
        return self.init

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802
        count._obj.value = self.devices
        return 0

    def cuDeviceGet(self, handle: Any, index: Any) -> int:  # noqa: N802
        handle._obj.value = index.value
        return 0

    def cuDeviceGetName(self, name: Any, size: Any, handle: Any) -> int:  # noqa: N802
        name.value = b"NVIDIA H200"
        return 0

    def cuDeviceGetAttribute(self, value: Any, number: Any, handle: Any) -> int:  # noqa: N802
        value._obj.value = ATTRIBUTES[number.value]
        return 0

    def cuGetErrorName(self, status: Any, text: Any) -> int:  # noqa: N802
        text._obj.value = b"CUDA_ERROR_NO_DEVICE"
        return 0


def test_a_device_is_described() -> None:
    found = driver(lambda name: FakeCuda())
    assert found.version == (13, 0)
    assert found.devices == (Device(index=0, name="NVIDIA H200", capability=(9, 0), multiprocessors=132),)
    assert found.problem is None


def test_no_driver() -> None:
    def missing(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    found = driver(missing)
    assert (found.version, found.devices) == (None, ())
    assert found.problem == "no CUDA driver (libcuda.so.1 cannot be loaded)"


def test_a_driver_that_fails_to_start() -> None:
    found = driver(lambda name: FakeCuda(init=100))
    assert (found.version, found.devices) == ((13, 0), ())
    assert found.problem == "cuInit returned CUDA_ERROR_NO_DEVICE"


def test_a_driver_without_devices() -> None:
    assert driver(lambda name: FakeCuda(devices=0)).problem == "the driver sees no device"


def test_a_library_that_is_no_driver() -> None:
    assert driver(lambda name: ctypes.CDLL(None)).problem == "libcuda.so.1 has no cuDriverGetVersion"

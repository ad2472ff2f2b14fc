"""Functions of a translation unit, called on the first device."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from nautilus_cli.targets.registry import for_capability
from nautilus_cli.toolchain import nvrtc
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.device import driver
from tests.emulated.functions import Entry


class DeviceFunctions:
    """Calls the functions of a cubin, with the interface of test_math.Functions."""

    def __init__(self, cubin: bytes) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._call("cuInit", 0)
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self._call("cuCtxPushCurrent_v2", context)
        self._module = ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(self._module), cubin)

    def call(self, entry: Entry, arrays: tuple[np.ndarray, ...]) -> np.ndarray:
        return self.launch(entry.symbol, arrays, entry.scalars(), entry.result.numpy)

    def launch(self, symbol: str, arrays: tuple[np.ndarray, ...], scalars: list[Any], dtype: np.dtype) -> np.ndarray:
        function = ctypes.c_void_p()
        self._call("cuModuleGetFunction", ctypes.byref(function), self._module, symbol.encode())
        result = np.zeros(arrays[0].shape, dtype)
        pointers = [self._copied(array) for array in (*arrays, result)]
        arguments = [ctypes.c_longlong(result.size), *pointers[:-1], *scalars, pointers[-1]]
        parameters = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(a) for a in arguments))
        self._call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, parameters, None)
        self._call("cuMemcpyDtoH_v2", ctypes.c_void_p(result.ctypes.data), pointers[-1], ctypes.c_size_t(result.nbytes))
        for pointer in pointers:
            self._call("cuMemFree_v2", pointer)
        return result

    def _copied(self, array: np.ndarray) -> ctypes.c_uint64:
        pointer = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(array.nbytes))
        self._call("cuMemcpyHtoD_v2", pointer, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))
        return pointer

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._driver, name)(*arguments)
        assert status == 0, f"{name}: {status}"


def compiled(text: str, tmp_path_factory: pytest.TempPathFactory) -> DeviceFunctions:
    """Return the functions of a translation unit on the first device."""
    (device, *_) = driver().devices
    architecture = for_capability(device.capability)
    assert architecture is not None, f"no target for compute capability {device.capability}"
    store = Cache(tmp_path_factory.mktemp("cache"))
    return DeviceFunctions(nvrtc.compile_kernel(text, "functions", architecture, store).image)

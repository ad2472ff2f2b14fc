"""Fixtures of the emulator's tests on a device."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence

import numpy as np

from tests.emulated.executor import mapped_block
from tests.emulated.tensor_maps import TensorMap, encode

MOST_SHARED_BYTES_WITHOUT_ASKING = 48 * 1024
MAX_DYNAMIC_SHARED_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class DeviceImage:
    """The fixtures on the first device, with the interface of tests.emulated.executor.Image.

    Args:
        cubins: each with some of the fixtures.
    """

    def __init__(self, cubins: Iterable[bytes]) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._call("cuInit", 0)
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self._call("cuCtxPushCurrent_v2", context)
        self._modules = []
        for cubin in cubins:
            module = ctypes.c_void_p()
            self._call("cuModuleLoadData", ctypes.byref(module), cubin)
            self._modules.append(module)

    def launch(
        self,
        name: str,
        *arrays: np.ndarray,
        grid: tuple[int, int, int] = (1, 1, 1),
        block: tuple[int, int, int] = (32, 1, 1),
        scalars: Sequence[int] = (),
        shared_bytes: int = 0,
        maps: Sequence[TensorMap] | None = None,
    ) -> None:
        """Run a fixture on copies of the arrays, and copy them back."""
        function = self._function(name)
        pointers = [ctypes.c_uint64() for _ in arrays]
        for pointer, array in zip(pointers, arrays, strict=True):
            self._call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(array.nbytes))
            self._call("cuMemcpyHtoD_v2", pointer, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))
        addresses = [pointer.value for pointer in pointers]
        if maps is None:
            words = np.zeros(6, np.uint64)  # struct Arguments of sound.cu
            words[: len(arrays)] = addresses
            words[4 : 4 + len(scalars)] = np.array(scalars, dtype=np.int64).view(np.uint64)
            arguments = words.ctypes.data
        else:
            memory = mapped_block(addresses, scalars, [self._encoded(tensor, addresses[tensor.array]) for tensor in maps])
            arguments = ctypes.addressof(memory)
        if shared_bytes > MOST_SHARED_BYTES_WITHOUT_ASKING:
            self._call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED_BYTES, shared_bytes)
        self._call("cuLaunchKernel", function, *grid, *block, shared_bytes, None, (ctypes.c_void_p * 1)(arguments), None)
        self._call("cuCtxSynchronize")
        for pointer, array in zip(pointers, arrays, strict=True):
            self._call("cuMemcpyDtoH_v2", ctypes.c_void_p(array.ctypes.data), pointer, ctypes.c_size_t(array.nbytes))
            self._call("cuMemFree_v2", pointer)

    def _function(self, name: str) -> ctypes.c_void_p:
        function = ctypes.c_void_p()
        for module in self._modules:
            if self._driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode()) == 0:
                return function
        raise AssertionError(f"no module has the fixture {name}")

    def _encoded(self, tensor: TensorMap, address: int) -> bytes:
        status, encoded = encode(self._driver.cuTensorMapEncodeTiled, tensor, address)
        assert status == 0, f"cuTensorMapEncodeTiled: {status}"
        return encoded

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._driver, name)(*arguments)
        assert status == 0, f"{name}: {status}"

"""A process that launches fixtures on a device, one after the other, for another one."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np

from tests.emulated.executor import mapped_block
from tests.emulated.tensor_maps import TensorMap, encode

MOST_SHARED_BYTES_WITHOUT_ASKING = 48 * 1024
MAX_DYNAMIC_SHARED_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What is launched; fields as the arguments of tests.emulated.executor.Image.launch."""

    name: str
    arrays: tuple[np.ndarray, ...]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    scalars: Sequence[int]
    shared_bytes: int
    maps: Sequence[TensorMap] | None


class DeviceError(Exception):
    """A call of the driver failed, with its number."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{text}: {status}")
        self.status = status
        self.text = text


class Device:
    """The first device, with some modules loaded."""

    def __init__(self, cubins: Sequence[bytes]) -> None:
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

    def run(self, launch: Launch) -> list[np.ndarray]:
        """Run a fixture on copies of its arrays, and return what it left in them."""
        function = self._function(launch.name)
        pointers = [ctypes.c_uint64() for _ in launch.arrays]
        for pointer, array in zip(pointers, launch.arrays, strict=True):
            self._call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(array.nbytes))
            self._call("cuMemcpyHtoD_v2", pointer, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))
        addresses = [pointer.value for pointer in pointers]
        if launch.maps is None:
            words = np.zeros(6, np.uint64)  # struct Arguments of sound.cu
            words[: len(addresses)] = addresses
            words[4 : 4 + len(launch.scalars)] = np.array(launch.scalars, dtype=np.int64).view(np.uint64)
            arguments = words.ctypes.data
        else:
            memory = mapped_block(addresses, launch.scalars, [self._encoded(tensor, addresses[tensor.array]) for tensor in launch.maps])
            arguments = ctypes.addressof(memory)
        if launch.shared_bytes > MOST_SHARED_BYTES_WITHOUT_ASKING:
            self._call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED_BYTES, launch.shared_bytes)
        parameters = (ctypes.c_void_p * 1)(arguments)
        self._call("cuLaunchKernel", function, *launch.grid, *launch.block, launch.shared_bytes, None, parameters, None)
        self._call("cuCtxSynchronize")
        results = [np.empty_like(array) for array in launch.arrays]
        for pointer, result in zip(pointers, results, strict=True):
            self._call("cuMemcpyDtoH_v2", ctypes.c_void_p(result.ctypes.data), pointer, ctypes.c_size_t(result.nbytes))
            self._call("cuMemFree_v2", pointer)
        return results

    def _function(self, name: str) -> ctypes.c_void_p:
        function = ctypes.c_void_p()
        for module in self._modules:
            if self._driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode()) == 0:
                return function
        raise DeviceError(500, f"no module has the fixture {name}")  # CUDA_ERROR_NOT_FOUND

    def _encoded(self, tensor: TensorMap, address: int) -> bytes:
        status, encoded = encode(self._driver.cuTensorMapEncodeTiled, tensor, address)
        if status:
            raise DeviceError(status, "cuTensorMapEncodeTiled")
        return encoded

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._driver, name)(*arguments)
        if status:
            raise DeviceError(status, name)


def serve(cubins: Sequence[bytes], connection: Connection) -> None:
    """Run what comes through a connection until it is closed; the answer is the arrays, or an error's number and what failed."""
    device = None
    while True:
        try:
            launch = connection.recv()
        except EOFError:
            return
        try:
            device = device or Device(cubins)
            connection.send(device.run(launch))
        except DeviceError as error:
            connection.send((error.status, error.text))

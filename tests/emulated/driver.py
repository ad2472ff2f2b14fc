"""The functions of a driver, an emulated or the machine's own, as tests call them."""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from nautilus_cli import resources
from nautilus_cli.kernels.base import Geometry, TensorMap
from tests.emulated import tensor_maps
from tests.emulated.tensor_maps import MAP_ALIGNMENT, aligned_buffer, encode

_FUNCTION = re.compile(r"\bX\((?P<name>cu\w+), \"(?P<symbol>\w+)\"")

PROGRAMMATIC_STREAM_SERIALIZATION = 6
"""CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION."""

_MAX_DYNAMIC_SHARED_BYTES = 8
"""CU_FUNCTION_MAX_DYNAMIC_SHARED_BYTES."""


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute."""

    _fields_ = (("id", ctypes.c_uint), ("pad", ctypes.c_uint), ("value", ctypes.c_int * 16))


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("attribute_count", ctypes.c_uint),
    )


class KernelNodeParams(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("parameters", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
    )


def launch_config(geometry: Geometry, *, is_dependent: bool) -> LaunchConfig:
    """Return what a launch on the default stream is configured by."""
    config = LaunchConfig(grid=geometry.grid, block=(geometry.threads, 1, 1), shared_bytes=geometry.smem_bytes)
    if is_dependent:
        config.attributes = ctypes.pointer(LaunchAttribute(id=PROGRAMMATIC_STREAM_SERIALIZATION, value=(1,)))
        config.attribute_count = 1
    return config


class Driver:
    """The functions of templates/host/driver.h, of an emulated image or of libcuda.

    Args:
        functions: by name.
        last_error: tells more about a failure.
    """

    def __init__(self, functions: Mapping[str, Callable[..., int]], last_error: Callable[[], str]) -> None:
        self.functions = functions
        self._last_error = last_error
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxPushCurrent", context)

    @classmethod
    def emulated(cls, image: ctypes.CDLL) -> Driver:
        """Return the driver that an emulated image fills into the table, as the host code asks for it."""
        names = [match["name"] for match in _header()]
        table = (ctypes.c_void_p * (1 + len(names)))()
        table[0] = ctypes.sizeof(table)
        assert image.nautilus_emulated_driver(table) == 0, "the image knows another table"
        last_error = image.nautilus_emulator_last_error
        last_error.restype = ctypes.c_char_p
        functions = {name: ctypes.CFUNCTYPE(ctypes.c_int)(address or 0) for name, address in zip(names, table[1:], strict=True)}
        return cls(functions, lambda: last_error().decode())

    @classmethod
    def real(cls) -> Driver:
        """Return the machine's own driver."""
        library = ctypes.CDLL("libcuda.so.1")
        return cls({match["name"]: getattr(library, match["symbol"]) for match in _header()}, lambda: "")

    def load(self, image: bytes) -> ctypes.c_void_p:
        """Return the module of an image."""
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), image)
        return module

    def unload(self, module: ctypes.c_void_p) -> None:
        """Forget a module."""
        self.call("cuModuleUnload", module)

    def function(self, module: ctypes.c_void_p, symbol: str) -> ctypes.c_void_p:
        """Return a kernel of a module."""
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, symbol.encode())
        return function

    def launch(
        self,
        function: ctypes.c_void_p,
        geometry: Geometry,
        buffers: Sequence[np.ndarray],
        *,
        guard_bytes: int,
        scalars: Sequence[int],
        maps: Sequence[TensorMap],
        is_dependent: bool,
    ) -> list[np.ndarray]:
        """Launch a kernel on copies of some buffers and return what they hold afterwards.

        Args:
            function: the kernel.
            geometry: with numbers for all that is open.
            buffers: bytes, guards included.
            guard_bytes: of the guard before a buffer, behind which its pointer points.
            scalars: arguments behind the pointers.
            maps: arguments before the pointers, with numbers for all that is open.
            is_dependent: whether the launch may begin before those ahead of it have ended (programmatic dependent launch).
        """
        pointers: list[ctypes.c_ulonglong] = []
        try:
            for buffer in buffers:
                pointer = ctypes.c_ulonglong()
                self.call("cuMemAlloc", ctypes.byref(pointer), ctypes.c_size_t(buffer.nbytes))
                pointers.append(pointer)
                self.call("cuMemcpyHtoDAsync", pointer, ctypes.c_void_p(buffer.ctypes.data), ctypes.c_size_t(buffer.nbytes), None)
            words = [pointer.value + guard_bytes for pointer in pointers] + [word & (2**64 - 1) for word in scalars]
            encoded = [self._encoded(tensor, words[tensor.slot]) for tensor in maps]
            content = b"".join(encoded) + struct.pack(f"<{len(words)}Q", *words)
            block = aligned_buffer(-(-len(content) // MAP_ALIGNMENT) * MAP_ALIGNMENT, MAP_ALIGNMENT)
            block[: len(content)] = content
            parameters = (ctypes.c_void_p * 1)(ctypes.addressof(block))
            if geometry.smem_bytes:
                self.call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED_BYTES, geometry.smem_bytes)
            config = launch_config(geometry, is_dependent=is_dependent)
            self.call("cuLaunchKernelEx", ctypes.byref(config), function, parameters, None)
            self.call("cuStreamSynchronize", None)
            after = [np.empty_like(buffer) for buffer in buffers]
            for pointer, buffer in zip(pointers, after, strict=True):
                self.call("cuMemcpyDtoHAsync", ctypes.c_void_p(buffer.ctypes.data), pointer, ctypes.c_size_t(buffer.nbytes), None)
            self.call("cuStreamSynchronize", None)
        finally:
            for pointer in pointers:
                self.functions["cuMemFree"](pointer)
        return after

    def _encoded(self, tensor: TensorMap, address: int) -> bytes:
        described = tensor_maps.TensorMap.of(tensor)
        status, encoded = encode(self.functions["cuTensorMapEncodeTiled"], described, address)
        assert status == 0, f"cuTensorMapEncodeTiled failed with {status} for {tensor} {self._last_error()}"
        return encoded

    def call(self, name: str, *arguments: object) -> None:
        status = self.functions[name](*arguments)
        assert status == 0, f"{name} failed with {status} {self._last_error()}"


def _header() -> list[re.Match[str]]:
    return list(_FUNCTION.finditer((resources.host() / "driver.h").read_text()))

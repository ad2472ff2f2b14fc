"""The device twins of nautilus/device do what their emulated twins do: the same fixtures under the same tests."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import pytest

from nautilus_cli.targets.registry import for_capability
from nautilus_cli.toolchain import nvrtc
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.device import driver
from tests.emulated import test_executor, test_executor_conversions
from tests.emulated.executor import FIXTURES

pytestmark = pytest.mark.gpu

if driver().problem:
    pytest.skip(f"no CUDA device: {driver().problem}", allow_module_level=True)

# Tests of orders and units are about the emulator alone.
for _module in (test_executor, test_executor_conversions):
    for _name, _test in vars(_module).items():
        if _name.startswith("test_") and _name not in {"test_a_seed_decides_the_order", "test_units_complete_by_themselves"}:
            globals()[_name] = _test


class DeviceImage:
    """The fixtures on a device, with the interface of tests.emulated.executor.Image."""

    def __init__(self, cubin: bytes) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._call("cuInit", 0)
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self._call("cuCtxPushCurrent_v2", context)
        self._module = ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(self._module), cubin)

    def launch(
        self,
        name: str,
        *arrays: np.ndarray,
        grid: tuple[int, int, int] = (1, 1, 1),
        block: tuple[int, int, int] = (32, 1, 1),
        scalars: Sequence[int] = (),
        shared_bytes: int = 0,
    ) -> None:
        """Run a fixture on copies of the arrays, and copy them back."""
        function = ctypes.c_void_p()
        self._call("cuModuleGetFunction", ctypes.byref(function), self._module, name.encode())
        pointers = [ctypes.c_uint64() for _ in arrays]
        for pointer, array in zip(pointers, arrays, strict=True):
            self._call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(array.nbytes))
            self._call("cuMemcpyHtoD_v2", pointer, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))
        words = np.zeros(6, np.uint64)  # struct Arguments of sound.cu
        words[: len(arrays)] = [pointer.value for pointer in pointers]
        words[4 : 4 + len(scalars)] = np.array(scalars, dtype=np.int64).view(np.uint64)
        parameters = (ctypes.c_void_p * 1)(words.ctypes.data)
        self._call("cuLaunchKernel", function, *grid, *block, shared_bytes, None, parameters, None)
        self._call("cuCtxSynchronize")
        for pointer, array in zip(pointers, arrays, strict=True):
            self._call("cuMemcpyDtoH_v2", ctypes.c_void_p(array.ctypes.data), pointer, ctypes.c_size_t(array.nbytes))
            self._call("cuMemFree_v2", pointer)

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._driver, name)(*arguments)
        assert status == 0, f"{name}: {status}"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> DeviceImage:
    (device, *_) = driver().devices
    architecture = for_capability(device.capability)
    assert architecture is not None, f"no target for compute capability {device.capability}"
    store = Cache(tmp_path_factory.mktemp("cache"))
    return DeviceImage(nvrtc.compile_kernel((FIXTURES / "sound.cu").read_text(), "sound", architecture, store).image)

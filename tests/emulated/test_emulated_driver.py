"""The emulated driver keeps to the driver API: what it accepts, refuses and remembers."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nautilus_cli import resources
from tests.emulated.driver import KernelNodeParams
from tests.emulated.executor import DEADLOCK, Image, Mode

DRIVER_H = (resources.host() / "driver.h").read_text()
RESULT = SimpleNamespace(**{name: int(value) for name, value in re.findall(r"\bCU_(\w+) = (\d+)", DRIVER_H)})
MAX_DYNAMIC_SHARED_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class Driver:
    """The functions of the table as methods; `status` of a call, or its output where a call must succeed."""

    def __init__(self, image: Image) -> None:
        self.image = image
        names = re.findall(r"\bX\((cu\w+),", DRIVER_H)
        table = (ctypes.c_void_p * (1 + len(names)))()
        table[0] = ctypes.sizeof(table)
        assert image.library.nautilus_emulated_driver(table) == 0
        assert all(table[1:]), "a member of the table is not filled"
        self.functions = {name: ctypes.CFUNCTYPE(ctypes.c_int)(address) for name, address in zip(names, table[1:], strict=True)}

    def status(self, name: str, *arguments: Any) -> int:
        return self.functions[name](*arguments)

    def call(self, name: str, *arguments: Any) -> None:
        status = self.status(name, *arguments)
        assert status == RESULT.OK, f"{name}: {status}: {self.image.last_error()}"

    def made(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        """Call a function whose first parameter receives a handle or pointer; return that."""
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle

    def function(self, name: str) -> ctypes.c_void_p:
        module = self.made("cuModuleLoadData", b"any image: it is loaded already")
        return self.made("cuModuleGetFunction", module, name.encode())

    def parameters(
        self, name: str, *pointers: int, scalars: tuple[int, ...] = (), block: int = 32, shared_bytes: int = 0
    ) -> KernelNodeParams:
        words = np.zeros(6 if scalars or len(pointers) > 2 else 2, np.uint64)
        words[: len(pointers)] = pointers
        words[4 : 4 + len(scalars)] = scalars
        self.keep = getattr(self, "keep", [])
        arguments = ctypes.create_string_buffer(words.tobytes(), words.nbytes)
        array = (ctypes.c_void_p * 1)(ctypes.addressof(arguments))
        self.keep += [arguments, array]
        return KernelNodeParams(
            self.function(name), (ctypes.c_uint * 3)(1, 1, 1), (ctypes.c_uint * 3)(block, 1, 1), shared_bytes, ctypes.addressof(array)
        )

    def launch(self, parameters: KernelNodeParams) -> int:
        geometry = (*parameters.grid, *parameters.block, parameters.shared_bytes)
        return self.status(
            "cuLaunchKernel", ctypes.c_void_p(parameters.function), *geometry, None, ctypes.c_void_p(parameters.parameters), None
        )

    def array(self, values: np.ndarray) -> ctypes.c_void_p:
        pointer = self.made("cuMemAlloc", ctypes.c_size_t(values.nbytes))
        self.call("cuMemcpyHtoDAsync", pointer, ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes), None)
        return pointer

    def read(self, pointer: ctypes.c_void_p, count: int, dtype: type = np.float32) -> np.ndarray:
        out = np.zeros(count, dtype)
        self.call("cuMemcpyDtoHAsync", ctypes.c_void_p(out.ctypes.data), pointer, ctypes.c_size_t(out.nbytes), None)
        return out


@pytest.fixture
def uninitialised(executor_image: Image) -> Driver:
    executor_image.configure(Mode())
    return Driver(executor_image)


@pytest.fixture
def driver(uninitialised: Driver) -> Iterator[Driver]:
    uninitialised.call("cuInit", 0)
    context = uninitialised.made("cuDevicePrimaryCtxRetain", 0)
    uninitialised.call("cuCtxPushCurrent", context)
    yield uninitialised
    uninitialised.call("cuCtxPopCurrent", None)
    uninitialised.call("cuDevicePrimaryCtxRelease", 0)


X = np.arange(1, 33, dtype=np.float32)


def test_a_table_of_another_size_is_refused(executor_image: Image) -> None:
    assert executor_image.library.nautilus_emulated_driver((ctypes.c_size_t * 1)(8)) == 1


@pytest.mark.parametrize(("field", "value"), [("struct_bytes", 4), ("order", 3), ("lazy", 2), ("poison", 9)])
def test_options_that_are_none(executor_image: Image, field: str, value: int) -> None:
    from tests.emulated.executor import EmulatorOptions

    options = EmulatorOptions(struct_bytes=ctypes.sizeof(EmulatorOptions))
    setattr(options, field, value)
    assert executor_image.library.nautilus_emulator_configure(ctypes.byref(options)) == 1
    assert field in executor_image.last_error()


def test_a_device_without_compute_capability(driver: Driver) -> None:
    value = ctypes.c_int(-1)
    driver.call("cuDeviceGetCount", ctypes.byref(value))
    assert value.value == 1
    for attribute, expected in ((75, 0), (76, 0), (97, 227 * 1024)):
        driver.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, 0)
        assert value.value == expected
    name = ctypes.create_string_buffer(64)
    driver.call("cuDeviceGetName", name, 64, 0)
    assert b"emulator" in name.value
    assert driver.status("cuDeviceGet", ctypes.byref(value), 1) == RESULT.ERROR_INVALID_DEVICE


def test_nothing_works_without_a_context(uninitialised: Driver) -> None:
    uninitialised.call("cuInit", 0)
    pointer = ctypes.c_void_p()
    assert uninitialised.status("cuMemAlloc", ctypes.byref(pointer), ctypes.c_size_t(16)) == RESULT.ERROR_INVALID_CONTEXT
    assert uninitialised.status("cuCtxPopCurrent", None) == RESULT.ERROR_INVALID_CONTEXT
    assert uninitialised.status("cuDevicePrimaryCtxRelease", 0) == RESULT.ERROR_INVALID_CONTEXT


def test_launch_on_allocated_memory(driver: Driver) -> None:
    x, y = driver.array(X), driver.array(np.zeros_like(X))
    stream = driver.made("cuStreamCreate", 1)
    assert driver.launch(driver.parameters("twice", x.value, y.value, scalars=(32,))) == RESULT.OK
    driver.call("cuStreamSynchronize", stream)
    assert np.array_equal(driver.read(y, 32), 2 * X)
    driver.call("cuStreamDestroy", stream)
    assert driver.status("cuStreamSynchronize", stream) == RESULT.ERROR_INVALID_HANDLE


def test_graph_runs_in_order_and_takes_new_parameters(driver: Driver) -> None:
    x, y, z, other = (driver.array(values) for values in (X, np.zeros_like(X), np.zeros_like(X), 10 * X))
    graph = driver.made("cuGraphCreate", 0)
    first = driver.made(
        "cuGraphAddKernelNode", graph, None, ctypes.c_size_t(0), ctypes.byref(driver.parameters("twice", x.value, y.value, scalars=(32,)))
    )
    second = driver.parameters("twice", y.value, z.value, scalars=(32,))
    driver.made("cuGraphAddKernelNode", graph, (ctypes.c_void_p * 1)(first), ctypes.c_size_t(1), ctypes.byref(second))
    exec_ = driver.made("cuGraphInstantiateWithFlags", graph, ctypes.c_ulonglong(0))
    driver.call("cuGraphLaunch", exec_, None)
    assert np.array_equal(driver.read(z, 32), 4 * X)
    changed = driver.parameters("twice", other.value, y.value, scalars=(32,))
    driver.call("cuGraphExecKernelNodeSetParams", exec_, first, ctypes.byref(changed))
    driver.call("cuGraphLaunch", exec_, None)
    assert np.array_equal(driver.read(z, 32), 40 * X)
    driver.call("cuGraphExecDestroy", exec_)
    stranger = (ctypes.c_void_p * 1)(12345)
    node = ctypes.c_void_p()
    status = driver.status("cuGraphAddKernelNode", ctypes.byref(node), graph, stranger, ctypes.c_size_t(1), ctypes.byref(second))
    assert status == RESULT.ERROR_INVALID_VALUE
    driver.call("cuGraphDestroy", graph)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"block": (1025, 1, 1)}, "1025 x 1 x 1 threads"),
        ({"block": (1, 1, 65)}, "1 x 1 x 65 threads"),
        ({"block": (0, 1, 1)}, "0 x 1 x 1 threads"),
        ({"grid": (0, 1, 1)}, "0 x 1 x 1 blocks"),
        ({"grid": (1, 65536, 1)}, "1 x 65536 x 1 blocks"),
        ({"shared_bytes": 48 * 1024 + 1}, "49153 bytes of shared memory"),
    ],
)
def test_geometry_beyond_the_limits(driver: Driver, change: dict[str, Any], text: str) -> None:
    parameters = driver.parameters("twice", 0, 0, scalars=(0,))
    for field, value in change.items():
        setattr(parameters, field, (ctypes.c_uint * 3)(*value) if isinstance(value, tuple) else value)
    assert driver.launch(parameters) == RESULT.ERROR_INVALID_VALUE
    assert text in driver.image.last_error()


def test_more_shared_memory_after_opting_in(driver: Driver) -> None:
    parameters = driver.parameters("twice", 0, 0, scalars=(0,), shared_bytes=227 * 1024)
    function = ctypes.c_void_p(parameters.function)
    assert driver.status("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED_BYTES, 227 * 1024 + 1) == RESULT.ERROR_INVALID_VALUE
    driver.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED_BYTES, 227 * 1024)
    assert driver.launch(parameters) == RESULT.OK


def test_a_failed_kernel_is_remembered_until_the_context_goes(driver: Driver) -> None:
    x, y = driver.array(X), driver.array(X)
    deadlock = driver.parameters("deadlock", y.value, x.value, block=64)
    sound = driver.parameters("twice", x.value, y.value, scalars=(32,))
    assert driver.launch(deadlock) == DEADLOCK
    assert driver.image.last_error().startswith("kernel deadlock: block (0, 0, 0): deadlock: ")
    assert driver.launch(sound) == DEADLOCK and driver.status("cuStreamSynchronize", None) == DEADLOCK
    assert "kernel deadlock" in driver.image.last_error()
    driver.call("cuDevicePrimaryCtxRelease", 0)
    context = driver.made("cuDevicePrimaryCtxRetain", 0)
    driver.call("cuCtxPushCurrent", context)
    driver.call("cuStreamSynchronize", None)
    driver.call("cuCtxPopCurrent", None)


def test_unknown_kernel(driver: Driver) -> None:
    module = driver.made("cuModuleLoadData", b"x")
    function = ctypes.c_void_p()
    assert driver.status("cuModuleGetFunction", ctypes.byref(function), module, b"nothing") == RESULT.ERROR_NOT_FOUND
    assert "no kernel 'nothing'" in driver.image.last_error()


def test_memory(driver: Driver) -> None:
    driver.image.configure(Mode(poison=True))
    pointer = driver.made("cuMemAlloc", ctypes.c_size_t(100))
    assert pointer.value % 256 == 0 and np.isnan(driver.read(pointer, 25)).all()
    driver.call("cuMemsetD8Async", pointer, 0, ctypes.c_size_t(100), None)
    assert not driver.read(pointer, 25).any()
    kind = ctypes.c_uint()
    driver.call("cuPointerGetAttribute", ctypes.byref(kind), 2, ctypes.c_ulonglong(pointer.value + 99))
    assert kind.value == RESULT.MEMORY_DEVICE
    assert (
        driver.status("cuPointerGetAttribute", ctypes.byref(kind), 2, ctypes.c_ulonglong(pointer.value + 100)) == RESULT.ERROR_INVALID_VALUE
    )
    assert driver.status("cuMemFreeHost", pointer) == RESULT.ERROR_INVALID_VALUE
    driver.call("cuMemFree", pointer)
    assert driver.status("cuMemFree", pointer) == RESULT.ERROR_INVALID_VALUE
    host = driver.made("cuMemHostAlloc", ctypes.c_size_t(4), 3)
    device = driver.made("cuMemHostGetDevicePointer", host, 0)
    driver.call("cuMemsetD8Async", device, 7, ctypes.c_size_t(4), None)
    assert ctypes.string_at(host, 4) == b"\7\7\7\7"
    driver.call("cuMemFreeHost", host)
    assert driver.status("cuMemAlloc", ctypes.byref(pointer), ctypes.c_size_t(0)) == RESULT.ERROR_INVALID_VALUE
    assert driver.status("cuMemAlloc", ctypes.byref(pointer), ctypes.c_size_t(1 << 62)) == RESULT.ERROR_OUT_OF_MEMORY


def test_events_have_times_in_order(driver: Driver) -> None:
    start, end, untimed = (driver.made("cuEventCreate", flags) for flags in (0, 0, 2))
    milliseconds = ctypes.c_float(-1)
    assert driver.status("cuEventElapsedTime", ctypes.byref(milliseconds), start, end) == RESULT.ERROR_INVALID_HANDLE
    for event in (start, end, untimed):
        driver.call("cuEventRecord", event, None)
    driver.call("cuEventElapsedTime", ctypes.byref(milliseconds), start, end)
    assert milliseconds.value >= 0
    assert driver.status("cuEventElapsedTime", ctypes.byref(milliseconds), start, untimed) == RESULT.ERROR_INVALID_HANDLE
    for event in (start, end, untimed):
        driver.call("cuEventDestroy", event)


def test_errors_have_names(driver: Driver) -> None:
    text = ctypes.c_char_p()
    for result in (RESULT.OK, RESULT.ERROR_INVALID_VALUE, DEADLOCK, RESULT.ERROR_MISALIGNED_ADDRESS, RESULT.ERROR_LAUNCH_FAILED):
        driver.call("cuGetErrorName", result, ctypes.byref(text))
        assert text.value.startswith(b"CUDA_")
        driver.call("cuGetErrorString", result, ctypes.byref(text))
        assert text.value
    assert driver.status("cuGetErrorName", 12345, ctypes.byref(text)) == RESULT.ERROR_INVALID_VALUE and text.value is None

"""Kernel tests as data: a case is a request, buffers before and buffers after; a runner launches it, emulated or on a device."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from nautilus_cli import resources
from nautilus_cli.codegen import Rendered, render
from nautilus_cli.kernels.base import Geometry, KernelRequest
from nautilus_cli.kernels.registry import families
from nautilus_cli.numerics import EXACT, Tolerance, compare
from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain.builder import build

GUARD_BYTES = 48
"""Before and after each buffer: not a multiple of 32, so that no kernel can rely on more than the 16 bytes that it is promised."""

CANARY = 0xFF
"""A NaN in every floating-point type: what is read beside a buffer shows."""

SENTINEL = 0xA5
"""Contents of an output before: what was not written shows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """One launch and what it must leave behind.

    Attributes:
        name: unique in its list.
        request: the kernel.
        buffers: contents before the launch, one for each pointer argument; see `output`.
        expected: contents afterwards of the buffers that change, by slot; floating-point ones may be wider than the buffer.
        tolerances: by slot; exact where none is given.
        scalars: integer arguments.
    """

    name: str
    request: KernelRequest
    buffers: tuple[np.ndarray, ...]
    expected: Mapping[int, np.ndarray]
    tolerances: Mapping[int, Tolerance] = field(default_factory=dict)
    scalars: tuple[int, ...] = ()

    @property
    def geometry(self) -> Geometry:
        """How the case is launched."""
        return families()[self.request.family].geometry(self.request.problem, self.request.schedule)


def output(elements: int, dtype: np.dtype | type) -> np.ndarray:
    """Return a buffer that is to be written: its bytes are the sentinel."""
    return np.full(elements * np.dtype(dtype).itemsize, SENTINEL, dtype=np.uint8).view(dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of the emulator, by their names in nautilus/emulator.h."""

    order: str = "fifo"
    seed: int = 0
    is_lazy: bool = False
    is_poisoned: bool = True
    threads: int = 2

    def __str__(self) -> str:
        return f"{self.order}{self.seed or ''}-{'lazy' if self.is_lazy else 'eager'}"


OPTIONS = (
    Options(order="fifo"),
    Options(order="reverse", is_lazy=True),
    Options(order="random", seed=1),
    Options(order="random", seed=2, is_lazy=True),
)
"""Under which every family's cases run."""


class Runner(Protocol):
    """Launches kernels on buffers."""

    def launch(self, case: Case, buffers: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Launch the case's kernel on copies of BUFFERS (bytes, guards included) and return what they hold afterwards."""
        ...


def check(case: Case, runner: Runner) -> None:
    """Run a case and compare every buffer: results, inputs that must not change, and the guards around each."""
    family = families()[case.request.family]
    for name in ("emulated", "sm_80"):
        violations = family.violations(case.request.problem, case.request.schedule, target(name))
        assert not violations, f"{case.name}: {violations}"
    assert len(case.buffers) == case.request.pointers and len(case.scalars) == case.request.scalars
    guard = np.full(GUARD_BYTES, CANARY, dtype=np.uint8)
    before = [np.concatenate([guard, np.ascontiguousarray(b).reshape(-1).view(np.uint8), guard]) for b in case.buffers]
    after = runner.launch(case, before)
    for slot, (buffer, bytes_after) in enumerate(zip(case.buffers, after, strict=True)):
        middle = bytes_after[GUARD_BYTES:-GUARD_BYTES]
        assert (bytes_after[:GUARD_BYTES] == CANARY).all(), f"{case.name}: wrote before buffer {slot}"
        assert (bytes_after[-GUARD_BYTES:] == CANARY).all(), f"{case.name}: wrote behind buffer {slot}"
        actual = middle.view(buffer.dtype)
        if slot not in case.expected:
            assert (middle == buffer.reshape(-1).view(np.uint8)).all(), f"{case.name}: changed buffer {slot}"
            continue
        expected = case.expected[slot].reshape(-1)
        result = compare(actual, expected, case.tolerances.get(slot, EXACT))
        assert result.is_match, f"{case.name}, buffer {slot}: {result}"


def render_all(cases: Sequence[Case]) -> dict[str, Rendered]:
    """Return the rendered kernels of some cases by case name."""
    assert len({case.name for case in cases}) == len(cases), "two cases share a name"
    return {case.name: render(case.request) for case in cases}


def distinct(rendered: Mapping[str, Rendered]) -> list[Rendered]:
    """Return the distinct kernels among rendered ones."""
    return list({kernel.symbol: kernel for kernel in rendered.values()}.values())


class EmulatedRunner:
    """Runs cases on the emulated driver; all their kernels are compiled together, once.

    Args:
        cases: whose kernels it can launch.
        folder: where the image lies while it is loaded.
    """

    def __init__(self, cases: Sequence[Case], folder: Path) -> None:
        self._rendered = render_all(cases)
        (image,) = build(distinct(self._rendered), target("emulated")).images
        path = folder / "kernels.so"
        path.write_bytes(image.data)
        self._image = ctypes.CDLL(str(path))
        self._driver = _Driver(self._image, image.data)

    def configure(self, options: Options) -> None:
        """Set the emulator's options for launches to come."""
        orders = {"fifo": 0, "reverse": 1, "random": 2}
        chosen = _EmulatorOptions(
            ctypes.sizeof(_EmulatorOptions),
            orders[options.order],
            int(options.is_lazy),
            int(options.is_poisoned),
            options.threads,
            options.seed,
        )
        assert self._image.nautilus_emulator_configure(ctypes.byref(chosen)) == 0

    def launch(self, case: Case, buffers: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Launch the case's kernel."""
        return self._driver.launch(self._rendered[case.name].symbol, case, buffers)


class _EmulatorOptions(ctypes.Structure):
    _fields_ = (
        ("bytes", ctypes.c_size_t),
        ("order", ctypes.c_uint),
        ("lazy", ctypes.c_uint),
        ("poison", ctypes.c_uint),
        ("threads", ctypes.c_uint),
        ("seed", ctypes.c_ulonglong),
    )


class _Driver:
    """The driver functions of an emulated image, through the table that the host code uses."""

    def __init__(self, image: ctypes.CDLL, data: bytes) -> None:
        header = (resources.host() / "driver.h").read_text()
        names = re.findall(r"\bX\((cu\w+),", header)
        self._table = (ctypes.c_void_p * (1 + len(names)))()
        self._table[0] = ctypes.sizeof(self._table)
        image.nautilus_emulator_last_error.restype = ctypes.c_char_p
        self._last_error = image.nautilus_emulator_last_error
        assert image.nautilus_emulated_driver(self._table) == 0, "the image knows another table"
        self._functions = {
            name: ctypes.CFUNCTYPE(ctypes.c_int)(address) for name, address in zip(names, self._table[1:], strict=True) if address
        }
        self._module = ctypes.c_void_p()
        context = ctypes.c_void_p()
        self._call("cuInit", 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self._call("cuCtxPushCurrent", context)
        self._call("cuModuleLoadData", ctypes.byref(self._module), data)

    def _call(self, name: str, *arguments: object) -> None:
        status = self._functions[name](*arguments)
        assert status == 0, f"{name} failed with {status}: {self._last_error().decode()}"

    def launch(self, symbol: str, case: Case, buffers: Sequence[np.ndarray]) -> list[np.ndarray]:
        function = ctypes.c_void_p()
        self._call("cuModuleGetFunction", ctypes.byref(function), self._module, symbol.encode())
        pointers = []
        try:
            for buffer in buffers:
                pointer = ctypes.c_ulonglong()
                self._call("cuMemAlloc", ctypes.byref(pointer), ctypes.c_size_t(buffer.nbytes))
                pointers.append(pointer)
                self._call("cuMemcpyHtoDAsync", pointer, ctypes.c_void_p(buffer.ctypes.data), ctypes.c_size_t(buffer.nbytes), None)
            words = [pointer.value + GUARD_BYTES for pointer in pointers] + [word & (2**64 - 1) for word in case.scalars]
            block = (ctypes.c_ulonglong * len(words))(*words)
            parameters = (ctypes.c_void_p * 1)(ctypes.addressof(block))
            geometry = case.geometry
            if geometry.smem_bytes:
                self._call("cuFuncSetAttribute", function, 8, geometry.smem_bytes)
            self._call("cuLaunchKernel", function, *geometry.grid, geometry.threads, 1, 1, geometry.smem_bytes, None, parameters, None)
            self._call("cuStreamSynchronize", None)
            after = [np.empty_like(buffer) for buffer in buffers]
            for pointer, buffer in zip(pointers, after, strict=True):
                self._call("cuMemcpyDtoHAsync", ctypes.c_void_p(buffer.ctypes.data), pointer, ctypes.c_size_t(buffer.nbytes), None)
            self._call("cuStreamSynchronize", None)
        finally:
            for pointer in pointers:
                self._functions["cuMemFree"](pointer)
        return after

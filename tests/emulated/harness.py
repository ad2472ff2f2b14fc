"""Kernel tests as data: a case is a request, buffers before and buffers after; a runner launches it, emulated or on a device."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from nautilus_cli.codegen import Rendered, render
from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.kernels.base import Geometry, KernelRequest
from nautilus_cli.kernels.registry import families, tensor_maps
from nautilus_cli.numerics import EXACT, Tolerance, compare
from nautilus_cli.targets.base import Target
from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain import emulated
from nautilus_cli.toolchain.builder import build
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.pool import default_jobs
from tests.emulated.driver import Driver

GUARD_BYTES = 48
"""Before and after each buffer: not a multiple of 32, so that no kernel can rely on more than the 16 bytes that it is promised."""

CANARY = 0xFF
"""A NaN in every floating-point type: what is read beside a buffer shows."""

SENTINEL = 0xA5
"""Contents of an output before: what was not written shows."""


OPTIMISATION = "-Og"
"""A case runs for milliseconds, and compiling its kernel is what takes time. As they are compiled for models kernels run in tests/e2e and
tests/conformance."""

OLDEST = {"gemm_wgmma": "sm_90a"}
"""The oldest target that can run a family, where that is not sm_80."""


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
        sizes: what the symbols of the problem stand for.
    """

    name: str
    request: KernelRequest
    buffers: tuple[np.ndarray, ...]
    expected: Mapping[int, np.ndarray]
    tolerances: Mapping[int, Tolerance] = field(default_factory=dict)
    scalars: tuple[int, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def geometry(self) -> Geometry:
        """How the case is launched: with a block at least, as the host launches what has nothing to do."""
        found = bind(families()[self.request.family].geometry(self.request.problem, self.request.schedule), self.sizes)
        x, y, z = (max(1, blocks) for blocks in found.grid)
        return replace(found, grid=(x, y, z))


def with_open_sizes(case: Case, *names: str) -> Case:
    """Return CASE with fields NAMES of its problem, numbers or lists of them, as arguments of the kernel."""
    sizes: dict[str, int] = {}

    def opened(name: str, number: int) -> int:
        sizes[name] = number
        return symbol(name, min(1, number), 2 * number + 1)

    problem = case.request.problem
    changes: dict[str, object] = {}
    for name in names:
        value = getattr(problem, name)
        many = isinstance(value, tuple)
        changes[name] = tuple(opened(f"{name}{n}", v) for n, v in enumerate(value)) if many else opened(name, value)
    request = replace(case.request, problem=replace(problem, **changes))
    values = request.scalar_values
    request = replace(request, scalars=len(values))
    return replace(case, name=f"{case.name}-open", request=request, scalars=bind(values, sizes), sizes=sizes)


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


def check(case: Case, runner: Runner, targets: Sequence[str] = ()) -> None:
    """Run a case and compare every buffer: results, inputs that must not change, and the guards around each.

    Args:
        case: the case.
        runner: launches it.
        targets: for which the schedule must be legal; by default the emulator and the oldest that can run the family.
    """
    family = families()[case.request.family]
    for name in targets or ("emulated", OLDEST.get(case.request.family, "sm_80")):
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
        content = emulated.image(distinct(self._rendered), Cache.default(), default_jobs(), optimisation=OPTIMISATION)
        path = folder / "kernels.so"
        path.write_bytes(content)
        self._image = ctypes.CDLL(str(path))
        self._driver = Driver.emulated(self._image)
        self._module = self._driver.load(content)

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
        """Launch the case's kernel, as one that may begin before those ahead have ended: the emulator holds it to waiting for them."""
        function = self._driver.function(self._module, self._rendered[case.name].symbol)
        return _launch(self._driver, function, case, buffers, is_dependent=True)


class DeviceRunner:
    """Runs cases on the first GPU; their kernels are compiled at once, and loaded one by one.

    Args:
        cases: whose kernels it can launch.
        driver: the real driver.
        architecture: the target to compile for.
        is_exact: give buffers no guard behind them, so that compute-sanitizer sees every access beyond them.
    """

    def __init__(self, cases: Sequence[Case], driver: Driver, architecture: Target, *, is_exact: bool = False) -> None:
        self._rendered = render_all(cases)
        self._driver = driver
        self._is_exact = is_exact
        images = build(distinct(self._rendered), architecture).images
        self._images = {symbol: image.data for image in images for symbol in image.symbols}

    def launch(self, case: Case, buffers: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Launch the case's kernel."""
        symbol = self._rendered[case.name].symbol
        module = self._driver.load(self._images[symbol])
        try:
            function = self._driver.function(module, symbol)
            if not self._is_exact:
                return _launch(self._driver, function, case, buffers)
            after = _launch(self._driver, function, case, [buffer[:-GUARD_BYTES] for buffer in buffers])
            return [np.concatenate([data, buffer[-GUARD_BYTES:]]) for data, buffer in zip(after, buffers, strict=True)]
        finally:
            self._driver.unload(module)


def _launch(
    driver: Driver, function: ctypes.c_void_p, case: Case, buffers: Sequence[np.ndarray], *, is_dependent: bool = False
) -> list[np.ndarray]:
    return driver.launch(
        function,
        case.geometry,
        buffers,
        guard_bytes=GUARD_BYTES,
        scalars=case.scalars,
        maps=bind(tensor_maps(case.request), case.sizes),
        is_dependent=is_dependent,
    )


class _EmulatorOptions(ctypes.Structure):
    _fields_ = (
        ("bytes", ctypes.c_size_t),
        ("order", ctypes.c_uint),
        ("lazy", ctypes.c_uint),
        ("poison", ctypes.c_uint),
        ("threads", ctypes.c_uint),
        ("seed", ctypes.c_ulonglong),
    )

"""Builds the executor's fixtures into one image and launches them without a driver."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nautilus_cli.toolchain import emulated
from nautilus_cli.toolchain.cache import Cache

FIXTURES = Path(__file__).parent / "fixtures"

ORDERS = {"fifo": 0, "reverse": 1, "random": 2}

# cu_result numbers of templates/host/driver.h
ILLEGAL_ADDRESS, DEADLOCK, MISALIGNED, LAUNCH_FAILED = 700, 702, 716, 719


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """How the emulator runs kernels; see nautilus/emulator.h."""

    order: str = "fifo"
    seed: int = 0
    lazy: bool = False
    poison: bool = True
    threads: int = 1

    def __str__(self) -> str:
        return f"{self.order}{self.seed or ''}-{'lazy' if self.lazy else 'eager'}-{self.threads}"


class EmulatorOptions(ctypes.Structure):
    _fields_ = (
        ("struct_bytes", ctypes.c_size_t),
        ("order", ctypes.c_uint),
        ("lazy", ctypes.c_uint),
        ("poison", ctypes.c_uint),
        ("threads", ctypes.c_uint),
        ("seed", ctypes.c_ulonglong),
    )


class _KernelEntry(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("run", ctypes.c_void_p), ("argument_bytes", ctypes.c_uint))


class LaunchError(Exception):
    """A launch failed; carries the driver's number and the emulator's text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status
        self.text = text


class Image:
    """A loaded image of the fixtures."""

    def __init__(self, path: Path) -> None:
        self.library = ctypes.CDLL(str(path))
        self.library.nautilus_emulator_last_error.restype = ctypes.c_char_p

    def configure(self, mode: Mode) -> None:
        options = EmulatorOptions(ctypes.sizeof(EmulatorOptions), ORDERS[mode.order], mode.lazy, mode.poison, mode.threads, mode.seed)
        assert self.library.nautilus_emulator_configure(ctypes.byref(options)) == 0, self.last_error()

    def last_error(self) -> str:
        return self.library.nautilus_emulator_last_error().decode()

    def argument_block(self, name: str, arrays: Sequence[np.ndarray], scalars: Sequence[int] = ()) -> ctypes.Array[ctypes.c_char]:
        """Return the argument block of a fixture: pointers to the arrays, then scalars, in the places that its struct has for them."""
        size = _KernelEntry.in_dll(self.library, f"{name}_emulated").argument_bytes
        pointers = size // 8 if size == 16 else 4  # struct Arguments of faulty.cu, of sound.cu
        words = np.zeros(size // 8, dtype=np.uint64)
        words[: len(arrays)] = [array.ctypes.data for array in arrays]
        words[pointers : pointers + len(scalars)] = np.array(scalars, dtype=np.int64).view(np.uint64)
        return ctypes.create_string_buffer(words.tobytes(), size)

    def launch(
        self,
        name: str,
        *arrays: np.ndarray,
        grid: tuple[int, int, int] = (1, 1, 1),
        block: tuple[int, int, int] = (32, 1, 1),
        scalars: Sequence[int] = (),
        shared_bytes: int = 0,
    ) -> None:
        """Run a fixture on the arrays themselves.

        Raises:
            LaunchError: the emulator stopped it.
        """
        entry = _KernelEntry.in_dll(self.library, f"{name}_emulated")
        status = self.library.nautilus_emulator_launch(
            ctypes.byref(entry),
            (ctypes.c_uint * 3)(*grid),
            (ctypes.c_uint * 3)(*block),
            ctypes.c_uint(shared_bytes),
            self.argument_block(name, arrays, scalars),
        )
        if status:
            raise LaunchError(status, self.last_error())


@dataclass(frozen=True, slots=True)
class _Source:
    symbol: str
    text: str


def build(folder: Path) -> Image:
    """Compile the fixtures and the emulator into one image in FOLDER, and load it."""
    sources = [_Source(path.stem, path.read_text()) for path in sorted(FIXTURES.glob("*.cu"))]
    path = folder / "fixtures.so"
    path.write_bytes(emulated.image(sources, Cache(folder / "cache"), jobs=2))
    return Image(path)

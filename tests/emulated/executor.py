"""Builds the executor's fixtures into one image and launches them without a driver."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nautilus_cli import resources
from nautilus_cli.toolchain import emulated
from nautilus_cli.toolchain.cache import Cache
from tests.emulated.tensor_maps import MAP_ALIGNMENT, TensorMap, aligned_buffer, encode

FIXTURES = Path(__file__).parent / "fixtures"

ORDERS = {"fifo": 0, "reverse": 1, "random": 2}

# cu_result numbers of templates/host/driver.h
ILLEGAL_ADDRESS, DEADLOCK, MISALIGNED, LAUNCH_FAILED = 700, 702, 716, 719

ILLEGAL_INSTRUCTION = 715
"""Of the driver of a GPU: CUDA_ERROR_ILLEGAL_INSTRUCTION."""


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
        names = re.findall(r"\bX\((cu\w+),", (resources.host() / "driver.h").read_text())
        table = (ctypes.c_void_p * (1 + len(names)))(ctypes.sizeof(ctypes.c_void_p) * (1 + len(names)))
        assert self.library.nautilus_emulated_driver(table) == 0
        self.encode_tiled = ctypes.CFUNCTYPE(ctypes.c_int)(table[1 + names.index("cuTensorMapEncodeTiled")] or 0)

    def configure(self, mode: Mode) -> None:
        options = EmulatorOptions(ctypes.sizeof(EmulatorOptions), ORDERS[mode.order], mode.lazy, mode.poison, mode.threads, mode.seed)
        assert self.library.nautilus_emulator_configure(ctypes.byref(options)) == 0, self.last_error()

    def last_error(self) -> str:
        return self.library.nautilus_emulator_last_error().decode()

    def argument_block(
        self, name: str, arrays: Sequence[np.ndarray], scalars: Sequence[int] = (), maps: Sequence[TensorMap] | None = None
    ) -> ctypes.Array[ctypes.c_char]:
        """Return the argument block of a fixture: pointers to the arrays, then scalars, in the places that its struct has for them."""
        size = _KernelEntry.in_dll(self.library, f"{name}_emulated").argument_bytes
        pointers = [array.ctypes.data for array in arrays]
        if maps is not None:
            return mapped_block(pointers, scalars, [self.encoded(tensor, pointers[tensor.array]) for tensor in maps])
        first_scalar = size // 8 if size == 16 else 4  # struct Arguments of faulty.cu, of sound.cu
        words = np.zeros(size // 8, dtype=np.uint64)
        words[: len(arrays)] = pointers
        words[first_scalar : first_scalar + len(scalars)] = np.array(scalars, dtype=np.int64).view(np.uint64)
        return ctypes.create_string_buffer(words.tobytes(), size)

    def encoded(self, tensor: TensorMap, address: int) -> bytes:
        """Return the map that the emulated driver makes of a tensor."""
        status, encoded = encode(self.encode_tiled, tensor, address)
        assert status == 0, self.last_error()
        return encoded

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
        """Run a fixture on the arrays themselves; with MAPS one whose arguments begin with tensor maps.

        Raises:
            LaunchError: the emulator stopped it.
        """
        entry = _KernelEntry.in_dll(self.library, f"{name}_emulated")
        status = self.library.nautilus_emulator_launch(
            ctypes.byref(entry),
            (ctypes.c_uint * 3)(*grid),
            (ctypes.c_uint * 3)(*block),
            ctypes.c_uint(shared_bytes),
            self.argument_block(name, arrays, scalars, maps),
        )
        if status:
            raise LaunchError(status, self.last_error())


def mapped_block(pointers: Sequence[int], scalars: Sequence[int], maps: Sequence[bytes]) -> ctypes.Array[ctypes.c_char]:
    """Return an argument block of two tensor maps, four pointers and twelve scalars."""
    block = aligned_buffer(6 * MAP_ALIGNMENT, MAP_ALIGNMENT)
    words = np.frombuffer(block, dtype=np.uint64)
    for number, encoded in enumerate(maps):
        words[16 * number : 16 * (number + 1)] = np.frombuffer(encoded, np.uint64)
    words[32 : 32 + len(pointers)] = pointers
    words[36 : 36 + len(scalars)] = np.array(scalars, dtype=np.int64).view(np.uint64)
    return block


@dataclass(frozen=True, slots=True)
class _Source:
    symbol: str
    text: str


def build(folder: Path) -> Image:
    """Compile the fixtures and the emulator into one image in FOLDER, and load it."""
    sources = [_Source(path.stem, path.read_text()) for path in sorted(FIXTURES.glob("*.cu"))]
    path = folder / "fixtures.so"
    path.write_bytes(emulated.image(sources, Cache.default(), jobs=2))
    return Image(path)

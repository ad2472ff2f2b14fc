"""Tensor maps in tests: what cuTensorMapEncodeTiled is given, and what a box then is, in numpy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from nautilus_cli.ir.types import BF16, F16, F32
from nautilus_cli.kernels.base import TensorMap as KernelMap

MAP_BYTES = 128
MAP_ALIGNMENT = 64

# Numbers of templates/host/driver.h.
ELEMENTS = {"u8": 0, "u16": 1, "u32": 2, "u64": 4, "f16": 6, "f32": 7, "f64": 8, "bf16": 9, "f32_ftz": 10, "tf32": 11, "tf32_ftz": 12}
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}

KINDS: dict[str, np.dtype] = {
    "f16": F16.numpy,
    "bf16": BF16.numpy,
    **dict.fromkeys(("f32", "f32_ftz", "tf32", "tf32_ftz"), F32.numpy),
    **{f"u{bits}": np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorMap:
    """A tensor and its box, innermost dimension first.

    Attributes:
        array: number of the array that is the tensor.
        element: type of the elements.
        extents: of the tensor.
        strides: of all dimensions but the first, in bytes.
        box: elements of a box.
        swizzle: bytes within which 16-byte chunks are swapped, or 0.
        steps: between the elements of a box.
        offset: bytes before the tensor in the array.
    """

    array: int
    element: str
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    steps: tuple[int, ...] = ()
    offset: int = 0

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.extents)

    @staticmethod
    def of(tensor: KernelMap) -> TensorMap:
        """Return the map of a kernel; the array is the pointer that it lies behind."""
        return TensorMap(
            array=tensor.slot,
            element=tensor.element,
            extents=tensor.extents,
            strides=tensor.strides,
            box=tensor.box,
            swizzle=tensor.swizzle,
            offset=tensor.offset,
        )


def aligned_buffer(size: int, alignment: int) -> ctypes.Array[ctypes.c_char]:
    """Return zeroed memory at a multiple of an alignment."""
    memory = ctypes.create_string_buffer(size + alignment)
    return (ctypes.c_char * size).from_buffer(memory, -ctypes.addressof(memory) % alignment)


def encode(function: Callable[..., int], tensor: TensorMap, address: int, promotion: int = 0) -> tuple[int, bytes]:
    """Return the status of cuTensorMapEncodeTiled and the map that it wrote.

    Args:
        promotion: CUtensorMapL2promotion; 0 is none, 3 is 256 bytes.
    """
    rank = tensor.rank
    encoded = aligned_buffer(MAP_BYTES, MAP_ALIGNMENT)
    status = function(
        encoded,
        ELEMENTS[tensor.element],
        ctypes.c_uint(rank),
        ctypes.c_void_p(address + tensor.offset),
        (ctypes.c_ulonglong * rank)(*tensor.extents),
        (ctypes.c_ulonglong * rank)(*tensor.strides),
        (ctypes.c_uint * rank)(*tensor.box),
        (ctypes.c_uint * rank)(*(tensor.steps or (1,) * rank)),
        0,
        SWIZZLES[tensor.swizzle],
        promotion,
        0,
    )
    return status, bytes(encoded)


def swizzled(address: np.ndarray, swizzle: int) -> np.ndarray:
    """Return where bytes at linear addresses of shared memory lie: bits 4 and up are changed by bits 7 and up."""
    chunks = swizzle // 16
    return address ^ ((address >> 7) % chunks << 4) if chunks else address


def box_places(tensor: TensorMap, at: Sequence[int], base: int, item_bytes: int) -> list[tuple[int, tuple[int, ...] | None]]:
    """Return, for each element of a box at BASE of shared memory, its linear address there and its index in the tensor, None outside."""
    steps = (1, *(tensor.steps or (1,) * tensor.rank)[1:])
    counts = [-(-extent // step) for extent, step in zip(tensor.box, steps, strict=True)]
    places = []
    for number, outer in enumerate(product(*(range(count) for count in reversed(counts)))):
        index = tuple(first + i * step for first, i, step in zip(at, reversed(outer), steps, strict=True))
        is_inside = all(0 <= i < extent for i, extent in zip(index, tensor.extents, strict=True))
        places.append((base + number * item_bytes, index if is_inside else None))
    return places

"""Constants of the C interface, as `templates/include/nautilus/abi.h` defines them (a test compares the two)."""

from __future__ import annotations

from enum import IntEnum

ABI_VERSION = 1
POINTER_ALIGNMENT = 16
WORKSPACE_ALIGNMENT = 256


class Status(IntEnum):
    """What a call of the library returns."""

    OK = 0
    INVALID_ARGUMENT = 1
    BAD_LIBRARY = 2
    NO_DRIVER = 3
    NO_DEVICE = 4
    UNFIT_DEVICE = 5
    OUT_OF_MEMORY = 6
    DEVICE_ERROR = 7
    INDEX_OUT_OF_RANGE = 8
    UNSUPPORTED = 9
    NOT_SERVED = 10


class Place(IntEnum):
    """Where a model shall run."""

    AUTOMATIC = 0
    GPU = 1
    EMULATED = 2


class LaunchMode(IntEnum):
    """How a context launches its kernels."""

    GRAPH = 0
    STREAM = 1


class Order(IntEnum):
    """In which order the emulator runs blocks and threads."""

    FIFO = 0
    REVERSE = 1
    RANDOM = 2


DTYPE_CODES = {
    "f32": 1,
    "u8": 2,
    "i8": 3,
    "u16": 4,
    "i16": 5,
    "i32": 6,
    "i64": 7,
    "ucs4": 8,
    "bool": 9,
    "f16": 10,
    "f64": 11,
    "u32": 12,
    "u64": 13,
    "bf16": 16,
    "f8e4m3fn": 17,
    "f8e4m3fnuz": 18,
    "f8e5m2": 19,
    "f8e5m2fnuz": 20,
    "u4": 21,
    "i4": 22,
    "f4e2m1": 23,
    "f8e8m0": 24,
    "u2": 25,
    "i2": 26,
}
"""Number of each element type. Source: TensorProto.DataType in onnx.proto."""

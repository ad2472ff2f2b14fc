"""The rows of a payload as the host code reads them: `templates/host/payload.h` describes the same layout for C.

Little endian; offsets count from the start of the payload.
"""

from __future__ import annotations

import struct

PAYLOAD_VERSION = 10
MAGIC = b"NAUTILUS"
TRAILER = b"NAUTEND\0"

HEADER = struct.Struct("<8sIIQIIQ34Q6I32s32s32s32s")
VARIANT = struct.Struct("<14IQ")
IMAGE = struct.Struct("<2Q2I")
PORT = struct.Struct("<4IQ2Iq")
KERNEL = struct.Struct("<6I")
MAP = struct.Struct("<4IQ5Q4Q5II")
LAUNCH = struct.Struct("<14I")
WORD = struct.Struct("<2IQ")
STEP = struct.Struct("<14Iq")
CARRY = struct.Struct("<8I")
ELEMENT = struct.Struct("<4I")

HEADER_CRC_OFFSET = 24
CUBIN, EMULATED = 0, 1
"""Kinds of images. Source of all kinds: templates/host/payload.h."""

OPEN = -1
"""In place of a dimension that is known only when the model runs."""

WORD_KINDS = {"input": 0, "output": 1, "arena": 2, "weights": 3, "status": 4, "integer": 5, "slot": 6, "host": 7}

MAP_ELEMENTS = {"f16": 6, "bf16": 9, "f32": 7, "tf32": 11}
"""CUtensorMapDataType. Source of these: templates/host/driver.h."""
MAP_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
"""CUtensorMapSwizzle, by bytes."""
MAP_RANK = 5
NONE = 0xFFFFFFFF
"""In place of a word: there is none. Source: PAYLOAD_NONE of templates/host/payload.h."""
LAUNCHES, COPY, REFUSE, READ, IF, LOOP = range(6)
"""Kinds of steps."""
DEPENDENT = 1
"""LAUNCH_DEPENDENT of templates/host/payload.h: every kernel waits for the one before it by itself."""

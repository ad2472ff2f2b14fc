"""Weights in a `.safetensors` file beside the library, in the packed forms and at the offsets of the library's own weights section.

    bytes of the head, 8 | head: JSON, padded with spaces | weights section

The head names each weight with its element type and shape, so that other tools can read the file; the zeros that align the next weight are
tensors too, since the format has no gaps. The library holds the head's CRC-32. The head holds the SHA-256 of the weights: so the file of
other weights has another head, and is noticed without reading all of it.

Source: the safetensors format, https://github.com/huggingface/safetensors (README, "Format").
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import NARROW, dtype_of
from nautilus_cli.lowering.plan import ALIGNMENT_BYTES, Plan, Weight

EXTERNAL_ABOVE_BYTES = 2**30
"""From here on the weights lie in a file of their own, unless asked otherwise: a library stays quick to copy, link and load."""

SUFFIX = ".weights.safetensors"

_LENGTH = struct.Struct("<Q")
_METADATA = "__metadata__"
_DTYPES = {
    **{dtype.name: "U8" for dtype in NARROW},
    "bf16": "BF16",
    "bool": "BOOL",
    "f16": "F16",
    "f32": "F32",
    "f64": "F64",
    "i16": "I16",
    "i32": "I32",
    "i64": "I64",
    "i8": "I8",
    "u16": "U16",
    "u32": "U32",
    "u64": "U64",
    "u8": "U8",
}
"""The format's name of each element type; of narrow ones, whose names it lacks or packs otherwise, the bytes."""


class WeightsPlace(StrEnum):
    """Where the weights of a library lie."""

    AUTOMATIC = "automatic"
    INTERNAL = "internal"
    EXTERNAL = "external"


def is_external(place: WeightsPlace, weight_bytes: int) -> bool:
    """Whether WEIGHT_BYTES of weights go into a file of their own."""
    if place is WeightsPlace.AUTOMATIC:
        return weight_bytes > EXTERNAL_ABOVE_BYTES
    return place is WeightsPlace.EXTERNAL and weight_bytes > 0


def weights_path(library: Path) -> Path:
    """Return where the weights of a library lie, if not inside: `libmodel.so` has `libmodel.weights.safetensors`."""
    return library.with_name(library.stem + SUFFIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsFile:
    """What a library must know of its file of weights.

    Attributes:
        name: of the file; it lies in the library's folder.
        head: its bytes before the weights section.
    """

    name: str
    head: bytes

    @property
    def crc(self) -> int:
        """The CRC-32 of the head."""
        return zlib.crc32(self.head)


def describe(plan: Plan, name: str, *, weights_digest: bytes) -> WeightsFile:
    """Return the file of a plan's weights.

    Args:
        plan: of any target; the weights are the same for all.
        name: of the file.
        weights_digest: SHA-256 of the weights section.
    """
    content: dict[str, Any] = {_METADATA: {"producer": "nautilus", "weights_sha256": weights_digest.hex()}}
    position = 0
    for weight in plan.weights:
        _pad(content, position, weight.offset)
        position = weight.offset + weight.array.nbytes
        dtype, shape = _type(weight)
        content[_unique(_name(weight), content)] = {"dtype": dtype, "shape": list(shape), "data_offsets": [weight.offset, position]}
    _pad(content, position, plan.weight_bytes)
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    text += b" " * (-(_LENGTH.size + len(text)) % ALIGNMENT_BYTES)
    return WeightsFile(name=name, head=_LENGTH.pack(len(text)) + text)


def _name(weight: Weight) -> str:
    """Return the ONNX tensor's name as text that every reader of JSON takes: lone surrogates are replaced."""
    name = weight.tensors[0] if weight.tensors else f"constant.{weight.offset}"
    return name.encode("utf-8", "replace").decode("utf-8")


def _unique(name: str, taken: Mapping[str, Any]) -> str:
    """Return NAME, with a number behind it where it is taken."""
    found, number = name, 1
    while found in taken:
        found, number = f"{name}.{number}", number + 1
    return found


def _type(weight: Weight) -> tuple[str, tuple[int, ...]]:
    """Return element type and shape; plain bytes where the format lacks the type."""
    try:
        return _DTYPES[dtype_of(weight.array).name], weight.array.shape
    except ModelError:
        return _DTYPES["u8"], (weight.array.nbytes,)


def _pad(content: dict[str, Any], begin: int, end: int) -> None:
    """Add the zeros between two weights."""
    if end > begin:
        name = _unique(f"padding.{begin}", content)
        content[name] = {"dtype": _DTYPES["u8"], "shape": [end - begin], "data_offsets": [begin, end]}

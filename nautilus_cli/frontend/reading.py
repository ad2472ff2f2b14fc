"""Reads a file into a ModelProto, with words for everything that is not one."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import ModelProto

from nautilus_cli.errors import FileError, ModelError
from nautilus_cli.frontend.lookalikes import is_text, lookalike
from nautilus_cli.ir.names import quoted

MAX_FILE_BYTES = (1 << 31) - 1
"""Source: protobuf's limit on a message, 2 GiB."""

_HEAD_BYTES = 64
_GRAPH_FIELD = 7
"""Source: onnx.proto, ModelProto.graph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A file and the model in it.

    Attributes:
        path: the file.
        model: what it holds.
        sha256: of the file's bytes, in hexadecimal digits.
        size_bytes: of the file.
    """

    path: Path
    model: ModelProto
    sha256: str
    size_bytes: int


def read_model(path: Path) -> ModelFile:
    """Return the model in a file.

    Raises:
        FileError: there is no such file, or it cannot be read.
        ModelError: the file is not an ONNX model, or is cut off.
    """
    data = _read(path)
    where = quoted(str(path))
    _check_head(data, where)
    with ThreadPoolExecutor(1) as pool:  # hashing releases the interpreter: it costs nothing beside parsing
        digest = pool.submit(lambda: sha256(data).hexdigest())
        _check_whole(data, where)
        try:
            model = ModelProto.FromString(data)
        except DecodeError as error:
            raise ModelError("is not an ONNX model (it does not parse as one)", where=where, hint="Pass a .onnx file.") from error
        if not model.HasField("graph"):
            raise ModelError("holds no graph", where=where, hint="It may be cut off or not an ONNX model; pass a .onnx file.")
        return ModelFile(path=path, model=model, sha256=digest.result(), size_bytes=len(data))


def _read(path: Path) -> bytes:
    """Return the bytes of a regular file of a size that protobuf can hold."""
    where = quoted(str(path))
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            found = sorted(p.name for p in path.iterdir() if p.suffix == ".onnx")[:5]
            inside = f"In it are: {', '.join(map(quoted, found))}." if found else "It holds no .onnx file."
            raise FileError("is a directory", where=where, hint=f"Pass a .onnx file. {inside}")
        if not stat.S_ISREG(status.st_mode):
            raise FileError("is not a regular file", where=where, hint="Pass a .onnx file.")
        if status.st_size > MAX_FILE_BYTES:
            raise ModelError(
                f"is {status.st_size} bytes; an ONNX file holds at most {MAX_FILE_BYTES}",
                where=where,
                hint="Save the model with external data: onnx.save(model, path, save_as_external_data=True).",
            )
        return path.read_bytes()
    except FileNotFoundError as error:
        raise FileError("there is no such file", where=where) from error
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise FileError(f"cannot be read: {reason}", where=where) from error


def _check_head(data: bytes, where: str) -> None:
    """Refuse what its first bytes show to be something else."""
    if not data:
        raise ModelError("is empty", where=where, hint="Pass a .onnx file; was a download or an export cut off?")
    head = data[:_HEAD_BYTES]
    kind = lookalike(head)
    if kind is not None:
        raise ModelError(f"is not an ONNX model but {kind.what}", where=where, hint=kind.hint)
    if is_text(head):
        raise ModelError("is not an ONNX model but a text file", where=where, hint="Pass the model in ONNX's binary form.")


def _check_whole(data: bytes, where: str) -> None:
    """Refuse a file that ends within a field: that field's length tells how much is missing."""
    for field, end in _fields(data):
        if end > len(data):
            part = "its graph" if field == _GRAPH_FIELD else f"field {field}"
            raise ModelError(
                f"is cut off: {part} needs {end - len(data)} bytes more than the file has",
                where=where,
                hint="Copy, download or export it again.",
            )


def _fields(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield number and end of each top-level field, up to the first that is malformed or overruns.

    Source: protobuf's encoding guide, wire types 0 (varint), 1 (8 bytes), 2 (length-delimited), 5 (4 bytes).
    """
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        if tag is None:
            return
        match tag & 7:
            case 0:
                _, end = _varint(data, position)
            case 1:
                end = position + 8
            case 5:
                end = position + 4
            case 2:
                length, start = _varint(data, position)
                if length is None:
                    return
                end = start + length
            case _:
                return
        yield tag >> 3, end
        position = end


def _varint(data: bytes, position: int) -> tuple[int | None, int]:
    """Return a varint and the position after it; None where it does not end within ten bytes."""
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            return None, position + 1
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    return None, position

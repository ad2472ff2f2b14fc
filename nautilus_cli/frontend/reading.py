"""Reads a file into a ModelProto, with words for everything that is not one."""

from __future__ import annotations

import contextlib
import mmap
import stat
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import ModelProto

from nautilus_cli.errors import FileError, ModelError
from nautilus_cli.frontend.detached import GRAPH, detach_weights
from nautilus_cli.frontend.lookalikes import is_text, lookalike
from nautilus_cli.frontend.wire import Buffer, Malformed, fields
from nautilus_cli.ir.names import quoted

MAX_FILE_BYTES = (1 << 31) - 1
"""Source: protobuf's limit on a message, 2 GiB."""

_HEAD_BYTES = 64
_MOST_FIELDS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A file and the model in it.

    Attributes:
        path: the file.
        model: what it holds, without the data of large initializers.
        weights: that data as views of the mapped file, by the initializer's index.
        sha256: of the file's bytes, in hexadecimal digits.
        size_bytes: of the file.
    """

    path: Path
    model: ModelProto
    weights: Mapping[int, np.ndarray]
    sha256: str
    size_bytes: int


def read_model(path: Path) -> ModelFile:
    """Return the model in a file.

    Raises:
        FileError: there is no such file, or it cannot be read.
        ModelError: the file is not an ONNX model, or is cut off.
    """
    data = _mapped(path)
    where = quoted(str(path))
    _check_head(data, where)
    with ThreadPoolExecutor(1) as pool:  # hashing releases the interpreter: it costs nothing beside parsing
        digest = pool.submit(lambda: sha256(data).hexdigest())
        _check_whole(data, where)
        detached = detach_weights(data)
        try:
            model = ModelProto.FromString(detached.data)
        except DecodeError as error:
            raise ModelError("is not an ONNX model (it does not parse as one)", where=where, hint="Pass a .onnx file.") from error
        if not model.HasField("graph"):
            raise ModelError("holds no graph", where=where, hint="It may be cut off or not an ONNX model; pass a .onnx file.")
        weights = {index: np.frombuffer(data, np.uint8, count, offset) for index, (offset, count) in detached.spans.items()}
        return ModelFile(path=path, model=model, weights=weights, sha256=digest.result(), size_bytes=len(data))


def _mapped(path: Path) -> Buffer:
    """Map a regular file of a size that protobuf can hold."""
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
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if status.st_size else b""
    except FileNotFoundError as error:
        raise FileError("there is no such file", where=where) from error
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise FileError(f"cannot be read: {reason}", where=where) from error


def _check_head(data: Buffer, where: str) -> None:
    """Refuse what its first bytes show to be something else."""
    if not data:
        raise ModelError("is empty", where=where, hint="Pass a .onnx file; was a download or an export cut off?")
    head = data[:_HEAD_BYTES]
    kind = lookalike(head)
    if kind is not None:
        raise ModelError(f"is not an ONNX model but {kind.what}", where=where, hint=kind.hint)
    if is_text(head):
        raise ModelError("is not an ONNX model but a text file", where=where, hint="Pass the model in ONNX's binary form.")


def _check_whole(data: Buffer, where: str) -> None:
    """Refuse a file that ends within a field: that field's length tells how much is missing."""
    with contextlib.suppress(Malformed):
        for part in fields(data, 0, len(data), _MOST_FIELDS):
            if part.end > len(data):
                name = "its graph" if part.number == GRAPH else f"field {part.number}"
                raise ModelError(
                    f"is cut off: {name} needs {part.end - len(data)} bytes more than the file has",
                    where=where,
                    hint="Copy, download or export it again.",
                )

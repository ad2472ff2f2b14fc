"""Tensors kept beside the model: mapped into memory, and only from inside the model's folder."""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import numpy as np
from onnx import TensorProto

from nautilus_cli.errors import FileError, ModelError, NautilusError
from nautilus_cli.ir.names import quoted


class ExternalData:
    """The files beside a model.

    They lie in the model's folder, links followed; where the model itself is a link, as in the cache of Hugging Face, a link beside it may
    also lead into the folder of the file that the model's own leads to. So onnxruntime has it.

    Args:
        model: the model's file; None where the model did not come from a file.
    """

    def __init__(self, model: Path | None) -> None:
        self._model = model
        self._maps: dict[str, mmap.mmap | bytes] = {}

    def bytes_of(self, tensor: TensorProto, size: int, where: str) -> np.ndarray:
        """Return the SIZE bytes of an external tensor as a read-only view of its file.

        Raises:
            ModelError: the location leaves the model's folder, or offset and length do not fit the file or the tensor.
            FileError: the file is missing or cannot be read.
        """
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        offset = _number(entries, "offset", 0, where)
        length = _number(entries, "length", size, where)
        if length != size:
            raise ModelError(f"its external data has {length} bytes; its type and shape need {size}", where=where)
        data = self._map(location, where)
        if offset + length > len(data):
            raise ModelError(
                f"its external data ends at byte {offset + length}, but {quoted(location)} has {len(data)} bytes",
                where=where,
                hint="The file may be cut off or belong to another model.",
            )
        return np.frombuffer(data, np.uint8, count=size, offset=offset)

    def size_bytes(self, tensors: Iterable[TensorProto]) -> int:
        """Return how large the files are that external tensors name, those that cannot be used left out."""
        total = 0
        for location in {e.value for t in tensors for e in t.external_data if e.key == "location"}:
            with contextlib.suppress(NautilusError, OSError):
                total += self._resolve(location, "").stat().st_size
        return total

    def sha256(self, model_sha256: str) -> str:
        """Return a hash of the model's file and every external file read so far; that of the model's file where there is none."""
        if not self._maps:
            return model_sha256
        digest = sha256(model_sha256.encode())
        for location in sorted(self._maps):
            digest.update(f"\n{sha256(self._maps[location]).hexdigest()} {location}".encode())
        return digest.hexdigest()

    def _map(self, location: str, where: str) -> mmap.mmap | bytes:
        """Map a file, once."""
        if location not in self._maps:
            self._maps[location] = _open(self._resolve(location, where), where)
        return self._maps[location]

    def _resolve(self, location: str, where: str) -> Path:
        """Return the real path of an external file, which lies in the model's folder, or in that of the file that its link leads to."""
        if self._model is None:
            raise ModelError("its data is external, but the model does not come from a file", where=where)
        if not location or "\0" in location or Path(location).is_absolute():
            raise ModelError(
                f"its external data has the location {quoted(location)}",
                where=where,
                hint="Allowed is a relative path inside the model's folder.",
            )
        try:
            folder, real_folder = self._model.parent.resolve(), self._model.resolve().parent
            path = (folder / location).resolve()
        except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
            raise FileError(f"its external data {quoted(location)} cannot be found: {error}", where=where) from error
        if not any(path.is_relative_to(one) and path != one for one in (folder, real_folder)):
            raise ModelError(
                f"its external data {quoted(location)} lies outside the model's folder",
                where=where,
                hint="Links that leave the folder count too: put the file itself beside the model (cp -rL copies a folder with the files "
                "that links in it lead to).",
            )
        return path


def _open(path: Path, where: str) -> mmap.mmap | bytes:
    """Map a regular file read-only."""
    name = quoted(path.name)
    try:
        # Non-blocking, so that a pipe put in the file's place is refused instead of waited for.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise FileError(f"its external data {name} is not a regular file", where=where)
            return mmap.mmap(handle, 0, access=mmap.ACCESS_READ) if status.st_size else b""
        finally:
            os.close(handle)
    except FileNotFoundError as error:
        raise FileError(f"its external data {name} is missing", where=where, hint="Put the file beside the model.") from error
    except OSError as error:
        raise FileError(f"its external data {name} cannot be read: {error.strerror or error}", where=where) from error


def _number(entries: dict[str, str], key: str, default: int, where: str) -> int:
    """Return a byte count of an external tensor."""
    text = entries.get(key, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise ModelError(f"its external data has the {key} {quoted(text)}", where=where, hint="Allowed is a count of bytes.")
    return int(text)

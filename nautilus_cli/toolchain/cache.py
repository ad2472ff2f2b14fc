"""A content-addressed store on disk, safe for several processes at once.

An entry is one file: a magic number, the digest of its content, the content. It is written beside its place and renamed into it,
so a reader sees all of it or nothing; a damaged entry is noticed by its digest and built again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nautilus_cli.errors import FileError

_MAGIC = b"NAUTCCH1"
_DIGEST_BYTES = 32

_NAME = re.compile("[0-9a-f]{64}")
_BESIDE = re.compile(r"\.[0-9a-f]{16}-.+")

_WRITING_S = 3600
"""A file that is being written is younger."""


def key(*parts: str | bytes) -> str:
    """Return a key that differs when any of the parts does.

    Each part is hashed with its length, so ("ab", "c") and ("a", "bc") have different keys.
    """
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


def default_folder() -> Path:
    """Return NAUTILUS_CACHE_DIR, which is the only environment variable that is read, else ~/.cache/nautilus."""
    chosen = os.environ.get("NAUTILUS_CACHE_DIR")
    if chosen:
        return Path(chosen).absolute()
    return Path(os.path.expanduser("~"), ".cache", "nautilus")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file of the cache.

    Attributes:
        kind: what it holds.
        path: where it lies.
        bytes: its size.
    """

    kind: str
    path: Path
    bytes: int


@dataclass(frozen=True, slots=True)
class Cache:
    """The store.

    Attributes:
        folder: where it lies; made when first written to.
    """

    folder: Path

    @classmethod
    def default(cls) -> Cache:
        """Return the user's cache."""
        return cls(default_folder())

    def load(self, kind: str, name: str) -> bytes | None:
        """Return the content stored for this kind and key, or None where there is none, or none that is whole."""
        try:
            data = self._path(kind, name).read_bytes()
        except OSError:
            return None
        start = len(_MAGIC) + _DIGEST_BYTES
        content = data[start:]
        whole = data[: len(_MAGIC)] == _MAGIC and data[len(_MAGIC) : start] == hashlib.sha256(content).digest()
        return content if whole else None

    def store(self, kind: str, name: str, content: bytes) -> None:
        """Keep the content; the last of several writers wins, and all wrote the same.

        Raises:
            FileError: the folder cannot be written.
        """
        path = self._path(kind, name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, beside = tempfile.mkstemp(prefix=f".{name[:16]}-", dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_MAGIC + hashlib.sha256(content).digest())
                    file.write(content)
                os.replace(beside, path)
            except BaseException:
                Path(beside).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise FileError(
                f"the cache cannot be written: {error.strerror or error}.",
                where=str(self.folder),
                hint="Set NAUTILUS_CACHE_DIR to a folder that can be.",
            ) from error

    def get(self, kind: str, name: str, build: Callable[[], bytes]) -> bytes:
        """Return the stored content, built and stored first where there is none."""
        content = self.load(kind, name)
        if content is None:
            content = build()
            self.store(kind, name, content)
        return content

    def entries(self) -> Iterator[Entry]:
        """Yield what is stored, and what writers that were killed left behind; nothing else that may lie in the folder.

        Raises:
            FileError: the folder cannot be read.
        """
        try:
            kinds = sorted(path for path in self.folder.iterdir() if path.is_dir()) if self.folder.is_dir() else []
        except OSError as error:
            raise FileError(f"the cache cannot be read: {error.strerror}", where=str(self.folder)) from error
        for kind in kinds:
            for path in kind.glob("[0-9a-f][0-9a-f]/*"):
                is_entry = _NAME.fullmatch(path.name) is not None and path.name.startswith(path.parent.name)
                if not is_entry and not _BESIDE.fullmatch(path.name):
                    continue
                with contextlib.suppress(OSError):  # another process has removed it
                    status = path.lstat()
                    if stat.S_ISREG(status.st_mode) and (is_entry or status.st_mtime < time.time() - _WRITING_S):
                        yield Entry(kind=kind.name, path=path, bytes=status.st_size)

    def size_bytes(self) -> int:
        """Return the bytes of all entries; files that other processes remove meanwhile do not count."""
        total = 0
        for folder, _, names in os.walk(self.folder):
            for name in names:
                try:
                    total += os.stat(os.path.join(folder, name)).st_size
                except OSError:
                    continue
        return total

    def _path(self, kind: str, name: str) -> Path:
        return self.folder / kind / name[:2] / name

"""The include closure of a source text: every file of ours that compiling it may read.

Conditions are not evaluated, so the closure holds both twins of a header: a superset is a safe cache key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nautilus_cli.errors import InternalError

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>|(\S+))', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _File:
    digest: bytes
    includes: tuple[Path, ...]


@dataclass(slots=True)
class IncludeScanner:
    """Finds include closures below the given folders; reads each file once, so make a new one for each build.

    Attributes:
        folders: searched in order, as with -I. An include found in none of them belongs to the compiler.
    """

    folders: Sequence[Path]
    _files: dict[Path, _File] = field(default_factory=dict)

    def closure(self, text: str, folder: Path | None = None) -> tuple[Path, ...]:
        """Return the files that TEXT includes, directly or not, sorted.

        Args:
            text: C, C++ or CUDA source.
            folder: where it lies, for includes in quotes; None for generated text.

        Raises:
            InternalError: an include is computed by a macro, so that its closure cannot be known.
        """
        seen: set[Path] = set()
        pending = list(self._includes(text, folder, where="generated text"))
        while pending:
            path = pending.pop()
            if path not in seen:
                seen.add(path)
                pending.extend(self._scan(path).includes)
        return tuple(sorted(seen))

    def digest(self, text: str, folder: Path | None = None) -> bytes:
        """Return a digest of the names and contents of the closure of TEXT; the same wherever the folders lie."""
        state = hashlib.sha256()
        for name, path in sorted((self._relative(path), path) for path in self.closure(text, folder)):
            state.update(hashlib.sha256(name.encode()).digest())
            state.update(self._scan(path).digest)
        return state.digest()

    def _scan(self, path: Path) -> _File:
        if path not in self._files:
            data = path.read_bytes()
            includes = tuple(self._includes(data.decode(), path.parent, where=str(path)))
            self._files[path] = _File(hashlib.sha256(data).digest(), includes)
        return self._files[path]

    def _includes(self, text: str, folder: Path | None, where: str) -> Iterator[Path]:
        for match in _INCLUDE.finditer(text):
            quoted, angled, computed = match.groups()
            if computed:
                raise InternalError(f"an include is computed: {computed}", where=where, hint="Name the file.")
            places = [folder, *self.folders] if quoted and folder else self.folders
            for place in places:
                path = (place / (quoted or angled)).resolve()
                if path.is_file():
                    yield path
                    break

    def _relative(self, path: Path) -> str:
        for folder in self.folders:
            base = folder.resolve()
            if path.is_relative_to(base):
                return path.relative_to(base).as_posix()
        return path.name

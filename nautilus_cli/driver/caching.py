"""What the cache of compiled code and measurements holds, and how to empty it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nautilus_cli.driver.options import Progress, silent
from nautilus_cli.errors import FileError
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.tuning import records


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheOptions:
    """What to empty.

    Attributes:
        tuning: whether what `tune` has measured goes too, which takes long to measure again.
    """

    tuning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheKind:
    """Entries of one kind.

    Attributes:
        name: what they hold.
        entries: how many.
        bytes: of them all.
    """

    name: str
    entries: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheInfo:
    """What the cache holds, or what was removed from it.

    Attributes:
        folder: where it lies.
        kinds: compiled code.
        measurements: schedules that `tune` has measured.
        measurement_bytes: of their files.
    """

    folder: Path
    kinds: tuple[CacheKind, ...]
    measurements: int
    measurement_bytes: int

    @property
    def bytes(self) -> int:
        """All of it."""
        return sum(kind.bytes for kind in self.kinds) + self.measurement_bytes


def cache_info(_: CacheOptions, progress: Progress = silent) -> CacheInfo:
    """Return what the cache holds.

    Raises:
        FileError: it cannot be read.
    """
    progress("looking through the cache", 0, 1)
    return _info(Cache.default(), tuning=True)


def clear_cache(options: CacheOptions, progress: Progress = silent) -> CacheInfo:
    """Remove compiled code, and where asked for what was measured; return what was removed. Nothing else in the folder is touched.

    Raises:
        FileError: a file cannot be removed.
    """
    progress("emptying the cache", 0, 1)
    store = Cache.default()
    found = _info(store, tuning=options.tuning)
    for path in [*(entry.path for entry in store.entries()), *(_tuning_files(store) if options.tuning else ())]:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise FileError(f"cannot be removed: {error.strerror}", where=str(path)) from error
    return found


def _info(store: Cache, *, tuning: bool) -> CacheInfo:
    kinds: dict[str, list[int]] = {}
    for entry in store.entries():
        kinds.setdefault(entry.kind, []).append(entry.bytes)
    return CacheInfo(
        folder=store.folder,
        kinds=tuple(CacheKind(name=name, entries=len(sizes), bytes=sum(sizes)) for name, sizes in sorted(kinds.items())),
        measurements=len(records.load(records.records_path(store)).records) if tuning else 0,
        measurement_bytes=sum(path.stat().st_size for path in _tuning_files(store)) if tuning else 0,
    )


def _tuning_files(store: Cache) -> Iterator[Path]:
    """Yield the records, and the database of the search with its locks."""
    path = records.records_path(store)
    for pattern in (path.name, "studies.journal*"):
        yield from (found for found in path.parent.glob(pattern) if found.is_file())

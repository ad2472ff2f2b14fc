"""The cache: what it holds, what goes and what stays when it is emptied."""

from __future__ import annotations

from pathlib import Path

import pytest

from nautilus_cli.driver.caching import CacheKind, CacheOptions, cache_info, clear_cache
from nautilus_cli.toolchain.cache import Cache, key
from nautilus_cli.tuning import records
from nautilus_cli.tuning.records import Record


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """Two cubins, an object, two measurements, and a file of somebody's."""
    monkeypatch.setenv("NAUTILUS_CACHE_DIR", str(tmp_path / "cache"))
    cache = Cache.default()
    for kind, name in (("cubin", "a"), ("cubin", "b"), ("object", "c")):
        cache.store(kind, key(name), b"x" * 60)
    found = Record(
        family="gemm", closure="0", target="sm_90a", gpu="H200", problem={}, schedule={}, median_us=1.0, spread_us=0.0, verdict="ok"
    )
    records.append(records.records_path(cache), [found, found])
    (cache.folder / "tuning" / "studies.journal").write_text("studies")
    (cache.folder / "tuning" / "letter.txt").write_text("mine")
    return cache


def test_what_it_holds(store: Cache):
    found = cache_info(CacheOptions())
    assert found.folder == store.folder
    assert found.kinds == (CacheKind(name="cubin", entries=2, bytes=200), CacheKind(name="object", entries=1, bytes=100))
    assert found.measurements == 2
    assert found.measurement_bytes == records.records_path(store).stat().st_size + len("studies")
    assert found.bytes == 300 + found.measurement_bytes


def files(store: Cache) -> list[str]:
    return sorted(path.name for path in store.folder.rglob("*") if path.is_file())


def test_measurements_stay(store: Cache):
    removed = clear_cache(CacheOptions())
    assert (sum(kind.entries for kind in removed.kinds), removed.bytes, removed.measurements) == (3, 300, 0)
    assert files(store) == ["letter.txt", "records.jsonl", "studies.journal"]
    assert cache_info(CacheOptions()).measurements == 2
    store.store("cubin", key("a"), b"again")  # the cache goes on working
    assert store.load("cubin", key("a")) == b"again"


def test_measurements_go_where_asked_for(store: Cache):
    removed = clear_cache(CacheOptions(tuning=True))
    assert removed.measurements == 2
    assert files(store) == ["letter.txt"]
    assert cache_info(CacheOptions()).bytes == 0


def test_a_cache_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NAUTILUS_CACHE_DIR", str(tmp_path / "none"))
    assert cache_info(CacheOptions()).bytes == clear_cache(CacheOptions(tuning=True)).bytes == 0
    assert not (tmp_path / "none").exists()

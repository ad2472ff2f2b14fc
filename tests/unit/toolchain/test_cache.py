"""The cache: whole entries only, from one process or several."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from nautilus_cli.errors import FileError
from nautilus_cli.toolchain.cache import Cache, default_folder, key

NAME = key("an entry")


def entry(store: Cache) -> Path:
    (path,) = (path for path in store.folder.rglob("*") if path.is_file())
    return path


def test_what_is_stored_is_loaded(store: Cache) -> None:
    assert store.load("cubin", NAME) is None
    store.store("cubin", NAME, b"content")
    assert store.load("cubin", NAME) == b"content"
    assert store.load("object", NAME) is None


def test_an_entry_is_built_once(store: Cache) -> None:
    built = []

    def build() -> bytes:
        built.append(1)
        return b"content"

    assert [store.get("cubin", NAME, build) for _ in range(3)] == [b"content"] * 3
    assert len(built) == 1


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "magic"])
def test_a_damaged_entry_is_built_again(store: Cache, damage: str) -> None:
    store.store("cubin", NAME, b"some content")
    path = entry(store)
    data = bytearray(path.read_bytes())
    if damage == "truncated":
        data = data[:-1]
    elif damage == "flipped":
        data[-1] ^= 1
    elif damage == "magic":
        data[0] ^= 1
    else:
        data = bytearray()
    path.write_bytes(data)
    assert store.load("cubin", NAME) is None
    assert store.get("cubin", NAME, lambda: b"again") == b"again"
    assert store.load("cubin", NAME) == b"again"


def test_a_failed_build_leaves_nothing(store: Cache) -> None:
    def build() -> bytes:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        store.get("cubin", NAME, build)
    assert not [path for path in store.folder.rglob("*") if path.is_file()]


def test_a_failed_write_leaves_nothing(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(FileError, match=r"No space left on device.*NAUTILUS_CACHE_DIR"):
        store.store("cubin", NAME, b"content")
    assert not [path for path in store.folder.rglob("*") if path.is_file()]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=r"file/cache: the cache cannot be written"):
        Cache(tmp_path / "file" / "cache").store("cubin", NAME, b"content")


def _store_often(folder: Path, content: bytes) -> bool:
    store = Cache(folder)
    whole = True
    for _ in range(200):
        store.store("cubin", NAME, content)
        whole = whole and store.load("cubin", NAME) == content
    return whole


def test_processes_do_not_disturb_each_other(store: Cache) -> None:
    content = bytes(range(256)) * 4096
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert all(pool.starmap(_store_often, [(store.folder, content)] * 2))
    assert store.load("cubin", NAME) == content
    assert entry(store)  # and no file beside it


def test_keys_separate_their_parts() -> None:
    assert key("ab", "c") != key("a", "bc")
    assert key("ab") != key("ab", "")
    assert key("ab") == key(b"ab")


def test_the_size_is_that_of_all_entries(store: Cache) -> None:
    assert store.size_bytes() == 0
    store.store("cubin", NAME, b"x" * 1000)
    store.store("object", NAME, b"x" * 500)
    assert 1500 < store.size_bytes() < 1700


def test_entries_are_ours_only(store: Cache) -> None:
    assert list(store.entries()) == []
    store.store("cubin", NAME, b"x" * 1000)
    store.store("object", NAME, b"x" * 500)
    beside = [store.folder / "cubin" / NAME[:2] / f".{NAME[:16]}-{suffix}" for suffix in ("old", "new")]
    for path in beside:
        path.write_bytes(b"half")
    os.utime(beside[0], (0, 0))
    others = ("notes.txt", "cubin/notes.txt", f"cubin/{NAME[:2]}/notes.txt", f"cubin/zz/{NAME}", f"cubin/00/{NAME}", f"tuning/{NAME}")
    for name in others:
        path = store.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    found = sorted((entry.kind, entry.path.name, entry.bytes) for entry in store.entries())
    assert found == [("cubin", beside[0].name, 4), ("cubin", NAME, 1040), ("object", NAME, 540)]


def test_where_the_cache_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAUTILUS_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache" / "nautilus"
    monkeypatch.setenv("NAUTILUS_CACHE_DIR", str(tmp_path / "own"))
    assert default_folder() == tmp_path / "own"

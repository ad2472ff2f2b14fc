"""Arrays in .npz files."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from nautilus_cli.errors import FileError
from nautilus_cli.verify import archive

ARRAYS = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "file": np.array(True), "a/b:c": np.zeros((0, 2), np.int64)}


def test_arrays_come_back_whatever_their_names(tmp_path: Path):
    path = tmp_path / "x.npz"
    archive.write(path, ARRAYS)
    loaded = archive.read(path)
    assert list(loaded) == list(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(loaded[name], array)
        assert loaded[name].dtype == array.dtype
    assert [p.name for p in tmp_path.iterdir()] == ["x.npz"]


def test_what_numpy_writes_is_read(tmp_path: Path):
    np.savez_compressed(tmp_path / "x.npz", x=ARRAYS["x"])
    np.testing.assert_array_equal(archive.read(tmp_path / "x.npz")["x"], ARRAYS["x"])


def test_same_arrays_same_bytes(tmp_path: Path):
    for name in ("a.npz", "b.npz"):
        archive.write(tmp_path / name, ARRAYS)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.int4])
def test_types_that_numpy_lacks_are_stored_as_their_bits(dtype: type, tmp_path: Path):
    values = np.array([1, -2], np.float32).astype(dtype)
    archive.write(tmp_path / "x.npz", {"x": values})
    found = archive.read(tmp_path / "x.npz")["x"]
    assert found.dtype.kind == "u"
    np.testing.assert_array_equal(found.view(dtype), values)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 broken"])
def test_other_files_are_refused(content: bytes, tmp_path: Path):
    path = tmp_path / "x.npz"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"npz"):
        archive.read(path)


def test_a_single_array_is_refused(tmp_path: Path):
    np.save(tmp_path / "x.npy", ARRAYS["x"])
    with pytest.raises(FileError, match="single array"):
        archive.read(tmp_path / "x.npy")


def test_pickles_are_not_loaded(tmp_path: Path):
    np.savez(tmp_path / "x.npz", x=np.array([{}], dtype=object))
    with pytest.raises(FileError):
        archive.read(tmp_path / "x.npz")


def test_a_missing_file_and_folder(tmp_path: Path):
    with pytest.raises(FileError, match="No such file"):
        archive.read(tmp_path / "none.npz")
    with pytest.raises(FileError, match="cannot be written"):
        archive.write(tmp_path / "none" / "x.npz", ARRAYS)

"""Weights in a file beside the library: found wherever the library is loaded from, and never those of another."""

import gc
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.artifact.weights_file import WeightsPlace, weights_path
from nautilus_cli.errors import FileError
from nautilus_cli.lowering.plan import Weight
from tests.support import fake_library
from tests.support.fake_library import WEIGHTS

NAME = "libmodel.weights.safetensors"

FEEDS = {"x": np.ones((2, 3), np.float32), "y.1": np.zeros((2, 3), np.float32), "index": np.array([0, 1])}


@pytest.fixture
def path(tmp_path: Path, host: bytes, image: bytes) -> Path:
    return write(tmp_path, host, image, WEIGHTS)


def write(folder: Path, host: bytes, image: bytes, weights: np.ndarray) -> Path:
    plan = fake_library.plan()
    changed = Weight(array=weights, recipe="dense", offset=256, tensors=("w",))
    variant = fake_library.variant(image, weights=(plan.weights[0], changed))
    return fake_library.write(folder / "libmodel.so", host, variant, weights=WeightsPlace.EXTERNAL)


def check(path: Path) -> None:
    with nautilus_cli.load(path) as library:
        np.testing.assert_array_equal(library(FEEDS)["sum"], 1 + WEIGHTS)


def test_runs(path: Path):
    check(path)


def test_follows_links_and_needs_no_name_of_its_own(path: Path, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "liblink.so"
    link.symlink_to(path)
    check(link)
    check(path.rename(tmp_path / "librenamed.so"))


def refused(path: Path) -> str:
    with pytest.raises(FileError) as error:
        nautilus_cli.load(path)
    return str(error.value)


def test_a_missing_file_is_named(path: Path):
    weights_path(path).unlink()
    assert f"the weights of this library lie in a file of their own beside it, {NAME}: No such file" in refused(path)
    weights_path(path).mkdir()
    assert f"{NAME} cannot be read" in refused(path)
    weights_path(path).rmdir()
    os.mkfifo(weights_path(path))  # nobody writes to it
    assert f"{NAME} are truncated: the file has 0 bytes" in refused(path)


@pytest.mark.parametrize("keep", [0, 7, 300, 1023])
def test_truncated(path: Path, keep: int):
    data = weights_path(path).read_bytes()
    weights_path(path).write_bytes(data[:keep])
    assert f"{NAME} are truncated: the file has {keep} bytes of {len(data)}" in refused(path)


def test_other_weights_of_the_same_structure(path: Path, tmp_path: Path, host: bytes, image: bytes):
    """A new checkpoint's file does not become this library's by being put in its place."""
    (tmp_path / "other").mkdir()
    other = write(tmp_path / "other", host, image, WEIGHTS + 1)
    weights_path(other).replace(weights_path(path))
    assert f"{NAME} are not those that this library was compiled with. Copy library and weights together" in refused(path)


def test_more_bytes_and_a_damaged_head(path: Path):
    data = weights_path(path).read_bytes()
    weights_path(path).write_bytes(data + b"\0")
    assert f"{NAME} do not end where they should: the file has {len(data) + 1} bytes of {len(data)}" in refused(path)
    weights_path(path).write_bytes(data[:100] + b"?" + data[101:])
    assert "are not those that this library was compiled with" in refused(path)


def test_compiling_again_with_weights_inside(path: Path, tmp_path: Path, host: bytes, image: bytes):
    fake_library.write(path, host, fake_library.variant(image))
    assert not weights_path(path).exists()
    check(path)


C_LOAD = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1])
library.nautilus_last_error.restype = ctypes.c_char_p
os.chdir(sys.argv[2])
model = ctypes.c_void_p()
print(library.nautilus_model_create(None, ctypes.byref(model)), library.nautilus_last_error().decode())
"""


@pytest.mark.parametrize(("given", "folder", "status"), [("./libmodel.so", ".", 0), ("./libmodel.so", "/", 2), ("absolute", "/", 0)])
def test_from_a_relative_path(path: Path, given: str, folder: str, status: int):
    """As C opens it. A relative path means nothing once the process has changed its folder: an error, not another's file."""
    library = os.fspath(path) if given == "absolute" else given
    done = subprocess.run([sys.executable, "-c", C_LOAD, library, folder], cwd=path.parent, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{status} ")
    assert status == 0 or NAME in done.stdout


def test_leaves_nothing_open(path: Path):
    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))

    def maps() -> int:
        return Path("/proc/self/maps").read_text().count(NAME)

    gc.collect()  # what other tests have left
    before = open_files()
    with nautilus_cli.load(path):
        assert maps() == 0  # copied to the device, then unmapped
    weights_path(path).write_bytes(b"")
    refused(path)
    assert (open_files(), maps()) == (before, 0)


def test_many_targets_share_the_file(tmp_path: Path, host: bytes, image: bytes):
    variants = [replace(fake_library.variant(image)), fake_library.gpu_variant()]
    path = fake_library.write(tmp_path / "libmodel.so", host, *variants, weights=WeightsPlace.EXTERNAL)
    with nautilus_cli.load(path, place="emulated") as library:
        np.testing.assert_array_equal(library(FEEDS)["sum"], 1 + WEIGHTS)

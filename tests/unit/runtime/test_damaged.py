"""Libraries that are not whole: a clear error, never a crash of the process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import nautilus_cli
from nautilus_cli.artifact.elf import segments
from nautilus_cli.artifact.payload_layout import HEADER
from nautilus_cli.errors import FileError


def payload_offset(data: bytes) -> int:
    return max((s for s in segments(data) if s.is_load), key=lambda s: s.vaddr).offset


@pytest.mark.parametrize("content", [b"", b"hello", b"\x7fELF\x02\x01" + bytes(58), b"\x7fELF\x02\x01\x01" + b"\xff" * 200])
def test_what_is_no_library(tmp_path: Path, content: bytes):
    path = tmp_path / "libmodel.so"
    path.write_bytes(content)
    with pytest.raises(FileError, match="libmodel.so: .*not a (shared )?library"):
        nautilus_cli.load(path)


def test_missing_files_folders_and_foreign_libraries(tmp_path: Path, image: bytes):
    with pytest.raises(FileError, match="missing.so: the library cannot be read: No such file"):
        nautilus_cli.load(tmp_path / "missing.so")
    with pytest.raises(FileError, match="cannot be read: Is a directory"):
        nautilus_cli.load(tmp_path)
    os.mkfifo(tmp_path / "pipe.so")
    with pytest.raises(FileError, match="pipe.so: the library cannot be read: it is a pipe"):
        nautilus_cli.load(tmp_path / "pipe.so")
    (tmp_path / "libother.so").write_bytes(image)
    with pytest.raises(FileError, match="libother.so: this is not a library of Nautilus"):
        nautilus_cli.load(tmp_path / "libother.so")


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9, 0.9999])
def test_truncated(library_path: Path, keep: float):
    data = library_path.read_bytes()
    library_path.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(FileError, match=rf"the library is truncated: it has \d+ bytes of {len(data)}"):
        nautilus_cli.load(library_path)


C_LOAD = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.nautilus_last_error.restype = ctypes.c_char_p
model = ctypes.c_void_p()
print(library.nautilus_model_create(None, ctypes.byref(model)), library.nautilus_target_count(), library.nautilus_last_error().decode())
"""


@pytest.mark.parametrize("cut", [8, 5000, -1])
def test_truncated_without_python_in_between(library_path: Path, cut: int):
    data = library_path.read_bytes()
    library_path.write_bytes(data[: payload_offset(data) + 10 if cut < 0 else len(data) - cut])
    done = subprocess.run([sys.executable, "-c", C_LOAD, library_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 0 ") and "libmodel.so is truncated: the end of its model is missing" in done.stdout


def flip(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[payload_offset(data) + offset] ^= 0x10
    path.write_bytes(data)


@pytest.mark.parametrize("offset", range(0, HEADER.size, 23))
def test_flipped_bytes_in_the_header(library_path: Path, offset: int):
    flip(library_path, offset)
    with pytest.raises(FileError, match="libmodel.so is damaged"):
        nautilus_cli.load(library_path)


@pytest.mark.parametrize("offset", [HEADER.size, HEADER.size + 100, HEADER.size + 500])
def test_flipped_bytes_in_the_plan(library_path: Path, offset: int):
    flip(library_path, offset)
    with pytest.raises(FileError, match="the checksum of its plan is wrong"):
        nautilus_cli.load(library_path)


def test_flipped_bytes_in_the_code(library_path: Path, image: bytes):
    data = library_path.read_bytes()
    flip(library_path, data.index(image) + len(image) // 2 - payload_offset(data))
    with pytest.raises(FileError, match="the checksum of its code is wrong"):
        nautilus_cli.load(library_path)


def test_bare_host_code(tmp_path: Path, host: bytes):
    path = tmp_path / "libhost.so"
    path.write_bytes(host)
    with pytest.raises(FileError, match="holds no model: it is the bare host code"):
        nautilus_cli.load(path)


def test_stripped(library_path: Path):
    subprocess.run(["strip", library_path], check=True)
    with pytest.raises(FileError, match="damaged|truncated|not a library"):
        nautilus_cli.load(library_path)

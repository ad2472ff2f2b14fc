"""Files that are no ONNX model, and those that are."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from nautilus_cli.errors import FileError, ModelError, NautilusError
from nautilus_cli.frontend import load, reading
from tests.unit.frontend.models import saved, told, unary


def refused(path: Path, kind: type[NautilusError]) -> str:
    with pytest.raises(kind) as caught:
        load(path)
    assert type(caught.value) is kind
    assert "\n" not in told(caught.value)
    return told(caught.value).replace(str(path), "PATH")


def test_model_is_read_with_its_hash(tmp_path: Path) -> None:
    path = saved(unary("Relu"), tmp_path)
    loaded = load(path)
    assert loaded.sha256 == sha256(path.read_bytes()).hexdigest()
    assert (loaded.opset, loaded.producer, loaded.nodes) == (20, "tests", 1)
    assert [n.op for n in load(str(path)).graph.nodes] == ["Relu"]


def test_missing_file(tmp_path: Path) -> None:
    assert refused(tmp_path / "no.onnx", FileError) == "'PATH': there is no such file"


def test_null_byte_in_the_path(tmp_path: Path) -> None:
    assert "cannot be read: " in refused(tmp_path / "a\0b.onnx", FileError)


def test_directory_names_the_models_in_it(tmp_path: Path) -> None:
    assert refused(tmp_path, FileError) == "'PATH': is a directory | Pass a .onnx file. It holds no .onnx file."
    saved(unary("Relu"), tmp_path)
    assert "In it are: 'model.onnx'." in refused(tmp_path, FileError)


def test_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is not a regular file" in refused(tmp_path / "pipe", FileError)


def test_device_is_not_read() -> None:
    assert "is not a regular file" in refused(Path("/dev/zero"), FileError)


def test_file_without_permission(tmp_path: Path) -> None:
    path = saved(unary("Relu"), tmp_path)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user reads every file")
    assert "cannot be read: Permission denied" in refused(path, FileError)


def test_file_beyond_protobuf_s_limit(tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    with path.open("wb") as file:
        file.truncate(reading.MAX_FILE_BYTES + 1)  # sparse: takes no space
    assert "save_as_external_data=True" in refused(path, ModelError)


def zip_archive() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("archive/data.pkl", b"")
    return stream.getvalue()


LOOKALIKES = {
    "is empty": b"",
    "a zip archive": zip_archive(),
    "a Python pickle": pickle.dumps({"state": 1}, protocol=4),
    "an old PyTorch checkpoint": pickle.dumps({"state": 1}, protocol=2),
    "a JSON file": json.dumps({"graph": {}}).encode(),
    "an HTML or XML page": b"<!DOCTYPE html><html>Not found</html>",
    "a Git LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    "a TensorFlow Lite model": b"\x1c\x00\x00\x00TFL3" + bytes(40),
    "an HDF5 file": b"\x89HDF\r\n\x1a\n" + bytes(40),
    "a text file": b"ir_version: 8 graph { node { op_type: 'Relu' } }",
    "does not parse as one": b"\x08" + b"\xff" * 30,
    "holds no graph": b"\x08\x0a",
}


@pytest.mark.parametrize("what", LOOKALIKES)
def test_something_else_is_named(tmp_path: Path, what: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(LOOKALIKES[what])
    assert what in refused(path, ModelError)


def test_every_truncation_is_refused_and_long_ones_say_how_much_is_missing(tmp_path: Path) -> None:
    data = saved(unary("Relu"), tmp_path).read_bytes()
    path = tmp_path / "cut.onnx"
    for length in range(len(data)):
        path.write_bytes(data[:length])
        message = refused(path, ModelError)
        if length == len(data) // 2:
            assert "is cut off: its graph needs " in message


def test_varint_without_an_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\x3a" + b"\xff" * 40)
    assert "does not parse as one" in refused(path, ModelError)

import os
import stat
import struct
import zlib

import pytest

from nautilus_cli.artifact import bundle, manifest
from nautilus_cli.artifact import payload as payloads
from nautilus_cli.artifact.elf import make_room
from nautilus_cli.artifact.payload_layout import HEADER
from nautilus_cli.errors import FileError
from nautilus_cli.runtime.library import held_targets
from tests.support import fake_library


def files(folder):
    return sorted(p.name for p in folder.iterdir())


def test_writes_library_and_manifest_and_nothing_else(tmp_path, host, image):
    output = fake_library.write(tmp_path / "libmodel.so", host, fake_library.variant(image))
    assert files(tmp_path) == ["libmodel.json", "libmodel.so"]
    assert stat.S_IMODE(output.stat().st_mode) == 0o777 & ~bundle._umask()
    assert manifest.read(manifest.manifest_path(output))["target"] == "emulated"


def test_same_input_same_bytes(tmp_path, host, image):
    first = fake_library.write(tmp_path / "a.so", host, fake_library.variant(image))
    second = fake_library.write(tmp_path / "b.so", host, fake_library.variant(image))
    assert first.read_bytes() == second.read_bytes()
    assert manifest.manifest_path(first).read_bytes() == manifest.manifest_path(second).read_bytes()


def test_a_failure_leaves_what_was_there(tmp_path, host, image):
    output = fake_library.write(tmp_path / "libmodel.so", host, fake_library.variant(image))
    before = output.read_bytes(), manifest.manifest_path(output).read_bytes()

    def pieces():
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), bundle.beside(output, pieces(), mode=0o777):
        pytest.fail("unreachable")
    assert (output.read_bytes(), manifest.manifest_path(output).read_bytes()) == before
    assert files(tmp_path) == ["libmodel.json", "libmodel.so"]


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    real = os.fdopen

    class Full:
        def __init__(self, descriptor, mode):
            self.file = real(descriptor, mode)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.file.close()

        def write(self, data):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundle.os, "fdopen", Full)
    with pytest.raises(FileError, match="No space left on device"), bundle.beside(tmp_path / "libmodel.so", [b"x"], mode=0o777):
        pytest.fail("unreachable")
    assert files(tmp_path) == []


def test_unwritable_outputs_name_the_place(tmp_path, host, image):
    with pytest.raises(FileError, match=r"missing/libmodel.so: the file cannot be written: No such file or directory.*-o"):
        fake_library.write(tmp_path / "missing" / "libmodel.so", host, fake_library.variant(image))
    (tmp_path / "libdir.so").mkdir()
    with pytest.raises(FileError, match=r"libdir.so: the file cannot be written: it is a folder"):
        fake_library.write(tmp_path / "libdir.so", host, fake_library.variant(image))
    assert files(tmp_path) == ["libdir.so"]
    with pytest.raises(FileError, match="overwrite its own manifest"):
        fake_library.write(tmp_path / "libmodel.json", host, fake_library.variant(image))


def test_weights_of_many_gigabytes_fit_inside(tmp_path, host):
    """A library beyond 2 GiB loads: its sizes are 64-bit. The weights here are a hole in the file and cost nothing."""
    gigabytes = 3 * 2**30
    variant = fake_library.variant(b"image", weights=(), weight_bytes=0)
    made = payloads.build([variant], model_digest=bytes(32), manifest_digest=bytes(32), weights_digest=bytes(32), producer="1")
    fields = list(HEADER.unpack(made.pieces[0]))
    fields[3], fields[4], fields[-11] = fields[3] + gigabytes, 0, gigabytes
    header = bytearray(HEADER.pack(*fields))
    struct.pack_into("<I", header, 24, zlib.crc32(header))
    path = tmp_path / "libmodel.so"
    with path.open("wb") as file:
        file.writelines((make_room(host, made.bytes + gigabytes), header, *made.pieces[1:-1]))
        file.seek(gigabytes, os.SEEK_CUR)
        file.write(made.pieces[-1])
    assert held_targets(path) == (("emulated", True),)

import ctypes
import struct
from pathlib import Path

import pytest

from nautilus_cli.artifact.elf import DESCRIPTOR_MAGIC, make_room, mapped_bytes, segments
from nautilus_cli.errors import InternalError


class Descriptor(ctypes.Structure):
    _fields_ = (("magic", ctypes.c_char * 8), ("offset", ctypes.c_int64), ("bytes", ctypes.c_uint64))


@pytest.mark.parametrize("size", [1, 4096, 4097, 1 << 20])
def test_loader_maps_the_payload(tmp_path: Path, host: bytes, size: int) -> None:
    payload = bytes(i * 7 % 251 for i in range(size))
    path = tmp_path / "patched.so"
    path.write_bytes(make_room(host, size) + payload)
    library = ctypes.CDLL(str(path))
    descriptor = Descriptor.in_dll(library, "nautilus_payload_descriptor")
    assert (descriptor.magic + b"\0", descriptor.bytes) == (DESCRIPTOR_MAGIC, size)
    assert ctypes.string_at(ctypes.addressof(descriptor) + descriptor.offset, size) == payload
    assert library.nautilus_abi_version() == 1  # code, relocations and data are where they were


def test_loads_ascend_and_stay_as_many_headers(host: bytes) -> None:
    patched = make_room(host, 1000)
    loads = [s for s in segments(patched) if s.is_load]
    assert len(segments(patched)) == len(segments(host))
    assert [s.vaddr for s in loads] == sorted(s.vaddr for s in loads)
    added = loads[-1]
    assert (added.offset, added.file_bytes, added.flags) == (len(patched), 1000, 4)
    assert added.vaddr % added.align == added.offset % added.align == 0
    assert mapped_bytes(patched) == len(patched) + 1000


def test_nothing_before_the_payload_moves(host: bytes) -> None:
    patched = make_room(host, 10)
    headers_end = 64 + 56 * len(segments(host))
    descriptor = host.index(DESCRIPTOR_MAGIC)
    ranges = [(headers_end, descriptor), (descriptor + 24, len(host))]
    assert all(host[a:b] == patched[a:b] for a, b in ranges)
    assert not any(patched[len(host) :])


def test_a_note_before_the_loads_is_given_too(host: bytes, tmp_path: Path) -> None:
    (offset,) = struct.unpack_from("<Q", host, 32)
    table = [host[offset + 56 * i :][:56] for i in range(len(segments(host)))]
    table.sort(key=lambda entry: entry[:4] != struct.pack("<I", 4))
    moved = host[:offset] + b"".join(table) + host[offset + 56 * len(table) :]
    path = tmp_path / "moved.so"
    path.write_bytes(make_room(moved, 3) + b"abc")
    descriptor = Descriptor.in_dll(ctypes.CDLL(str(path)), "nautilus_payload_descriptor")
    assert ctypes.string_at(ctypes.addressof(descriptor) + descriptor.offset, 3) == b"abc"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda host: b"MZ" + host[2:], "not a 64-bit little-endian ELF file"),
        (lambda host: host[:100], "ends before its program headers"),
        (lambda host: host.replace(DESCRIPTOR_MAGIC, b"somethin"), "does not export nautilus_payload_descriptor"),
    ],
)
def test_refuses_what_is_no_host_library(host: bytes, change: object, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        make_room(change(host), 10)  # type: ignore[operator]

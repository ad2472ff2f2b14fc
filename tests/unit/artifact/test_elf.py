import contextlib
import ctypes
import mmap
import platform
import random
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from nautilus_cli.artifact.elf import DESCRIPTOR_MAGIC, Need, machine, make_room, mapped_bytes, needs, segments
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


def test_a_library_needs_the_c_library_only(host: bytes, tmp_path: Path) -> None:
    found = needs(host)
    assert {need.library.partition(".")[0] for need in found} <= {"libc", "ld-linux-x86-64", "libpthread", "libdl"}
    c = next(need for need in found if need.library.startswith("libc."))
    assert any(version.startswith("GLIBC_2.") for version in c.versions)
    assert needs(make_room(host, 1000) + bytes(1000)) == found
    assert machine(host) == platform.machine()
    path = tmp_path / "host.so"
    path.write_bytes(host)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
        assert needs(image) == found


def test_needs_are_what_readelf_says(host: bytes, tmp_path: Path) -> None:
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("no readelf")
    path = tmp_path / "host.so"
    path.write_bytes(host)
    said = subprocess.run([readelf, "--wide", "--dynamic", path], capture_output=True, text=True, check=True).stdout
    assert [need.library for need in needs(host)] == re.findall(r"\(NEEDED\).*\[(.*)\]", said)
    said = subprocess.run([readelf, "--wide", "--version-info", path], capture_output=True, text=True, check=True).stdout
    found = {version for need in needs(host) for version in need.versions}
    assert found == set(re.findall(r"Name: (\S+) ", said.partition("Version needs section")[2]))


def dynamic_header(host: bytes) -> int:
    """Return where the program header of the dynamic section stands."""
    (offset,) = struct.unpack_from("<Q", host, 32)
    return offset + 56 * next(i for i, s in enumerate(segments(host)) if s.type == 2)


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_dynamic_section_is_an_error_or_harmless(seed: int, host: bytes) -> None:
    generator = random.Random(seed)
    (segment,) = (s for s in segments(host) if s.type == 2)
    damaged = bytearray(host)
    for _ in range(4):
        damaged[segment.offset + generator.randrange(segment.file_bytes)] = generator.randrange(256)
    with contextlib.suppress(InternalError):
        assert all(isinstance(need, Need) for need in needs(bytes(damaged)))


def test_what_has_no_dynamic_section(host: bytes) -> None:
    damaged = bytearray(host)
    struct.pack_into("<I", damaged, dynamic_header(host), 4)
    with pytest.raises(InternalError, match="no dynamic section"):
        needs(bytes(damaged))
    assert needs(host)
    with pytest.raises(InternalError, match="ELF"):
        needs(b"\x7fELF")
    struct.pack_into("<H", damaged, 18, 183)
    assert machine(bytes(damaged)) == "aarch64"
    struct.pack_into("<H", damaged, 18, 7)
    assert machine(bytes(damaged)) == "machine 7"

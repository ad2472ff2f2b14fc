"""Append data to a shared library so that the loader maps it, without a linker; and read what a library needs from the system.

The last PT_NOTE program header, which nothing at run time reads, becomes a PT_LOAD over bytes appended to the file. Program headers
stay as many as they were, so nothing else in the file moves.

Source: System V ABI, chapter 5 "Program Loading and Dynamic Linking" (PT_LOAD entries ascend by p_vaddr; p_vaddr and p_offset are
congruent modulo p_align), and chapter 4 "Symbol Table"; Linux Standard Base Core 5.0, section 10.7 "Symbol Versioning"; ELF-64 Object
File Format 1.5 for the layouts of the structures.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nautilus_cli.errors import InternalError

DESCRIPTOR_SYMBOL = b"nautilus_payload_descriptor"
DESCRIPTOR_MAGIC = b"NAUTDSC\0"

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
_SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")

_MAGIC_64_LITTLE = b"\x7fELF\x02\x01"
_DYNAMIC_ENTRY = struct.Struct("<qQ")
_VERSION_NEED = struct.Struct("<HHIII")
_VERSION_NAME = struct.Struct("<IHHII")

_PT_LOAD, _PT_DYNAMIC, _PT_NOTE = 1, 2, 4
_DT_NULL, _DT_NEEDED, _DT_STRTAB, _DT_VERNEED = 0, 1, 5, 0x6FFFFFFE
_PF_READ = 4
_SHT_DYNSYM = 11


Image = bytes | mmap.mmap
"""A file's content."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A program header, fields in the order of the file."""

    type: int
    flags: int
    offset: int
    vaddr: int
    paddr: int
    file_bytes: int
    memory_bytes: int
    align: int

    @property
    def is_load(self) -> bool:
        """Whether the loader maps it."""
        return self.type == _PT_LOAD

    def pack(self) -> bytes:
        """Return the bytes of the header."""
        fields = (self.type, self.flags, self.offset, self.vaddr, self.paddr, self.file_bytes, self.memory_bytes, self.align)
        return _PROGRAM_HEADER.pack(*fields)


MACHINES = {62: "x86_64", 183: "aarch64"}
"""Processors by their number in a header, as `platform.machine` calls them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A library that another one needs.

    Attributes:
        library: its file name.
        versions: of its interface, for example `GLIBC_2.34`.
    """

    library: str
    versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Header:
    machine: int
    program_offset: int
    program_count: int
    section_offset: int
    section_count: int


def _read_header(image: Image) -> _Header:
    if len(image) < _HEADER.size or image[: len(_MAGIC_64_LITTLE)] != _MAGIC_64_LITTLE:
        raise InternalError("the file is not a 64-bit little-endian ELF file")
    fields = _HEADER.unpack_from(image)
    return _Header(
        machine=fields[2], program_offset=fields[5], section_offset=fields[6], program_count=fields[10], section_count=fields[12]
    )


def segments(image: Image) -> tuple[Segment, ...]:
    """Return the program headers of an ELF file, of which IMAGE may be only the beginning.

    Raises:
        InternalError: it is not such a file, or it ends before they do.
    """
    header = _read_header(image)
    if header.program_offset + header.program_count * _PROGRAM_HEADER.size > len(image):
        raise InternalError("the file ends before its program headers do")
    offsets = range(header.program_offset, header.program_offset + header.program_count * _PROGRAM_HEADER.size, _PROGRAM_HEADER.size)
    return tuple(Segment(*_PROGRAM_HEADER.unpack_from(image, offset)) for offset in offsets)


def mapped_bytes(image: bytes) -> int:
    """Return how long the file must be for all that the loader maps; IMAGE may be only its beginning."""
    return max((s.offset + s.file_bytes for s in segments(image) if s.is_load), default=0)


def machine(image: Image) -> str:
    """Return the processor that a library is for.

    Raises:
        InternalError: it is no 64-bit little-endian ELF file.
    """
    number = _read_header(image).machine
    return MACHINES.get(number, f"machine {number}")


def needs(image: Image) -> tuple[Need, ...]:
    """Return the libraries that a library names as needed, in its order.

    Raises:
        InternalError: it is no shared library, or a damaged one.
    """
    try:
        return _needs(image)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise InternalError("the file's dynamic section is damaged") from error


def _needs(image: Image) -> tuple[Need, ...]:
    table = segments(image)
    dynamic = next((s for s in table if s.type == _PT_DYNAMIC), None)
    if dynamic is None:
        raise InternalError("the file has no dynamic section")
    entries = []
    for offset in range(dynamic.offset, dynamic.offset + dynamic.file_bytes, _DYNAMIC_ENTRY.size):
        tag, value = _DYNAMIC_ENTRY.unpack_from(image, offset)
        if tag == _DT_NULL:
            break
        entries.append((tag, value))
    places = {tag: _file_offset(table, value) for tag, value in entries if tag in (_DT_STRTAB, _DT_VERNEED)}
    names = places.get(_DT_STRTAB, 0)
    versions = dict(_versions(image, places[_DT_VERNEED], names)) if _DT_VERNEED in places else {}
    found = [_string(image, names + value) for tag, value in entries if tag == _DT_NEEDED]
    return tuple(Need(library=name, versions=versions.get(name, ())) for name in found)


def _versions(image: Image, offset: int, names: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield for each library the versions of its interface that are needed; offsets only grow, so that a damaged file has an end."""
    while True:
        _, count, file, first, following = _VERSION_NEED.unpack_from(image, offset)
        found = []
        place = offset + first
        for _ in range(count):
            _, _, _, name, step = _VERSION_NAME.unpack_from(image, place)
            found.append(_string(image, names + name))
            place += step
        yield _string(image, names + file), tuple(found)
        if following == 0:
            return
        offset += following


def _string(image: Image, offset: int) -> str:
    end = image.find(b"\0", offset)
    if end < offset:
        raise IndexError(offset)
    return image[offset:end].decode()


def _file_offset(table: Iterable[Segment], address: int) -> int:
    for load in table:
        if load.is_load and load.vaddr <= address < load.vaddr + load.file_bytes:
            return load.offset + address - load.vaddr
    raise IndexError(address)


def _dynamic_symbols(image: bytes, header: _Header) -> Iterator[tuple[bytes, int]]:
    """Yield name and address of each symbol of .dynsym."""
    offsets = range(header.section_offset, header.section_offset + header.section_count * _SECTION_HEADER.size, _SECTION_HEADER.size)
    sections = [_SECTION_HEADER.unpack_from(image, offset) for offset in offsets]
    for section in sections:
        if section[1] != _SHT_DYNSYM:
            continue
        names_offset = sections[section[6]][4]
        for offset in range(section[4], section[4] + section[5], _SYMBOL.size):
            name, _, _, _, value, _ = _SYMBOL.unpack_from(image, offset)
            start = names_offset + name
            yield image[start : image.index(b"\0", start)], value


def _descriptor(image: bytes, header: _Header, loads: list[Segment]) -> tuple[int, int]:
    """Return where the payload descriptor lies: (address in memory, offset in the file)."""
    for name, address in _dynamic_symbols(image, header):
        if name != DESCRIPTOR_SYMBOL:
            continue
        for load in loads:
            offset = load.offset + address - load.vaddr
            if load.vaddr <= address < load.vaddr + load.file_bytes and image[offset : offset + 8] == DESCRIPTOR_MAGIC:
                return address, offset
    raise InternalError(f"the host library does not export {DESCRIPTOR_SYMBOL.decode()}")


def _round_up(value: int, align: int) -> int:
    return -(-value // align) * align


def make_room(image: bytes, payload_bytes: int) -> bytes:
    """Return the library with a mapping for PAYLOAD_BYTES right behind it; the payload is to be written after these bytes.

    Args:
        image: a shared library built from `templates/host`.
        payload_bytes: how long the payload will be.

    Raises:
        InternalError: the library has no program header to give, or no descriptor.
    """
    header = _read_header(image)
    table = list(segments(image))
    loads = [s for s in table if s.is_load]
    notes = [i for i, s in enumerate(table) if s.type == _PT_NOTE]
    if not loads or not notes:
        raise InternalError("the host library has no PT_NOTE program header to turn into a mapping")
    descriptor_address, descriptor_offset = _descriptor(image, header, loads)
    align = max(s.align for s in loads)
    offset = _round_up(len(image), align)
    vaddr = _round_up(max(s.vaddr + s.memory_bytes for s in loads), align)
    payload = Segment(_PT_LOAD, _PF_READ, offset, vaddr, vaddr, payload_bytes, payload_bytes, align)
    del table[notes[-1]]
    last_load = max(i for i, s in enumerate(table) if s.is_load)
    table.insert(last_load + 1, payload)
    patched = bytearray(image)
    programs = b"".join(s.pack() for s in table)
    patched[header.program_offset : header.program_offset + len(programs)] = programs
    struct.pack_into("<qQ", patched, descriptor_offset + len(DESCRIPTOR_MAGIC), vaddr - descriptor_address, payload_bytes)
    patched.extend(bytes(offset - len(image)))
    return bytes(patched)

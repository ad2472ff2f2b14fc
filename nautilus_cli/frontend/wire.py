"""Protobuf's wire format, as far as reading a file without copying its weights needs it.

Source: protobuf's encoding guide: a field is a varint of number and wire type, then a varint (type 0), 8 bytes (1), a length and that many
bytes (2), or 4 bytes (5).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from mmap import mmap

Buffer = bytes | mmap

LENGTH_DELIMITED = 2


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message.

    Attributes:
        number: its number.
        kind: its wire type.
        start: where its tag begins.
        content: where its content begins; after the length of a length-delimited one.
        end: one past its last byte; beyond the message where that is cut off.
    """

    number: int
    kind: int
    start: int
    content: int
    end: int


class Malformed(Exception):
    """Bytes that are no fields, or more of them than the caller cares to look at."""


def fields(data: Buffer, start: int, end: int, most: int) -> Iterator[Field]:
    """Yield the fields between two positions; one that overruns is the last.

    Args:
        data: holds the message.
        start: where the message begins.
        end: where it ends.
        most: how many fields to look at: each costs a microsecond, and a hostile file can have a billion.

    Raises:
        Malformed: the bytes are no fields, or there are more than MOST.
    """
    position = start
    for _ in range(most):
        if position >= end:
            return
        tag, content = varint(data, position, end)
        kind = tag & 7
        match kind:
            case 0:
                _, stop = varint(data, content, end)
            case 1:
                stop = content + 8
            case 2:
                length, content = varint(data, content, end)
                stop = content + length
            case 5:
                stop = content + 4
            case _:
                raise Malformed
        yield Field(tag >> 3, kind, position, content, stop)
        position = stop
    if position < end:
        raise Malformed


def varint(data: Buffer, position: int, end: int) -> tuple[int, int]:
    """Return a varint and the position after it.

    Raises:
        Malformed: it does not end before END, or has more than ten bytes.
    """
    value = 0
    for shift in range(0, 70, 7):
        if position >= end:
            raise Malformed
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise Malformed


def encoded_varint(value: int) -> bytes:
    """Return a non-negative number as a varint."""
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)

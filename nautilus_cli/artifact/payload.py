"""A model as the bytes that the host code walks.

    header | tables: variants, images, ports, dimensions, kernels, launches, words, strings, maps, symbols, sizes, patches, checks, steps,
             carries, elements | code | weights | trailer

Weights may lie in a file beside the library instead (`weights_file.py`).
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from nautilus_cli.artifact.payload_layout import HEADER, HEADER_CRC_OFFSET, MAGIC, PAYLOAD_VERSION, TRAILER
from nautilus_cli.artifact.payload_tables import Tables
from nautilus_cli.artifact.sizes import Patched, SizeTable
from nautilus_cli.artifact.variant import Variant
from nautilus_cli.artifact.weights_file import WeightsFile
from nautilus_cli.artifact.weights_section import Bytes, weight_pieces
from nautilus_cli.artifact.weights_section import weights_digest as section_digest
from nautilus_cli.errors import InternalError
from nautilus_cli.lowering.plan import ALIGNMENT_BYTES


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Payload:
    """Bytes in pieces, so that weights are written from where they lie.

    Attributes:
        pieces: to be written one after another.
        bytes: their total length.
    """

    pieces: tuple[Bytes, ...]
    bytes: int


def build(
    variants: Sequence[Variant],
    *,
    model_digest: bytes,
    manifest_digest: bytes,
    weights_digest: bytes,
    producer: str,
    weights_file: WeightsFile | None = None,
) -> Payload:
    """Return the payload of a library.

    Args:
        variants: one a target; all have the same inputs, outputs and weights.
        model_digest: SHA-256 of the ONNX model.
        manifest_digest: SHA-256 of the manifest's bytes.
        weights_digest: SHA-256 of the weights section.
        producer: version of Nautilus.
        weights_file: the file that holds the weights in place of the payload.

    Raises:
        InternalError: the plan breaks a rule of its own.
    """
    _check_alike(variants)
    plan = variants[0].plan
    file = weights_file.name if weights_file else ""
    # Offsets have a fixed width, so the tables are as long with any offsets: once for the length, once for the bytes.
    sections, _ = _tables(variants, [[0] * len(v.images) for v in variants], producer, file)
    code_offsets, code = _code(variants, HEADER.size + len(_layout(sections)[1]))
    sections, text_offsets = _tables(variants, code_offsets, producer, file)
    places, tables = _layout(sections)
    weights_offset = HEADER.size + len(tables) + sum(map(len, code))
    total = weights_offset + (0 if weights_file else plan.weight_bytes) + len(TRAILER)
    header = bytearray(
        HEADER.pack(
            MAGIC,
            PAYLOAD_VERSION,
            HEADER.size,
            total,
            0,
            zlib.crc32(tables),
            HEADER.size + len(tables),
            *(number for place in places for number in place),
            len(weights_file.head) if weights_file else weights_offset,
            plan.weight_bytes,
            len(plan.inputs),
            len(plan.outputs),
            *text_offsets,
            int(weights_file is not None),
            weights_file.crc if weights_file else 0,
            model_digest,
            manifest_digest,
            hashlib.sha256(tables).digest(),
            weights_digest,
        )
    )
    struct.pack_into("<I", header, HEADER_CRC_OFFSET, zlib.crc32(header))
    pieces = (bytes(header), tables, *code, *(() if weights_file else weight_pieces(plan)), TRAILER)
    return Payload(pieces=pieces, bytes=total)


def _code(variants: Sequence[Variant], position: int) -> tuple[list[list[int]], list[bytes]]:
    """Return the offset of each variant's images, and the pieces of the section of code, which begins at POSITION."""
    offsets: list[list[int]] = [[] for _ in variants]
    code: list[bytes] = []
    for variant, own in zip(variants, offsets, strict=True):
        for image in variant.images:
            code += [_padding(position, ALIGNMENT_BYTES), image.data]
            own.append(position + len(code[-2]))
            position = own[-1] + len(image.data)
    code.append(_padding(position, ALIGNMENT_BYTES))
    return offsets, code


def _check_alike(variants: Sequence[Variant]) -> None:
    first = variants[0].plan
    for variant in variants[1:]:
        if (variant.plan.inputs, variant.plan.outputs) != (first.inputs, first.outputs):
            raise InternalError("the targets of one library differ in their inputs or outputs", where=variant.target.name)
        if variant.plan.limits != first.limits:
            raise InternalError("the targets of one library differ in what they count", where=variant.target.name)
        if variant.plan.weights is not first.weights and section_digest(variant.plan) != section_digest(first):
            raise InternalError("the targets of one library differ in their weights", where=variant.target.name)


def _tables(
    variants: Sequence[Variant], code_offsets: Sequence[Sequence[int]], producer: str, file: str
) -> tuple[tuple[bytes, ...], tuple[int, ...]]:
    """Return the tables, and the offsets of PRODUCER and the path FILE among the strings."""
    first = variants[0].plan
    tables = Tables(SizeTable([port.name for port in first.inputs]))
    for port in first.inputs:
        tables.add_port(port, len(first.inputs))
    for port in first.outputs:
        tables.add_port(port, 0)
    for check in first.checks:
        tables.sizes.check(check.text, check.value, check.low, check.high)
    for name, word, most in first.limits:
        tables.sizes.patches.append((Patched.LIMIT, tables.strings.add(name), most, word))
    for variant, offsets in zip(variants, code_offsets, strict=True):
        tables.add_variant(variant, offsets)
    places = (tables.strings.add(producer), tables.strings.add_path(file))
    return tables.sections(), places


def _layout(sections: Sequence[bytes]) -> tuple[list[tuple[int, int]], bytes]:
    """Return (offset, bytes) of each section behind the header, and their bytes."""
    places: list[tuple[int, int]] = []
    data = bytearray()
    for section in sections:
        places.append((HEADER.size + len(data), len(section)))
        data += section + _padding(len(section), 8)
    return places, bytes(data)


def _padding(position: int, align: int) -> bytes:
    return bytes(-position % align)

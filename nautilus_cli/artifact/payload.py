"""A model as the bytes that the host code walks; `templates/host/payload.h` describes the same layout for C.

    header | tables: variants, images, ports, dimensions, kernels, launches, words, strings, maps, symbols, sizes, patches, checks, steps,
             carries, elements | code | weights | trailer

Little endian; offsets count from the start of the payload. Weights may lie in a file beside the library instead (`weights_file.py`).
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from nautilus_cli.artifact.abi import DTYPE_CODES
from nautilus_cli.artifact.sizes import CHECK, PATCH, SIZE, SYMBOL, Patched, SizeTable
from nautilus_cli.artifact.weights_file import WeightsFile
from nautilus_cli.errors import InternalError
from nautilus_cli.ir.counts import ceiling
from nautilus_cli.ir.dims import is_symbolic, upper
from nautilus_cli.lowering.plan import ALIGNMENT_BYTES, Alternative, Kernel, Launch, Plan, Port
from nautilus_cli.lowering.program import MOST_DEPTH, Choice, Copy, HostRead, Launches, Refuse, Repeat, Step, Word, all_steps
from nautilus_cli.targets.base import Target

PAYLOAD_VERSION = 10
MAGIC = b"NAUTILUS"
TRAILER = b"NAUTEND\0"

HEADER = struct.Struct("<8sIIQIIQ34Q6I32s32s32s32s")
VARIANT = struct.Struct("<14IQ")
IMAGE = struct.Struct("<2Q2I")
PORT = struct.Struct("<4IQ2Iq")
KERNEL = struct.Struct("<6I")
MAP = struct.Struct("<4IQ5Q4Q5II")
LAUNCH = struct.Struct("<14I")
WORD = struct.Struct("<2IQ")
STEP = struct.Struct("<14Iq")
CARRY = struct.Struct("<8I")
ELEMENT = struct.Struct("<4I")

_HEADER_CRC_OFFSET = 24
_CUBIN, _EMULATED = 0, 1
OPEN = -1
"""In place of a dimension that is known only when the model runs."""

WORD_KINDS = {"input": 0, "output": 1, "arena": 2, "weights": 3, "status": 4, "integer": 5, "slot": 6, "host": 7}

MAP_ELEMENTS = {"f16": 6, "bf16": 9, "f32": 7, "tf32": 11}
"""CUtensorMapDataType. Source of these: templates/host/driver.h."""
MAP_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
"""CUtensorMapSwizzle, by bytes."""
MAP_RANK = 5
NONE = 0xFFFFFFFF
"""In place of a word: there is none. Source: PAYLOAD_NONE of templates/host/payload.h."""
_LAUNCHES, _COPY, _REFUSE, _READ, _IF, _LOOP = range(6)
_DEPENDENT = 1
"""LAUNCH_DEPENDENT of templates/host/payload.h: every kernel waits for the one before it by itself."""

Bytes = bytes | memoryview


class Image(Protocol):
    """A module of code as the driver loads it: a cubin, or the shared library of an emulated target."""

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the kernels in it."""
        ...

    @property
    def data(self) -> bytes:
        """Its bytes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variant:
    """A model for one target.

    Attributes:
        target: what it runs on.
        plan: kernels, launches and memory.
        symbols: name of each of the plan's kernels in the images.
        images: any number of cubins; one for an emulated target.
    """

    target: Target
    plan: Plan
    symbols: tuple[str, ...]
    images: tuple[Image, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Payload:
    """Bytes in pieces, so that weights are written from where they lie.

    Attributes:
        pieces: to be written one after another.
        bytes: their total length.
    """

    pieces: tuple[Bytes, ...]
    bytes: int


def weight_pieces(plan: Plan) -> Iterator[Bytes]:
    """Yield the weights section of a plan: arrays in place, zeros between them.

    Raises:
        InternalError: the weights overlap or pass the section's end.
    """
    position = 0
    for weight in plan.weights:
        if weight.offset < position:
            raise InternalError(f"weights overlap at byte {weight.offset}", where=", ".join(weight.tensors))
        if weight.offset > position:
            yield bytes(weight.offset - position)
        data = np.ascontiguousarray(weight.array).reshape(-1).view(np.uint8)
        if data.nbytes:
            yield data.data
        position = weight.offset + data.nbytes
    if position > plan.weight_bytes:
        raise InternalError(f"weights end at byte {position}, their section at {plan.weight_bytes}")
    if position < plan.weight_bytes:
        yield bytes(plan.weight_bytes - position)


def weights_digest(plan: Plan) -> bytes:
    """Return the SHA-256 of the weights section."""
    digest = hashlib.sha256()
    for piece in weight_pieces(plan):
        digest.update(piece)
    return digest.digest()


@dataclass(slots=True)
class _Strings:
    """Strings, each once, NUL-terminated."""

    data: bytearray = field(default_factory=bytearray)
    offsets: dict[str, int] = field(default_factory=dict)

    def add(self, text: str) -> int:
        """Return the offset of TEXT; what follows a NUL in it would be lost to C, so NULs become U+FFFD."""
        if text not in self.offsets:
            self.offsets[text] = len(self.data)
            self.data += text.replace("\0", "\ufffd").encode("utf-8", "replace") + b"\0"
        return self.offsets[text]


@dataclass(slots=True)
class _Tables:
    """The tables under construction; counts are those of rows so far."""

    sizes: SizeTable
    variants: list[bytes] = field(default_factory=list)
    images: list[bytes] = field(default_factory=list)
    ports: list[bytes] = field(default_factory=list)
    dims: list[int] = field(default_factory=list)
    kernels: list[bytes] = field(default_factory=list)
    launches: list[bytes] = field(default_factory=list)
    words: list[bytes] = field(default_factory=list)
    strings: _Strings = field(default_factory=_Strings)
    maps: list[bytes] = field(default_factory=list)
    steps: list[bytes] = field(default_factory=list)
    carries: list[bytes] = field(default_factory=list)
    elements: list[bytes] = field(default_factory=list)

    def add_port(self, port: Port, first_other: int) -> None:
        """Add an input or output; FIRST_OTHER is the number of the first port of the other kind."""
        size = ceiling(port.bytes)
        for number, dim in enumerate(port.shape):
            self.sizes.patch(Patched.DIMENSION, len(self.ports), number, ceiling(dim), is_always=is_symbolic(dim))
        for number, word in port.counted:
            self.sizes.patches.append((Patched.COUNT, len(self.ports), number, word))
        self.sizes.patch(Patched.BYTES, len(self.ports), 0, size)
        shared = (0, 0, 0) if port.shared is None else (first_other + port.shared.port + 1, port.shared.axis, port.shared.capacity)
        name, kind = self.strings.add(port.name), DTYPE_CODES[port.dtype.name]
        self.ports.append(PORT.pack(name, kind, len(port.shape), len(self.dims), upper(size), *shared))
        self.dims.extend(OPEN if is_symbolic(dim) else dim for dim in port.shape)

    def add_kernel(self, symbol: str, kernel: Kernel, image: int) -> None:
        row = (self.strings.add(symbol), kernel.geometry.smem_bytes, image, len(self.maps), len(kernel.maps), 0)
        self.kernels.append(KERNEL.pack(*row))
        for tensor in kernel.maps:
            rank = len(tensor.extents)
            if rank > MAP_RANK or (len(tensor.strides), len(tensor.box)) != (rank - 1, rank) or tensor.slot >= kernel.request.pointers:
                raise InternalError(f"a {kernel.request.family} kernel has the tensor map {tensor}, which cannot be")
            extents, box = ((*found, *(1,) * (MAP_RANK - rank)) for found in (tensor.extents, tensor.box))
            strides = (*tensor.strides, *(0,) * (MAP_RANK - rank))
            kind = (tensor.slot, MAP_ELEMENTS[tensor.element], rank, MAP_SWIZZLES[tensor.swizzle])
            for number, value in enumerate((*extents, *strides, tensor.offset)):
                self.sizes.patch(Patched.MAP, len(self.maps), number, value)
            self.maps.append(MAP.pack(*kind, upper(tensor.offset), *map(upper, extents), *map(upper, strides), *box, 0))

    def add_launches(self, plan: Plan, *, has_dependent_launch: bool) -> None:
        """Append the launches, and behind them what is launched in their place."""
        behind = len(plan.launches)
        blocks: list[dict[tuple[Word, ...], int]] = []  # where the words of each launch begin; most alternatives have the same ones
        for launch in plan.launches:
            blocks.append({launch.words: len(self.words)})
            for word in launch.words:
                self.add_word(plan, word)
            choice = (0, behind, len(launch.alternatives))
            self.add_launch(plan, launch, blocks[-1][launch.words], choice, has_dependent_launch=has_dependent_launch)
            behind += len(launch.alternatives)
        for launch, known in zip(plan.launches, blocks, strict=True):
            for other in launch.alternatives:
                if other.words not in known:
                    known[other.words] = len(self.words)
                    for word in other.words:
                        self.add_word(plan, word)
                choice = (self.sizes.add(other.condition), 0, 0)
                self.add_launch(plan, other, known[other.words], choice, has_dependent_launch=has_dependent_launch)

    def add_launch(
        self, plan: Plan, launch: Launch | Alternative, first_word: int, choice: tuple[int, int, int], *, has_dependent_launch: bool
    ) -> None:
        """Append a row. CHOICE is its condition, and where its alternatives begin and how many it has."""
        kernel = plan.kernels[launch.kernel]
        geometry = kernel.geometry
        wanted = kernel.request.pointers + kernel.request.scalars
        if len(launch.words) != wanted:
            raise InternalError(f"a launch of a {kernel.request.family} kernel has {len(launch.words)} words; the kernel takes {wanted}")
        grid = tuple(map(upper, geometry.grid))
        for number, blocks in enumerate(geometry.grid):
            self.sizes.patch(Patched.GRID, len(self.launches), number, blocks)
        is_loading = any(word.kind != "integer" for word in launch.words[kernel.request.pointers :])
        flags = _DEPENDENT if has_dependent_launch and geometry.starts_early and not is_loading else 0
        condition, alternatives, count = choice
        block = (geometry.threads, 1, 1, geometry.smem_bytes)
        words = (first_word, len(launch.words))
        self.launches.append(LAUNCH.pack(launch.kernel, *grid, *block, *words, flags, alternatives if count else 0, count, condition))

    def add_word(self, plan: Plan, word: Word) -> int:
        """Return the row of a word."""
        known = {"input": len(plan.inputs), "output": len(plan.outputs), "slot": plan.slots}
        if word.kind not in WORD_KINDS or word.index >= known.get(word.kind, word.index + 1):
            raise InternalError(f"the plan has the word {word}, which names nothing")
        self.sizes.patch(Patched.WORD, len(self.words), 0, word.value)
        self.words.append(WORD.pack(WORD_KINDS[word.kind], word.index, 0 if is_symbolic(word.value) else word.value % 2**64))
        return len(self.words) - 1

    def add_steps(self, plan: Plan, steps: Sequence[Step], depth: int = 0) -> None:
        """Append steps, each with what it holds behind it."""
        if depth > MOST_DEPTH:
            raise InternalError(f"steps are nested more than {MOST_DEPTH} deep")
        for step in steps:
            row = len(self.steps)
            self.steps.append(b"")
            name, launches, words, most = "", (0, 0), [NONE] * 3, 0
            rows, held = (len(self.carries), 0, len(self.elements), 0), [0, 0]
            branches: tuple[tuple[Step, ...], ...] = ()
            match step:
                case Launches():
                    kind, launches = _LAUNCHES, (step.first, step.count)
                case Copy():
                    kind = _COPY
                    words = [self.add_word(plan, word) for word in (step.to, step.source, Word(kind="integer", value=step.bytes))]
                case HostRead():
                    kind, name, launches, words[0] = (
                        _READ,
                        str(step.size),
                        (self.sizes.symbol(step.size), 0),
                        self.add_word(plan, step.source),
                    )
                case Refuse():
                    kind, name = _REFUSE, step.message
                case Choice():
                    kind, name, words[0], branches = _IF, step.name, self.add_word(plan, step.condition), step.branches
                case Repeat():
                    kind, name, most, branches = _LOOP, step.name, step.most, (step.body,)
                    words = [NONE if word is None else self.add_word(plan, word) for word in (step.trips, step.start, step.condition)]
                    rows = (len(self.carries), len(step.carries), len(self.elements), len(step.elements))
                    for carry in step.carries:
                        numbers = (Word(kind="integer", value=size) for size in (carry.bytes, carry.initial_bytes))
                        places = (carry.initial, carry.result, carry.spare, *numbers)
                        self.carries.append(CARRY.pack(carry.read, carry.write, *(self.add_word(plan, word) for word in places), 0))
                    for element in step.elements:
                        base, stride = self.add_word(plan, element.base), self.add_word(plan, Word(kind="integer", value=element.stride))
                        self.elements.append(ELEMENT.pack(element.slot, base, stride, 0))
            for number, branch in enumerate(branches):
                before = len(self.steps)
                self.add_steps(plan, branch, depth + 1)
                held[number] = len(self.steps) - before
            self.steps[row] = STEP.pack(kind, self.strings.add(name), *launches, *held, *words, *rows, 0, most)

    def add_variant(self, variant: Variant, code_offsets: Sequence[int]) -> None:
        plan, target = variant.plan, variant.target
        if len(variant.symbols) != len(plan.kernels):
            raise InternalError(f"{len(plan.kernels)} kernels have {len(variant.symbols)} symbols")
        if target.is_emulated and len(variant.images) != 1:
            raise InternalError(f"an emulated target has {len(variant.images)} images")
        image_of = {symbol: index for index, image in enumerate(variant.images) for symbol in image.symbols}
        if missing := [symbol for symbol in variant.symbols if symbol not in image_of]:
            raise InternalError(f"no image holds the kernels {', '.join(missing)}")
        row = VARIANT.pack(
            self.strings.add(target.name),
            _EMULATED if target.is_emulated else _CUBIN,
            *target.capability,
            int(target.exact),
            plan.slots,
            len(self.images),
            len(variant.images),
            len(self.kernels),
            len(plan.kernels),
            len(self.launches),
            len(plan.launches),
            len(self.steps),
            sum(1 for _ in all_steps(plan.steps)),
            upper(plan.arena_bytes),
        )
        self.sizes.patch(Patched.ARENA, len(self.variants), 0, plan.arena_bytes)
        self.variants.append(row)
        for image, offset in zip(variant.images, code_offsets, strict=True):
            self.images.append(IMAGE.pack(offset, len(image.data), zlib.crc32(image.data), 0))
        for symbol, kernel in zip(variant.symbols, plan.kernels, strict=True):
            self.add_kernel(symbol, kernel, image_of[symbol])
        self.add_launches(plan, has_dependent_launch=target.has_dependent_launch)
        self.add_steps(plan, plan.steps)

    def sections(self) -> tuple[bytes, ...]:
        """Return the tables in the order of the header, each padded to eight bytes behind it."""
        dims = struct.pack(f"<{len(self.dims)}q", *self.dims)
        symbols = [SYMBOL.pack(self.strings.add(s.name), *self.sizes.source(s), s.low, s.high, s.divisor) for s in self.sizes.symbols]
        sizes = [SIZE.pack(*row) for row in self.sizes.rows]
        patches = [PATCH.pack(*patch) for patch in self.sizes.patches]
        checks = [CHECK.pack(self.strings.add(text), *rows) for text, *rows in self.sizes.checks]
        strings = [bytes(self.strings.data)]
        plans = (self.variants, self.images, self.ports, [dims], self.kernels, self.launches, self.words)
        programs = (self.steps, self.carries, self.elements)
        return tuple(b"".join(rows) for rows in (*plans, strings, self.maps, symbols, sizes, patches, checks, *programs))


def _padding(position: int, align: int) -> bytes:
    return bytes(-position % align)


def _tables(
    variants: Sequence[Variant], code_offsets: Sequence[Sequence[int]], texts: Sequence[str]
) -> tuple[tuple[bytes, ...], tuple[int, ...]]:
    """Return the tables, and the offsets of TEXTS among the strings."""
    first = variants[0].plan
    tables = _Tables(SizeTable([port.name for port in first.inputs]))
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
    places = tuple(tables.strings.add(text) for text in texts)
    return tables.sections(), places


def _layout(sections: Sequence[bytes]) -> tuple[list[tuple[int, int]], bytes]:
    """Return (offset, bytes) of each section behind the header, and their bytes."""
    places: list[tuple[int, int]] = []
    data = bytearray()
    for section in sections:
        places.append((HEADER.size + len(data), len(section)))
        data += section + _padding(len(section), 8)
    return places, bytes(data)


def _check_alike(variants: Sequence[Variant]) -> None:
    first = variants[0].plan
    for variant in variants[1:]:
        if (variant.plan.inputs, variant.plan.outputs) != (first.inputs, first.outputs):
            raise InternalError("the targets of one library differ in their inputs or outputs", where=variant.target.name)
        if variant.plan.limits != first.limits:
            raise InternalError("the targets of one library differ in what they count", where=variant.target.name)
        if variant.plan.weights is not first.weights and weights_digest(variant.plan) != weights_digest(first):
            raise InternalError("the targets of one library differ in their weights", where=variant.target.name)


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
    texts = (producer, weights_file.name if weights_file else "")
    # Offsets have a fixed width, so the tables are as long with any offsets: once for the length, once for the bytes.
    sections, _ = _tables(variants, [[0] * len(v.images) for v in variants], texts)
    position = HEADER.size + len(_layout(sections)[1])
    code_offsets: list[list[int]] = [[] for _ in variants]
    code: list[bytes] = []
    for variant, offsets in zip(variants, code_offsets, strict=True):
        for image in variant.images:
            code += [_padding(position, ALIGNMENT_BYTES), image.data]
            offsets.append(position + len(code[-2]))
            position = offsets[-1] + len(image.data)
    code.append(_padding(position, ALIGNMENT_BYTES))
    position += len(code[-1])
    sections, text_offsets = _tables(variants, code_offsets, texts)
    places, tables = _layout(sections)
    total = position + (0 if weights_file else plan.weight_bytes) + len(TRAILER)
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
            len(weights_file.head) if weights_file else position,
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
    struct.pack_into("<I", header, _HEADER_CRC_OFFSET, zlib.crc32(header))
    pieces = (bytes(header), tables, *code, *(() if weights_file else weight_pieces(plan)), TRAILER)
    return Payload(pieces=pieces, bytes=total)

"""The tables of a payload under construction: rows of variants, ports, kernels, launches, words and steps."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from nautilus_cli.artifact import payload_layout as layout
from nautilus_cli.artifact.abi import DTYPE_CODES
from nautilus_cli.artifact.sizes import CHECK, PATCH, SIZE, SYMBOL, Patched, SizeTable
from nautilus_cli.artifact.variant import Variant
from nautilus_cli.errors import InternalError
from nautilus_cli.ir.counts import ceiling
from nautilus_cli.ir.dims import is_symbolic, upper
from nautilus_cli.lowering.plan import Alternative, Kernel, Launch, Plan, Port
from nautilus_cli.lowering.program import (
    MOST_DEPTH,
    Carry,
    Choice,
    Copy,
    HostRead,
    Launches,
    Refuse,
    Repeat,
    Step,
    Word,
    all_steps,
    held_by,
)


@dataclass(slots=True)
class _Strings:
    """Strings, each once, NUL-terminated."""

    data: bytearray = field(default_factory=bytearray)
    offsets: dict[bytes, int] = field(default_factory=dict)

    def add(self, text: str) -> int:
        """Return the offset of TEXT; what follows a NUL in it would be lost to C, so NULs become U+FFFD."""
        return self._add(text.replace("\0", "\ufffd").encode("utf-8", "replace"))

    def add_path(self, path: str) -> int:
        """Return the offset of a path, whose bytes are those of the file system, UTF-8 or not."""
        return self._add(os.fsencode(path))

    def _add(self, text: bytes) -> int:
        if text not in self.offsets:
            self.offsets[text] = len(self.data)
            self.data += text + b"\0"
        return self.offsets[text]


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepRow:
    """A step's numbers, without what it holds.

    Attributes:
        kind: of layout's kinds of steps.
        name: its node, the number that it reads, or what it says.
        launches: the first one and how many, or the number of the symbol that it reads.
        words: rows of words.
        rows: the first carry and how many, and the same of elements.
        most: iterations after which it is an error to go on.
    """

    kind: int = layout.LAUNCHES
    name: str = ""
    launches: tuple[int, int] = (0, 0)
    words: tuple[int, ...] = (layout.NONE,) * 3
    rows: tuple[int, int, int, int] = (0, 0, 0, 0)
    most: int = 0


@dataclass(slots=True)
class Tables:
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
        for number, dim in enumerate(port.shape):
            self.sizes.patch(Patched.DIMENSION, len(self.ports), number, ceiling(dim), is_always=is_symbolic(dim))
        for number, word in port.counted:
            self.sizes.patches.append((Patched.COUNT, len(self.ports), number, word))
        self.sizes.patch(Patched.BYTES, len(self.ports), 0, port.bytes)
        shared = (0, 0, 0) if port.shared is None else (first_other + port.shared.port + 1, port.shared.axis, port.shared.capacity)
        name, kind = self.strings.add(port.name), DTYPE_CODES[port.dtype.name]
        self.ports.append(layout.PORT.pack(name, kind, len(port.shape), len(self.dims), upper(port.bytes), *shared))
        self.dims.extend(layout.OPEN if is_symbolic(dim) else dim for dim in port.shape)

    def add_kernel(self, symbol: str, kernel: Kernel, image: int) -> None:
        """Append a kernel, with its tensor maps; IMAGE is the number of the image, among those of its variant, that holds SYMBOL."""
        row = (self.strings.add(symbol), kernel.geometry.smem_bytes, image, len(self.maps), len(kernel.maps), 0)
        self.kernels.append(layout.KERNEL.pack(*row))
        for tensor in kernel.maps:
            rank = len(tensor.extents)
            if (
                rank > layout.MAP_RANK
                or (len(tensor.strides), len(tensor.box)) != (rank - 1, rank)
                or tensor.slot >= kernel.request.pointers
            ):
                raise InternalError(f"a {kernel.request.family} kernel has the tensor map {tensor}, which cannot be")
            extents, box = ((*found, *(1,) * (layout.MAP_RANK - rank)) for found in (tensor.extents, tensor.box))
            strides = (*tensor.strides, *(0,) * (layout.MAP_RANK - rank))
            kind = (tensor.slot, layout.MAP_ELEMENTS[tensor.element], rank, layout.MAP_SWIZZLES[tensor.swizzle])
            for number, value in enumerate((*extents, *strides, tensor.offset)):
                self.sizes.patch(Patched.MAP, len(self.maps), number, value)
            self.maps.append(layout.MAP.pack(*kind, upper(tensor.offset), *map(upper, extents), *map(upper, strides), *box, 0))

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
        flags = layout.DEPENDENT if has_dependent_launch and geometry.starts_early and not is_loading else 0
        condition, alternatives, count = choice
        block = (geometry.threads, 1, 1, geometry.smem_bytes)
        words = (first_word, len(launch.words))
        self.launches.append(
            layout.LAUNCH.pack(launch.kernel, *grid, *block, *words, flags, alternatives if count else 0, count, condition)
        )

    def add_word(self, plan: Plan, word: Word) -> int:
        """Return the row of a word."""
        known = {"input": len(plan.inputs), "output": len(plan.outputs), "slot": plan.slots}
        if word.kind not in layout.WORD_KINDS or word.index >= known.get(word.kind, word.index + 1):
            raise InternalError(f"the plan has the word {word}, which names nothing")
        self.sizes.patch(Patched.WORD, len(self.words), 0, word.value)
        self.words.append(layout.WORD.pack(layout.WORD_KINDS[word.kind], word.index, 0 if is_symbolic(word.value) else word.value % 2**64))
        return len(self.words) - 1

    def add_steps(self, plan: Plan, steps: Sequence[Step], depth: int = 0) -> None:
        """Append steps, each with what it holds behind it."""
        if depth > MOST_DEPTH:
            raise InternalError(f"steps are nested more than {MOST_DEPTH} deep")
        for step in steps:
            place = len(self.steps)
            self.steps.append(b"")
            row = self._step(plan, step)
            held = [0, 0]
            for number, inner in enumerate(held_by(step)):
                before = len(self.steps)
                self.add_steps(plan, inner, depth + 1)
                held[number] = len(self.steps) - before
            name = self.strings.add(row.name)
            self.steps[place] = layout.STEP.pack(row.kind, name, *row.launches, *held, *row.words, *row.rows, 0, row.most)

    def _step(self, plan: Plan, step: Step) -> _StepRow:
        """Return a step without what it holds, and append what it refers to."""
        row = _StepRow(rows=(len(self.carries), 0, len(self.elements), 0))
        match step:
            case Launches():
                return replace(row, kind=layout.LAUNCHES, launches=(step.first, step.count))
            case Copy():
                size = Word(kind="integer", value=step.bytes)
                return replace(row, kind=layout.COPY, words=self._words(plan, step.to, step.source, size))
            case HostRead():
                launches, words = (self.sizes.symbol(step.size), 0), self._words(plan, step.source, None, None)
                return replace(row, kind=layout.READ, name=str(step.size), launches=launches, words=words)
            case Refuse():
                return replace(row, kind=layout.REFUSE, name=step.message)
            case Choice():
                return replace(row, kind=layout.IF, name=step.name, words=self._words(plan, step.condition, None, None))
            case Repeat():
                words = self._words(plan, step.trips, step.start, step.condition)
                rows = (len(self.carries), len(step.carries), len(self.elements), len(step.elements))
                for carry in step.carries:
                    self._add_carry(plan, carry)
                for element in step.elements:
                    base, stride = self._words(plan, element.base, Word(kind="integer", value=element.stride))
                    self.elements.append(layout.ELEMENT.pack(element.slot, base, stride, 0))
                return replace(row, kind=layout.LOOP, name=step.name, words=words, rows=rows, most=step.most)

    def _words(self, plan: Plan, *words: Word | None) -> tuple[int, ...]:
        """Return the rows of words, which are appended, and NONE in place of one that there is not."""
        return tuple(layout.NONE if word is None else self.add_word(plan, word) for word in words)

    def _add_carry(self, plan: Plan, carry: Carry) -> None:
        """Append what an iteration leaves to the next."""
        sizes = (Word(kind="integer", value=size) for size in (carry.bytes, carry.initial_bytes))
        words = self._words(plan, carry.initial, carry.result, carry.spare, *sizes)
        self.carries.append(layout.CARRY.pack(carry.read, carry.write, *words, 0))

    def add_variant(self, variant: Variant, code_offsets: Sequence[int]) -> None:
        """Append a variant, whose images lie at these offsets of the payload, and all that it refers to."""
        plan, target = variant.plan, variant.target
        if len(variant.symbols) != len(plan.kernels):
            raise InternalError(f"{len(plan.kernels)} kernels have {len(variant.symbols)} symbols")
        if target.is_emulated and len(variant.images) != 1:
            raise InternalError(f"an emulated target has {len(variant.images)} images")
        image_of = {symbol: index for index, image in enumerate(variant.images) for symbol in image.symbols}
        if missing := [symbol for symbol in variant.symbols if symbol not in image_of]:
            raise InternalError(f"no image holds the kernels {', '.join(missing)}")
        row = layout.VARIANT.pack(
            self.strings.add(target.name),
            layout.EMULATED if target.is_emulated else layout.CUBIN,
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
            self.images.append(layout.IMAGE.pack(offset, len(image.data), zlib.crc32(image.data), 0))
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

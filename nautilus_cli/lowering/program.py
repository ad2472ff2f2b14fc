"""The steps of a plan whose launches do not all run, or run more than once: what the host walks in place of a list of launches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One 64-bit word: of a kernel's argument block, or that a step names.

    Attributes:
        kind: `input`, `output`, `arena`, `weights`, `status`, `integer`, `slot`, or `host`: memory of the host that kernels write to.
        index: which input, output or slot.
        value: byte offset in the space, or the integer.
    """

    kind: str
    index: int = 0
    value: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Launches:
    """Some launches, one after another.

    Attributes:
        first: the first one's number.
        count: how many.
    """

    first: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A copy on the device, for pieces that lie where no kernel can write or read them: at an address that is not aligned.

    Attributes:
        to: where to.
        source: where from.
        bytes: how many.
    """

    to: Word
    source: Word
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Carry:
    """What an iteration leaves to the next one: they read and write by turns, so that nothing is copied in between.

    Attributes:
        read: slot of the address that an iteration reads.
        write: slot of the address that it writes.
        initial: where the first iteration reads.
        result: where it lies after the loop, and every other iteration writes.
        spare: where the other iterations write.
        bytes: its size, or what there is room for.
        initial_bytes: its size before the first iteration.
    """

    read: int
    write: int
    initial: Word
    result: Word
    spare: Word
    bytes: int
    initial_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """What each iteration reads or writes a piece of, one after another.

    Attributes:
        slot: of the piece's address.
        base: where the first one lies.
        stride: bytes to the next one; negative where they are taken from the end.
    """

    slot: int
    base: Word
    stride: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of two branches.

    Attributes:
        condition: where it lies, a byte, or the integer that it is.
        branches: where it holds, and where not.
        name: the ONNX node.
    """

    condition: Word
    branches: tuple[tuple[Step, ...], tuple[Step, ...]]
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """A loop.

    Attributes:
        trips: how many iterations there are at most: an integer, or where one of 8 bytes lies; None for any number.
        start: where the condition lies that is read before the first iteration; None where it holds.
        condition: where the condition lies that an iteration gives; None where it always holds.
        carries: what iterations leave to each other.
        elements: what they read and write pieces of.
        body: one iteration.
        most: iterations after which it is an error to go on.
        name: the ONNX node.
    """

    trips: Word | None
    start: Word | None
    condition: Word | None
    carries: tuple[Carry, ...]
    elements: tuple[Element, ...]
    body: tuple[Step, ...]
    most: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """The end of a run that takes a way for which there is no code.

    Attributes:
        message: what there is to say about it.
    """

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRead:
    """A wait for a number that a kernel gave: from there on, what is launched and where it lies follows from it.

    Attributes:
        size: the number, as expressions of sizes have it.
        source: where it lies, an int64.
    """

    size: int
    source: Word


Step = Launches | Copy | Choice | Repeat | Refuse | HostRead

MOST_DEPTH = 32
"""Steps within steps. Source: PAYLOAD_DEPTH of templates/host/payload.h, which bounds the recursion there."""


def held_by(step: Step) -> tuple[tuple[Step, ...], ...]:
    """Return the lists of steps that a step holds: two of a choice, one of a loop."""
    return step.branches if isinstance(step, Choice) else (step.body,) if isinstance(step, Repeat) else ()


def all_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Yield steps and those that they hold, in order."""
    for step in steps:
        yield step
        for inner in held_by(step):
            yield from all_steps(inner)

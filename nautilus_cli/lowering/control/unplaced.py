"""Steps of a plan before tensors have their places: each is made as soon as it is known where what it names lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nautilus_cli.ir.counts import room
from nautilus_cli.ir.graph import Value
from nautilus_cli.lowering.program import Carry, Copy, Element, HostRead, Refuse, Step, Word


@dataclass(frozen=True, slots=True)
class MovingAddress:
    """An address that moves while the plan runs."""

    number: int


Place = Value | MovingAddress
WordOf = Callable[[Place, int], Word]
"""From a place and how many bytes into it to the word that points there; known once every tensor has its place."""

Unplaced = Callable[[WordOf], Step]
"""A step, as soon as every tensor has its place."""


def read_step(value: Value, size: int) -> Unplaced:
    """Return the step in which the host waits for a number that VALUE holds."""
    return lambda word: HostRead(size=size, source=word(value, 0))


def refuse_step(message: str) -> Unplaced:
    """Return the step that ends a run."""
    return lambda _: Refuse(message=message)


def copy_step(to: Place, source: Place, piece: Value) -> Unplaced:
    """Return the step that copies a piece of a tensor."""
    return lambda word: Copy(to=word(to, 0), source=word(source, 0), bytes=room(piece.type.static, piece.type.dtype))


def carry_of(read: MovingAddress, write: MovingAddress, initial: Value, result: Value, spare: Value) -> Callable[[WordOf], Carry]:
    """Return what iterations leave to each other of a state, of which two places take turns."""
    return lambda word: Carry(
        read=read.number,
        write=write.number,
        initial=word(initial, 0),
        result=word(result, 0),
        spare=word(spare, 0),
        bytes=room(spare.type.static, spare.type.dtype),
        initial_bytes=room(initial.type.static, initial.type.dtype),
    )


def element_of(slot: MovingAddress, whole: Value, piece: Value, is_reverse: bool) -> Callable[[WordOf], Element]:
    """Return where the pieces of a tensor begin, and how far apart they lie."""
    size = piece.type.bytes
    if is_reverse:
        return lambda word: Element(slot=slot.number, base=word(whole, (whole.type.static[0] - 1) * size), stride=-size)
    return lambda word: Element(slot=slot.number, base=word(whole, 0), stride=size)

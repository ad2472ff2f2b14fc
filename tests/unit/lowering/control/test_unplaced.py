"""Steps that are made once every tensor has its place."""

from __future__ import annotations

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.lowering.control.unplaced import MovingAddress, Place, carry_of, copy_step, element_of, read_step, refuse_step
from nautilus_cli.lowering.program import Carry, Copy, Element, HostRead, Refuse, Word

STATE, RESULT, SPARE = (Value(TensorType(F32, (6,))) for _ in range(3))
WHOLE, PIECE, NUMBER = Value(TensorType(F32, (5, 2))), Value(TensorType(F32, (2,))), Value(TensorType(I64, ()))
PLACES = {id(STATE): 0, id(RESULT): 100, id(SPARE): 200, id(WHOLE): 300, id(NUMBER): 400}


def word(place: Place, offset: int) -> Word:
    """Return where a tensor lies in an arena, or what a slot points to."""
    if isinstance(place, MovingAddress):
        return Word(kind="slot", index=place.number, value=offset)
    return Word(kind="arena", value=PLACES[id(place)] + offset)


def test_a_number_is_read() -> None:
    assert read_step(NUMBER, 7)(word) == HostRead(size=7, source=Word(kind="arena", value=400))


def test_a_run_is_refused() -> None:
    assert refuse_step("no")(word) == Refuse(message="no")


def test_a_piece_is_copied_from_a_moving_address() -> None:
    copied = copy_step(STATE, MovingAddress(3), PIECE)(word)
    assert copied == Copy(to=Word(kind="arena", value=0), source=Word(kind="slot", index=3), bytes=8)


def test_two_places_take_turns() -> None:
    carried = carry_of(MovingAddress(0), MovingAddress(1), STATE, RESULT, SPARE)(word)
    initial, result, spare = (Word(kind="arena", value=place) for place in (0, 100, 200))
    assert carried == Carry(read=0, write=1, initial=initial, result=result, spare=spare, bytes=24, initial_bytes=24)


def test_pieces_lie_one_behind_another() -> None:
    found = element_of(MovingAddress(2), WHOLE, PIECE, is_reverse=False)(word)
    assert found == Element(slot=2, base=Word(kind="arena", value=300), stride=8)


def test_pieces_from_the_end() -> None:
    found = element_of(MovingAddress(2), WHOLE, PIECE, is_reverse=True)(word)
    assert found == Element(slot=2, base=Word(kind="arena", value=332), stride=-8)

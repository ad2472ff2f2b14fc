"""Plans with steps: what the host makes of them, and of tables that name what is not there."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.artifact import payload_tables
from nautilus_cli.artifact.elf import segments
from nautilus_cli.artifact.payload_layout import CARRY, ELEMENT, HEADER, LAUNCH, NONE, STEP, VARIANT, WORD
from nautilus_cli.errors import FileError, InternalError, NotServedError
from nautilus_cli.lowering.program import MOST_DEPTH, Carry, Choice, Copy, Element, Launches, Refuse, Repeat, Step, Word
from tests.support import fake_library

READ, WRITE, PIECE = range(3)

TRIPS = Word(kind="input", index=2)
"""The first of two numbers."""

STATE = Carry(
    read=READ,
    write=WRITE,
    initial=Word(kind="input", index=0),
    result=Word(kind="output", index=0),
    spare=Word(kind="arena", value=256),
    bytes=24,
    initial_bytes=24,
)


def loop(
    *body: Step, trips: Word | None = TRIPS, condition: Word | None = None, most: int = 100, elements: tuple[Element, ...] = ()
) -> Repeat:
    """A loop over one state, to which an iteration adds the second input."""
    return Repeat(
        trips=trips,
        start=None,
        condition=condition,
        carries=(STATE,),
        elements=elements,
        body=body or (Launches(first=0, count=1),),
        most=most,
        name="again",
    )


def written(path: Path, host: bytes, image: bytes, *steps: Step) -> Path:
    """A library whose one launch adds the second input to what the first slot says, and stores it where the second one says."""
    plan = fake_library.plan()
    words = (Word(kind="slot", index=READ), Word(kind="input", index=1), Word(kind="slot", index=WRITE), Word(kind="integer", value=6))
    launch = fake_library.Launch(kernel=0, words=words)
    changes = {"outputs": plan.outputs[:1], "launches": (launch,), "slots": 3, "steps": steps}
    return fake_library.write(path / "libmodel.so", host, fake_library.variant(image, **changes))


def ran(path: Path, count: int, second: int = 0) -> np.ndarray:
    with nautilus_cli.load(path) as library:
        x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((2, 3), 10, np.float32)
        return np.asarray(library({"x": x, "y.1": y, "index": np.array([count, second])})["sum"])


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_states_end_where_they_belong(tmp_path: Path, host: bytes, image: bytes, launch: str) -> None:
    path = written(tmp_path, host, image, loop())
    with nautilus_cli.load(path, launch=launch) as library:
        for count in (0, 1, 2, 3, 8, -5):
            x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((2, 3), 10, np.float32)
            found = library({"x": x, "y.1": y, "index": np.array([count, 0])})["sum"]
            np.testing.assert_array_equal(found, x + 10 * max(count, 0))


def test_a_condition_ends_a_loop(tmp_path: Path, host: bytes, image: bytes) -> None:
    """The first byte of the second number, which stays as it is: one iteration, or as many as there may be."""
    path = written(tmp_path, host, image, loop(condition=Word(kind="input", index=2, value=8)))
    assert ran(path, 7, 0)[0, 0] == 10
    assert ran(path, 7, 1)[0, 0] == 70


def test_a_loop_that_goes_on_is_an_error(tmp_path: Path, host: bytes, image: bytes) -> None:
    path = written(tmp_path, host, image, loop(most=5))
    assert ran(path, 5)[0, 0] == 50
    with pytest.raises(NotServedError, match="loop 'again' goes on after 5 iterations"):
        ran(path, 6)


def test_branches_copies_and_what_is_refused(tmp_path: Path, host: bytes, image: bytes) -> None:
    copy = Copy(to=Word(kind="output", index=0), source=Word(kind="input", index=1), bytes=24)
    choice = Choice(condition=TRIPS, branches=((copy,), (Refuse(message="there is no such way"),)), name="which")
    path = written(tmp_path, host, image, choice)
    np.testing.assert_array_equal(ran(path, 1), np.full((2, 3), 10))
    with pytest.raises(NotServedError, match="there is no such way"):
        ran(path, 0)


def test_pieces_lie_one_behind_the_other(tmp_path: Path, host: bytes, image: bytes) -> None:
    """Each iteration copies four bytes from the end of the second input to the next place of the result, here of the state."""
    element = Element(slot=PIECE, base=Word(kind="output", index=0), stride=4)
    copy = Copy(to=Word(kind="slot", index=PIECE), source=Word(kind="input", index=1, value=20), bytes=4)
    repeat = Repeat(trips=TRIPS, start=None, condition=None, carries=(), elements=(element,), body=(copy,), most=6, name="pieces")
    whole = Copy(to=Word(kind="output", index=0), source=Word(kind="input", index=0), bytes=24)
    path = written(tmp_path, host, image, whole, repeat)
    np.testing.assert_array_equal(ran(path, 4).ravel(), [10, 10, 10, 10, 4, 5])


def test_steps_too_deep_are_no_plan(tmp_path: Path, host: bytes, image: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    step: Step = Launches(first=0, count=1)
    for _ in range(MOST_DEPTH + 1):
        step = loop(step)
    with pytest.raises(InternalError, match="nested more than 32 deep"):
        written(tmp_path, host, image, step)
    monkeypatch.setattr(payload_tables, "MOST_DEPTH", 1000)
    with pytest.raises(FileError, match="a step of its plan is made of nothing"):
        nautilus_cli.load(written(tmp_path, host, image, step))


TABLES = {"variants": 0, "launches": 5, "words": 6, "steps": 13, "carries": 14, "elements": 15}
ROWS = {"variants": VARIANT, "launches": LAUNCH, "words": WORD, "steps": STEP, "carries": CARRY, "elements": ELEMENT}


def changed(path: Path, table: str, row: int, place: int, value: int) -> None:
    """Write another number into a table of a library, whose checksums are right again: what a hand that means harm would do."""
    data = bytearray(path.read_bytes())
    start = max((s for s in segments(bytes(data)) if s.is_load), key=lambda s: s.vaddr).offset
    header = list(HEADER.unpack_from(data, start))
    offset, size = header[7 + 2 * TABLES[table] :][:2]
    assert (row + 1) * ROWS[table].size <= size
    fields = list(ROWS[table].unpack_from(data, start + offset + row * ROWS[table].size))
    fields[place] = value
    ROWS[table].pack_into(data, start + offset + row * ROWS[table].size, *fields)
    header[5] = zlib.crc32(data[start + HEADER.size : start + header[6]])
    header[4] = 0
    HEADER.pack_into(data, start, *header)
    struct.pack_into("<I", data, start + 24, zlib.crc32(data[start : start + HEADER.size]))
    path.write_bytes(data)


FAR = 2**32 - 2
KIND, NAME, FIRST, COUNT, HELD, OTHER_HELD, WORDS, CARRIES, ELEMENTS, MOST = 0, 1, 2, 3, 4, 5, 6, 9, 11, 14


@pytest.mark.parametrize(
    ("table", "row", "place", "value"),
    [
        *(("steps", 1, place, FAR) for place in (KIND, NAME, FIRST, COUNT, HELD, OTHER_HELD)),
        *(("steps", 0, place, FAR) for place in (KIND, NAME, HELD, WORDS, WORDS + 1, WORDS + 2)),
        *(("steps", 0, place, FAR) for place in (CARRIES, CARRIES + 1, ELEMENTS, ELEMENTS + 1)),
        ("steps", 0, OTHER_HELD, 1),
        ("steps", 0, MOST, -1),
        ("steps", 1, HELD, 1),
        ("steps", 1, FIRST, 2),
        ("steps", 1, COUNT, 2),
        *(("steps", 2, WORDS + number, NONE) for number in range(3)),
        *(("carries", 0, place, FAR) for place in range(7)),
        ("carries", 0, 0, 3),
        *(("elements", 0, place, FAR) for place in range(3)),
        *(("variants", 0, place, FAR) for place in (5, 10, 11, 12, 13)),
        ("words", 0, 1, 3),
        ("words", 0, 0, 99),
    ],
)
def test_no_table_leads_out_of_the_plan(tmp_path: Path, host: bytes, image: bytes, table: str, row: int, place: int, value: int) -> None:
    element = Element(slot=PIECE, base=Word(kind="output", index=0), stride=4)
    copy = Copy(to=Word(kind="arena", value=0), source=Word(kind="slot", index=PIECE), bytes=4)
    path = written(tmp_path, host, image, loop(Launches(first=0, count=1), copy, elements=(element,)))
    assert ran(path, 2)[0, 0] == 20
    changed(path, table, row, place, value)
    with pytest.raises(
        FileError, match="is damaged: (a step of its plan is made of|an argument of a launch|the arguments of a launch|a launch)"
    ):
        nautilus_cli.load(path)

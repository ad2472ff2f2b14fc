"""Straight runs of launches in plans with steps: graphs, those of iterations by turns, and of open shapes a few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.types import F32
from nautilus_cli.lowering.plan import Launch, Port, Word
from nautilus_cli.lowering.program import Carry, Element, Launches, Repeat
from nautilus_cli.runtime.library import Library
from tests.support import fake_library

READ, WRITE, PIECE = range(3)
N = symbol("rows", 1, 20)
BODY = 2
"""Launches of an iteration: twice the second input is added."""


def written(path: Path, host: bytes, image: bytes, rows: int) -> Path:
    """state = x; as often as `index` says: state += y, twice, the first sum into a piece of `sums`; then the counters."""
    plan = fake_library.plan()
    elements, numbers = 6 * rows, Word(kind="integer", value=6 * rows)
    slots = [Word(kind="slot", index=number) for number in range(3)]
    addend = Word(kind="input", index=1)
    launches = (
        Launch(kernel=0, words=(slots[READ], addend, slots[PIECE], numbers)),
        Launch(kernel=0, words=(slots[PIECE], addend, slots[WRITE], numbers)),
        Launch(kernel=2, words=(Word(kind="output", index=2),)),
    )
    state = Carry(
        read=READ,
        write=WRITE,
        initial=Word(kind="input", index=0),
        result=Word(kind="output", index=0),
        spare=Word(kind="arena", value=0),
        bytes=elements * 4,
        initial_bytes=elements * 4,
    )
    repeat = Repeat(
        trips=Word(kind="input", index=2),
        start=None,
        condition=None,
        carries=(state,),
        elements=(Element(slot=PIECE, base=Word(kind="output", index=1), stride=elements * 4),),
        body=(Launches(first=0, count=BODY),),
        most=1000,
        name="again",
    )
    shape = (rows, 6)
    index, counters = plan.inputs[2], plan.outputs[2]
    changes = {
        "inputs": (*(replace(port, shape=shape) for port in plan.inputs[:2]), index),
        "outputs": (Port(name="sum", dtype=F32, shape=shape), Port(name="sums", dtype=F32, shape=(100, *shape)), counters),
        "launches": launches,
        "slots": 3,
        "steps": (repeat, Launches(first=BODY, count=1)),
        "arena_bytes": rows * 256,
    }
    return fake_library.write(path / "libmodel.so", host, fake_library.variant(image, **changes))


class Counted:
    """A library, and what the driver was asked for by each run."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.before = (0, 0, 0)

    def __call__(self, rows: int, count: int) -> tuple[int, ...]:
        """Run it, hold what it gives against what it should, and return graph launches, launches on streams and updates of nodes."""
        x, y = (np.arange(rows * 6, dtype=np.float32).reshape(rows, 6) * scale for scale in (1, 3))
        found = self.library({"x": x, "y.1": y, "index": np.array([count, 0])})
        np.testing.assert_array_equal(found["sum"], x + 2 * count * y)
        for number in range(count):
            np.testing.assert_array_equal(found["sums"][number], x + (2 * number + 1) * y)
        now = tuple(int(n) for n in found["counters"][1:])
        told = tuple(after - before for after, before in zip(now, self.before, strict=True))
        self.before = now  # type: ignore[assignment]
        return told


def test_iterations_are_two_graphs_by_turns(tmp_path: Path, host: bytes, image: bytes) -> None:
    """Of a plan whose sizes are fixed they are there from the beginning; each is given the addresses that move, and no more."""
    with nautilus_cli.load(written(tmp_path, host, image, 2)) as library:
        run = Counted(library)
        for count in (1, 2, 3, 7, 40):
            graphs, streams, updates = run(2, count)
            assert (graphs, streams) == (count, 1)
            assert updates <= BODY * count


def test_what_no_node_holds_is_all_that_it_is_given(tmp_path: Path, host: bytes, image: bytes) -> None:
    """Both launches of an iteration read or write a piece, which lies elsewhere in each; the first two lie where they did."""
    with nautilus_cli.load(written(tmp_path, host, image, 2)) as library:
        run = Counted(library)
        run(2, 2)
        assert run(2, 2)[2] == 0, "both graphs hold the addresses of their iteration still"
        assert run(2, 3)[2] == 3 * BODY


def test_launches_one_by_one_make_no_graph(tmp_path: Path, host: bytes, image: bytes) -> None:
    with nautilus_cli.load(written(tmp_path, host, image, 2), launch="stream") as library:
        assert Counted(library)(2, 5) == (0, 5 * BODY + 1, 0)


@pytest.fixture
def open_run(tmp_path: Path, host: bytes, image: bytes) -> Counted:
    return Counted(nautilus_cli.load(written(tmp_path, host, image, N)))


def test_the_second_run_of_a_shape_makes_the_graphs(open_run: Counted) -> None:
    """First runs go by graphs that the context has for all shapes, two by turns."""
    for _ in range(3):
        graphs, streams, updates = open_run(4, 2)
        assert (graphs, streams) == (2, 1)
    assert updates == 0, "the graphs of these shapes hold the addresses of their iteration"
    for _ in range(2):
        assert open_run(3, 2)[2] > 0
    assert open_run(4, 2) == (2, 1, 0), "a shape that was known before has its graphs still"


def test_a_long_loop_makes_them_in_the_first_run(open_run: Counted) -> None:
    """After eight iterations of either turn: the second run finds them, and gives them the addresses of its iterations only."""
    assert open_run(3, 40)[:2] == (40, 1)
    assert open_run(3, 40) == (40, 1, 40 * BODY)


def test_graphs_of_shapes_not_used_for_long_make_room(open_run: Counted) -> None:
    def all_shapes() -> Sequence[tuple[int, ...]]:
        return [open_run(rows, 2) for rows in range(1, 20) for _ in range(3)]

    for told in (all_shapes(), all_shapes()):
        assert [(graphs, streams) for graphs, streams, _ in told] == [(2, 1)] * len(told)
        assert [updates for _, _, updates in told][2::3] == [0] * 19, "the third run finds the graphs of the second"

"""Sizes that kernels give, in the host code: true shapes of outputs, what is copied of them, and tables that are damaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.artifact import payload_tables
from nautilus_cli.artifact.sizes import PATCH, Patched
from nautilus_cli.artifact.variant import Variant
from nautilus_cli.errors import DeviceError, FileError, NotServedError, UsageError
from nautilus_cli.ir.constructors import count, symbol
from nautilus_cli.lowering.plan import Word
from nautilus_cli.runtime.library import Library
from nautilus_cli.runtime.session import Session
from tests.support import fake_library
from tests.unit.runtime.test_open_shapes import Tampered

MOST = 2


def variant(image: bytes) -> Variant:
    """The fake model, whose first kernel writes x + y to the front of the arena: its first eight bytes say how many numbers are picked."""
    plain = fake_library.plan()
    front = {"arena": Word(kind="arena", value=0)}
    launches = [replace(launch, words=tuple(front.get(word.kind, word) for word in launch.words)) for launch in plain.launches]
    outputs = [replace(port, shape=(count("picks", MOST),), counted=((0, 0),)) if port.name == "picked" else port for port in plain.outputs]
    return fake_library.variant(image, launches=tuple(launches), outputs=tuple(outputs))


@pytest.fixture
def path(tmp_path: Path, host: bytes, image: bytes) -> Path:
    return fake_library.write(tmp_path / "libmodel.so", host, variant(image))


@pytest.fixture(params=["graph", "stream"])
def library(path: Path, request: pytest.FixtureRequest) -> Iterator[Library]:
    with nautilus_cli.load(path, launch=request.param) as loaded:
        yield loaded


def inputs(picks: int) -> dict[str, np.ndarray]:
    """Floats whose first two are the bits of a number."""
    x = np.zeros((2, 3), np.float32)
    x.reshape(-1)[:2] = np.array([picks], np.int64).view(np.float32)
    return {"x": x, "y.1": np.zeros((2, 3), np.float32), "index": np.array([5, 4])}


@pytest.mark.parametrize("picks", [0, 1, 2])
def test_outputs_have_the_shapes_that_came_out(library: Library, picks: int) -> None:
    for _ in range(3):
        found = library(inputs(picks))
        assert found["picked"].tolist() == [5.0, 4.0][:picks]
        assert found["sum"].shape == (2, 3)


def test_what_it_says_before_a_run(library: Library) -> None:
    assert [t.shape for t in library.outputs] == [(2, 3), (-1,), (4,), (4,)]
    assert [(t.shape, t.bytes) for t in library.model.outputs_for([(2, 3), (2, 3), (2,)])][1] == ((MOST,), 4 * MOST)
    assert not library.dimensions


def test_no_more_is_written_than_there_is(library: Library) -> None:
    room = np.full(MOST, 7, np.float32)
    found = library(inputs(1), out={"picked": room})
    assert found["picked"].tolist() == [5.0] and np.shares_memory(found["picked"], room)
    assert room.tolist() == [5.0, 7.0]


@pytest.mark.parametrize("picks", [MOST + 1, -1, 2**40])
def test_a_number_beyond_its_bound_is_an_error_and_the_next_run_is_right(library: Library, picks: int) -> None:
    with pytest.raises(DeviceError, match=f"output 'picked' has {picks} in dimension 0, which is at most {MOST}"):
        library(inputs(picks))
    assert library(inputs(2))["picked"].tolist() == [5.0, 4.0]


def test_runs_on_device_pointers_are_waited_for(library: Library) -> None:
    """On the emulator they are host memory."""
    context = library.model.create_context()
    given = {name: np.require(array, requirements="A") for name, array in inputs(1).items()}
    pointers, blocks = [], []
    for tensor in (*library.inputs, *library.model.outputs_for([(2, 3), (2, 3), (2,)])):
        block = library.model.allocate(max(tensor.bytes, 16))
        blocks.append(block)
        pointers.append(block)
        if tensor.name in given:
            library.model.copy(block, given[tensor.name].ctypes.data, tensor.bytes, 0, 0)
    context.run(pointers[:3], pointers[3:], 0)
    assert context.output_shapes([2, 1, 1, 1], 0) == ((2, 3), (1,), (4,), (4,))
    context.destroy()
    for block in blocks:
        library.model.free(block)


def test_a_session_gives_true_shapes(path: Path) -> None:
    with nautilus_cli.load(path) as library, Session(library) as session:
        assert session.feed(inputs(1))["picked"].tolist() == [5.0]


@pytest.mark.parametrize("row", [(Patched.COUNT, 0, 0, 0), (Patched.COUNT, 99, 0, 0), (Patched.COUNT, 4, 1, 0), (Patched.COUNT, 4, 0, 64)])
def test_a_count_that_is_not_there(
    tmp_path: Path, host: bytes, image: bytes, monkeypatch: pytest.MonkeyPatch, row: tuple[int, ...]
) -> None:
    """Of an input, of no port, of no dimension, beyond the arena."""
    monkeypatch.setattr(payload_tables, "PATCH", Tampered(PATCH, (Patched.COUNT,), row))
    path = fake_library.write(tmp_path / "libmodel.so", host, variant(image))
    with pytest.raises(FileError, match="has no place"):
        nautilus_cli.load(path)


ROWS = symbol("rows", 1, 2)


def limited(image: bytes) -> Variant:
    """An open model that gives a number of at most two, and whose workspace grows with its rows."""
    plain = variant(image).plan
    ports = {"x": (ROWS, 3), "y.1": (ROWS, 3), "sum": (ROWS, 3)}
    inputs, outputs = (
        tuple(replace(port, shape=ports.get(port.name, port.shape)) for port in found) for found in (plain.inputs, plain.outputs)
    )
    return fake_library.variant(
        image, launches=plain.launches, inputs=inputs, outputs=outputs, arena_bytes=256 + ROWS * 256, limits=(("found.count", 0, MOST),)
    )


def test_what_a_failed_run_counted_outlives_its_shapes(tmp_path: Path, host: bytes, image: bytes) -> None:
    """The workspace that holds it is freed with them, and nobody asked before; nor has anything run with the new shapes yet."""
    with nautilus_cli.load(fake_library.write(tmp_path / "libmodel.so", host, limited(image))) as library:
        context = library.model.create_context()
        given = inputs(MOST + 1) | {"index": np.array([99, 0])}
        blocks = [library.model.allocate(256) for _ in (*library.inputs, *library.outputs)]
        for tensor, block in zip(library.inputs, blocks, strict=False):
            library.model.copy(block, given[tensor.name].ctypes.data, given[tensor.name].nbytes, 0, 0)
        context.reshape([(1, 3), (1, 3), (2,)])
        context.run(blocks[:3], blocks[3:], 0)
        context.reshape([(2, 3), (2, 3), (2,)])
        with pytest.raises(NotServedError, match=f"'found.count' is {MOST + 1}; the library was compiled for at most {MOST}"):
            context.synchronize(0)
        with pytest.raises(UsageError, match="has not run since it was created or reshaped"):
            context.output_shapes([2, 1, 1, 1], 0)
        context.destroy()
        for block in blocks:
            library.model.free(block)

"""An output in the memory of an input: what a caller passes, what comes back, and tables that do not agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.artifact import payload_layout
from nautilus_cli.artifact.payload_layout import PORT
from nautilus_cli.artifact.variant import Variant
from nautilus_cli.errors import FileError, UsageError
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.lowering.plan import Shared
from nautilus_cli.runtime.library import Library
from nautilus_cli.runtime.session import Session
from tests.support import fake_library

SHARED = Shared(port=0, axis=0, capacity=2)


def variant(image: bytes) -> Variant:
    """The fake model, whose first output lies in its first input."""
    plain = fake_library.plan()
    inputs = (replace(plain.inputs[0], shared=SHARED), *plain.inputs[1:])
    outputs = (replace(plain.outputs[0], shared=SHARED), *plain.outputs[1:])
    return fake_library.variant(image, inputs=inputs, outputs=outputs)


@pytest.fixture
def library(tmp_path: Path, host: bytes, image: bytes) -> Iterator[Library]:
    with nautilus_cli.load(fake_library.write(tmp_path / "libmodel.so", host, variant(image))) as loaded:
        yield loaded


def inputs() -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    x, y = random.standard_normal((2, 2, 3)).astype(np.float32)
    return {"x": x, "y.1": y, "index": np.array([5, 0])}


def total(given: dict[str, np.ndarray]) -> np.ndarray:
    return (given["x"] + given["y.1"]) + fake_library.WEIGHTS


def test_the_library_says_what_shares_memory(library: Library) -> None:
    x, y, _ = library.inputs
    sum_, picked, *_ = library.outputs
    assert y.shared is None and picked.shared is None
    assert x.shared is not None and (x.shared.port, x.shared.axis, x.shared.capacity) == (0, 0, 2)
    assert sum_.shared is not None and (sum_.shared.port, sum_.shared.axis, sum_.shared.capacity) == (0, 0, 2)


def test_host_arrays_stay_as_they_are(library: Library) -> None:
    given = inputs()
    before = given["x"].copy()
    for _ in range(2):
        found = library(given)
        np.testing.assert_array_equal(found["sum"], total(given))
        np.testing.assert_array_equal(given["x"], before)
    mine = np.zeros((2, 3), np.float32)
    assert library(given, out={"sum": mine})["sum"] is mine
    np.testing.assert_array_equal(mine, total(given))


def test_a_session_runs_again_on_what_is_there(library: Library) -> None:
    given = inputs()
    with Session(library) as session:
        np.testing.assert_array_equal(session.feed(given)["sum"], total(given))


def test_one_pointer_for_both(library: Library) -> None:
    given = inputs()
    context = library.model.create_context(device_only=True)
    memory = [np.zeros(64, np.uint8) for _ in range(7)]
    places = [m.ctypes.data + -m.ctypes.data % 16 for m in memory]
    for place, array in zip(places, given.values(), strict=False):
        library.model.copy(place, array.ctypes.data, array.nbytes, 0, 0)
    counters, options, picked = places[3:6]
    with pytest.raises(UsageError, match=r"output 0, 'sum', lies at 0x\w+; it shares the memory of input 'x' at 0x\w+: pass that, or NULL"):
        context.run(places[:3], [places[6], picked, counters, options], 0)
    context.run(places[:3], [0, picked, counters, options], 0)
    found = np.zeros((2, 3), np.float32)
    library.model.copy(found.ctypes.data, places[0], found.nbytes, 1, 0)
    np.testing.assert_array_equal(found, total(given))
    context.run(places[:3], [places[0], picked, counters, options], 0)
    library.model.copy(found.ctypes.data, places[0], found.nbytes, 1, 0)
    np.testing.assert_array_equal(found, total({**given, "x": total(given)}))
    context.destroy()


class Tampered:
    """A row's format that writes the row of one tensor otherwise."""

    size = PORT.size

    def __init__(self, number: int, change: Callable[[list[int]], None]) -> None:
        self._number, self._change, self._rows = number, change, 0

    def pack(self, *row: Any) -> bytes:
        fields = list(row)
        if self._rows % 7 == self._number:
            self._change(fields)
        self._rows += 1
        return PORT.pack(*fields)


@pytest.mark.parametrize("number", [0, 3], ids=["input", "output"])
@pytest.mark.parametrize(
    ("field", "value"),
    [(5, 3), (5, 2), (5, 5), (5, 8), (5, 2**32 - 1), (6, 1), (6, 2), (7, 3), (7, 0), (7, -1), (2, 1), (1, 7), (4, 12), (4, 2**40)],
)
def test_tensors_that_do_not_agree_are_refused(
    tmp_path: Path, host: bytes, image: bytes, monkeypatch: pytest.MonkeyPatch, number: int, field: int, value: int
) -> None:
    monkeypatch.setattr(payload_layout, "PORT", Tampered(number, lambda row: row.__setitem__(field, value)))
    path = fake_library.write(tmp_path / "libmodel.so", host, variant(image))
    with pytest.raises(FileError, match="an input and an output of it do not share the same memory"):
        nautilus_cli.load(path)


def grown(image: bytes) -> Variant:
    """The same, of as many rows as the run has."""
    plain, rows = variant(image).plan, symbol("rows", 1, 2)
    shape = {"x": (rows, 3), "y.1": (rows, 3), "sum": (rows, 3)}
    inputs, outputs = (
        tuple(replace(port, shape=shape.get(port.name, port.shape)) for port in found) for found in (plain.inputs, plain.outputs)
    )
    return fake_library.variant(image, inputs=inputs, outputs=outputs)


def test_sizes_that_do_not_fit_the_memory_are_refused(tmp_path: Path, host: bytes, image: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of the table that makes an output longer than the memory that it is said to lie in."""
    rows = symbol("rows", 1, 2)
    found = grown(image)
    longer = replace(found.plan, outputs=(replace(found.plan.outputs[0], shape=(rows + 1, 3)), *found.plan.outputs[1:]))
    path = fake_library.write(tmp_path / "libmodel.so", host, replace(found, plan=longer))
    with nautilus_cli.load(path) as library:
        shapes = [(2, 3), (2, 3), (2,)]
        with pytest.raises(FileError, match="an output does not fit the input that it lies in"):
            library.model.outputs_for(shapes)
        assert library.model.outputs_for([(1, 3), (1, 3), (2,)])[0].shape == (2, 3)

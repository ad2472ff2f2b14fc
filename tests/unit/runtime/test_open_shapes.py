"""Open dimensions in the host code: shapes, memory, graphs, and tables that are not what they should be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.artifact import payload_layout, payload_tables
from nautilus_cli.artifact.payload_layout import LAUNCH
from nautilus_cli.artifact.sizes import PATCH, SIZE, Operation, Patched
from nautilus_cli.artifact.variant import Variant
from nautilus_cli.errors import DeviceError, FileError, UsageError
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.types import F32
from nautilus_cli.lowering.plan import Alternative, Port, Word
from nautilus_cli.runtime.library import Library
from tests.support import fake_library

N, M = symbol("rows", 1, 2), symbol("picks", 2, 20, 2)
COLUMNS = N + 2
"""Of every row: worked out from another dimension. Two rows of three are as many numbers as the weights have, one row of three is too."""


def variant(image: bytes) -> Variant:
    """The fake model, whose tensors have `rows` rows of three, and which picks `picks` numbers."""
    plain = fake_library.plan()
    count, picks = Word(kind="integer", value=N * 3), Word(kind="integer", value=M)
    numbers = {6: count, 2: picks}
    launches = [
        replace(launch, words=tuple(numbers[w.value] if w.kind == "integer" else w for w in launch.words)) for launch in plain.launches
    ]
    kernels = [replace(k, geometry=replace(k.geometry, grid=(N * 2, 1, 1))) for k in plain.kernels]
    ports = {"x": (N, 3), "y.1": (N, 3), "index": (M,), "sum": (N, 3), "picked": (M,)}
    inputs, outputs = (
        tuple(replace(port, shape=ports.get(port.name, port.shape)) for port in found) for found in (plain.inputs, plain.outputs)
    )
    extra = Port(name="unused", dtype=F32, shape=(COLUMNS,))
    return fake_library.variant(
        image,
        inputs=(*inputs, extra),
        outputs=outputs,
        kernels=tuple(kernels),
        launches=tuple(launches),
        arena_bytes=256 + N * 256,
    )


@pytest.fixture
def path(tmp_path: Path, host: bytes, image: bytes) -> Path:
    return fake_library.write(tmp_path / "libmodel.so", host, variant(image))


@pytest.fixture
def library(path: Path) -> Iterator[Library]:
    with nautilus_cli.load(path) as loaded:
        yield loaded


def inputs(rows: int, picks: int, **changes: np.ndarray) -> dict[str, np.ndarray]:
    x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
    given = {"x": x, "y.1": x * 10, "index": np.arange(picks) % (rows * 3), "unused": np.zeros(rows + 2, np.float32)}
    return given | {name.replace("_", "."): array for name, array in changes.items()}


def check(found: dict[str, np.ndarray], rows: int, picks: int) -> None:
    expected = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3) * 11 + fake_library.WEIGHTS.reshape(-1)[: rows * 3].reshape(rows, 3)
    np.testing.assert_array_equal(found["sum"], expected)
    np.testing.assert_array_equal(found["picked"], expected.reshape(-1)[np.arange(picks) % (rows * 3)])


def counters(found: dict[str, np.ndarray]) -> tuple[int, int, int]:
    """Graph launches, launches on streams, and updates of nodes so far, those of this very run not all included."""
    return tuple(int(n) for n in found["counters"][1:])  # type: ignore[return-value]


@pytest.mark.parametrize(("rows", "picks"), [(1, 2), (2, 20), (1, 20), (2, 6)])
def test_runs_at_every_size(library: Library, rows: int, picks: int) -> None:
    found = library(inputs(rows, picks))
    check(found, rows, picks)
    assert found["sum"].shape == (rows, 3) and found["picked"].shape == (picks,)


def test_what_it_says_of_itself(library: Library) -> None:
    assert [(d.name, d.low, d.high, d.divisor) for d in library.dimensions] == [("rows", 1, 2, 1), ("picks", 2, 20, 2)]
    assert [t.shape for t in library.inputs] == [(-1, 3), (-1, 3), (-1,), (-1,)]
    assert library.inputs[0].bytes == 24 and library.info.workspace_bytes == 768
    shapes = [(1, 3), (1, 3), (4,), (3,)]
    assert [(t.shape, t.bytes) for t in library.model.outputs_for(shapes)][:2] == [((1, 3), 12), ((4,), 16)]
    assert library.model.workspace_bytes_for(shapes) == 512


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (inputs(3, 2), "input 'x' has 3 in dimension 0, 'rows'; the library was compiled for 1 to 2"),
        (inputs(2, 2, y_1=np.zeros((1, 3), np.float32)), "input 'y.1' has 1 in dimension 0, 'rows'; input 'x' makes it 2"),
        (inputs(2, 3), "input 'index' has 3 in dimension 0, 'picks'; the library was compiled for 2 to 20 in multiples of 2"),
        (inputs(2, 22), "input 'index' has 22 in dimension 0, 'picks'; the library was compiled for 2 to 20"),
        (inputs(2, 0), "input 'index' has 0 in dimension 0, 'picks'"),
        (
            inputs(2, 4, unused=np.zeros(5, np.float32)),
            "input 'unused' has 5 in dimension 0; with these sizes of the other dimensions it takes 4",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_refused_and_the_next_run_is_right(library: Library, given: dict[str, np.ndarray], told: str) -> None:
    check(library(inputs(2, 4)), 2, 4)
    with pytest.raises(UsageError, match=told):
        library(given)
    check(library(inputs(2, 4)), 2, 4)


def test_a_first_run_goes_by_graphs_that_there_are_and_the_second_makes_one_that_later_ones_replay(library: Library) -> None:
    graphs, _, before = counters(library(inputs(1, 2)))
    assert graphs == 1, "five launches are one graph, which was made with the context"
    graphs, _, updates = counters(library(inputs(1, 2)))
    assert (graphs, updates) == (2, before), "the graph of these shapes is made as it shall be"
    graphs, _, updates = counters(library(inputs(1, 2)))
    assert (graphs, updates) == (3, before)
    _, _, changed = counters(library(inputs(2, 2)))
    assert changed > before, "the graph for first runs is brought up to the other shape"
    library(inputs(2, 2))
    graphs, streams, moved = counters(library(inputs(1, 2)))
    assert (graphs, streams) == (6, 0), "the shape that was known before has its graph still"
    assert counters(library(inputs(1, 2)))[2] == moved, "and its nodes hold what they shall"


def test_graphs_of_shapes_not_used_for_long_make_room(library: Library) -> None:
    sizes = [(rows, picks) for picks in range(2, 20, 2) for rows in (1, 2)]
    for _ in range(2):
        for rows, picks in sizes:  # eighteen shapes, each twice in a row
            check(library(inputs(rows, picks)), rows, picks)
            before = counters(library(inputs(rows, picks)))
            check(library(inputs(rows, picks)), rows, picks)
    graphs, streams, updates = counters(library(inputs(*sizes[-1])))
    assert (graphs, streams) == (2 * len(sizes) * 3 + 1, 0)
    assert updates == before[2] > 0, "a graph that made room was brought up to other shapes, not built anew"


@pytest.mark.parametrize("count", [0, 1, 6, 7, 8, 15, 16, 17, 40])
def test_launches_that_are_alike_share_a_graph_in_first_runs(tmp_path: Path, host: bytes, image: bytes, count: int) -> None:
    """Each adds once more, from one place of the arena to the next: a graph gets the arguments of eight launches after those of others."""
    whole = variant(image)
    first, second, *rest = whole.plan.launches
    numbers, addend = first.words[3], first.words[1]
    places = [Word(kind="arena", value=256 * (i + 1)) for i in range(count + 1)]
    more = [replace(first, words=(places[i], addend, places[i + 1], numbers)) for i in range(count)]
    last = replace(second, words=(places[count], *second.words[1:]))
    plan = replace(whole.plan, launches=(first, *more, last, *rest), arena_bytes=256 * (count + 2))
    with nautilus_cli.load(fake_library.write(tmp_path / "libmodel.so", host, replace(whole, plan=plan))) as library:
        seen = 0
        for rows, picks in [(1, 2), (2, 20), (1, 8)]:
            found = library(inputs(rows, picks))
            x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
            expected = x * (11 + 10 * count) + fake_library.WEIGHTS.reshape(-1)[: rows * 3].reshape(rows, 3)
            np.testing.assert_array_equal(found["sum"], expected)
            graphs, streams, _ = counters(found)
            assert streams == 0 and 1 <= graphs - seen <= 1 + (count + 5) // 8
            assert count < 16 or graphs - seen > 1
            seen = graphs


def test_launches_of_a_driver_that_gives_no_node_another_kernel(tmp_path: Path, host: bytes) -> None:
    """They are launched one by one in first runs, and have a graph made anew in second ones."""
    stubborn = fake_library.fake_image(tmp_path, flags=("-DFAKE_STUBBORN=1",))
    with nautilus_cli.load(fake_library.write(tmp_path / "libmodel.so", host, with_a_choice(stubborn))) as library:
        for picks in (2, 12, 4, 20, 10, 14, 6, 16, 8, 18):
            for run in range(3):
                before = counters(library(inputs(1, picks)))[1]
                found = library(inputs(2, picks))
                check_choice(found, 2, picks)
                is_refused = run == 0 and picks >= DOUBLED_FROM
                assert counters(found)[1] - before == (5 if is_refused else 0)


def test_a_run_that_a_launch_ended_is_waited_for_too(tmp_path: Path, host: bytes) -> None:
    """The next one, on another stream, writes to the same workspace."""
    image = fake_library.fake_image(tmp_path, flags=("-DFAKE_REFUSED=8",))
    with nautilus_cli.load(fake_library.write(tmp_path / "libmodel.so", host, variant(image)), launch="stream") as library:
        given = inputs(1, 2)
        check(library(given), 1, 2)
        with pytest.raises(DeviceError, match="fake_[a-z]*: FAKE"):
            library(given)
        with library.model.borrow_context() as context:
            ports = [(t, np.zeros(shape, t.dtype)) for t, shape in zip(library.outputs, ((1, 3), (2,), (4,), (4,)), strict=True)]
            arrays = [given[t.name] for t in library.inputs]
            context.run([a.ctypes.data for a in arrays], [a.ctypes.data for _, a in ports], 0)
            check({tensor.name: array for tensor, array in ports}, 1, 2)


def test_a_context_that_launches_one_by_one_makes_no_graph(path: Path) -> None:
    with nautilus_cli.load(path, launch="stream") as library:
        for _ in range(4):
            graphs, _, _ = counters(library(inputs(2, 8)))
        assert graphs == 0


@pytest.mark.parametrize("size", [0, 511, 767])
def test_a_workspace_of_the_caller_must_suffice(library: Library, size: int) -> None:
    place = np.zeros(2048, np.uint8)
    address = place.ctypes.data + -place.ctypes.data % 256
    shapes = [[(n, 3), (n, 3), (2,), (n + 2,)] for n in (1, 2)]
    if size < 512:
        with pytest.raises(UsageError, match=f"the workspace has {size} bytes; the model needs 512 for these shapes"):
            library.model.create_context(workspace=(address, size))
        return
    context = library.model.create_context(workspace=(address, size))
    context.reshape(shapes[0])
    with pytest.raises(UsageError, match="the workspace has 767 bytes; the model needs 768 for these shapes"):
        context.reshape(shapes[1])
    context.reshape(shapes[0])
    context.destroy()


DOUBLED_FROM = 12


def with_a_choice(image: bytes) -> Variant:
    """The fake model, in which from so many picks on another kernel, of another geometry, adds the sum to itself, not to the weights."""
    whole = variant(image)
    first, second, *rest = whole.plan.launches
    arena, count = second.words[0], second.words[3]
    other = Alternative(condition=DOUBLED_FROM - M, kernel=len(whole.plan.kernels), words=(arena, arena, second.words[2], count))
    kernels = (*whole.plan.kernels, replace(whole.plan.kernels[0], geometry=replace(whole.plan.kernels[0].geometry, threads=32)))
    plan = replace(whole.plan, kernels=kernels, launches=(first, replace(second, alternatives=(other,)), *rest))
    return replace(whole, plan=plan, symbols=(*whole.symbols, whole.symbols[0]))


def check_choice(found: dict[str, np.ndarray], rows: int, picks: int) -> None:
    given = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3) * 11
    added = given if picks >= DOUBLED_FROM else fake_library.WEIGHTS.reshape(-1)[: rows * 3].reshape(rows, 3)
    np.testing.assert_array_equal(found["sum"], given + added)


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_what_is_launched_goes_by_the_sizes(tmp_path: Path, host: bytes, image: bytes, launch: str) -> None:
    path = fake_library.write(tmp_path / "libmodel.so", host, with_a_choice(image))
    sizes = [(rows, picks) for picks in (2, 12, 4, 20, 10, 14, 6, 16, 8, 18) for rows in (1, 2)]
    with nautilus_cli.load(path, launch=launch) as library:
        for _ in range(2):  # more shapes than a context keeps graphs of: their nodes get the other kernel, and the first one again
            for rows, picks in sizes:
                for _ in range(3):
                    check_choice(library(inputs(rows, picks)), rows, picks)


@pytest.mark.parametrize(
    ("kernel", "changes"),
    [
        (0, {11: 2**31}),  # alternatives that begin nowhere
        (0, {11: 3}),  # or among the launches
        (0, {12: 2**31}),  # more than there are
        (4, {13: 2**31}),  # a condition that is no row
        (4, {0: 99}),  # a kernel that there is not
        (4, {8: 2**31}),  # words that there are not
        (4, {9: 2**31}),
    ],
)
def test_alternatives_that_name_what_is_not_there(
    tmp_path: Path, host: bytes, image: bytes, monkeypatch: pytest.MonkeyPatch, kernel: int, changes: dict[int, int]
) -> None:
    class Changed:
        size = LAUNCH.size

        def pack(self, *row: int) -> bytes:
            is_it = row[0] == kernel and row[12] == int(kernel == 0)  # the launch that has an alternative, or that one
            return LAUNCH.pack(*(changes.get(number, value) if is_it else value for number, value in enumerate(row)))

    monkeypatch.setattr(payload_layout, "LAUNCH", Changed())
    path = fake_library.write(tmp_path / "libmodel.so", host, with_a_choice(image))
    with pytest.raises(FileError, match="a launch of its plan names what is not there"):
        nautilus_cli.load(path)


class Tampered:
    """A row's format that writes one row otherwise."""

    def __init__(self, form: object, match: tuple[int, ...], row: tuple[int, ...]) -> None:
        self._form, self._match, self._row = form, match, row
        self.size = form.size  # type: ignore[attr-defined]

    def pack(self, *row: int) -> bytes:
        is_it = tuple(row[: len(self._match)]) == self._match
        return self._form.pack(*(self._row if is_it else row))  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize(
    ("table", "match", "row", "told"),
    [
        ("SIZE", (Operation.SYMBOL, 0), (9, 0, 0), "is made of nothing"),
        ("SIZE", (Operation.SYMBOL, 0), (Operation.SYMBOL, 7, 0), "is made of nothing"),
        ("SIZE", (Operation.MULTIPLY,), (Operation.MULTIPLY, 2**31, 0), "is made of nothing"),
        ("SIZE", (Operation.MULTIPLY,), (Operation.ADD, 0, -1), "is made of nothing"),
        ("SIZE", (Operation.MULTIPLY,), (Operation.ADD, 0, 2**40), "is made of nothing"),
        ("PATCH", (Patched.DIMENSION, 0), (Patched.DIMENSION, 99, 0, 0), "has no place"),
        ("PATCH", (Patched.DIMENSION, 0), (Patched.DIMENSION, 0, 2, 0), "has no place"),
        ("PATCH", (Patched.GRID, 0), (Patched.GRID, 0, 3, 0), "has no place"),
        ("PATCH", (Patched.WORD,), (Patched.WORD, 2**30, 0, 0), "has no place"),
        ("PATCH", (Patched.ARENA, 0), (77, 0, 0, 0), "has no place"),
        ("PATCH", (Patched.ARENA, 0), (Patched.ARENA, 0, 0, 2**31), "has no place"),
    ],
)
def test_tables_that_name_what_is_not_there(
    tmp_path: Path,
    host: bytes,
    image: bytes,
    monkeypatch: pytest.MonkeyPatch,
    table: str,
    match: tuple[int, ...],
    row: tuple[int, ...],
    told: str,
) -> None:
    monkeypatch.setattr(payload_tables, table, Tampered({"SIZE": SIZE, "PATCH": PATCH}[table], match, row))
    path = fake_library.write(tmp_path / "libmodel.so", host, variant(image))
    with pytest.raises(FileError, match=told):
        nautilus_cli.load(path)


@pytest.mark.parametrize(
    ("match", "row", "told"),
    [
        ((Operation.CONSTANT, 0, 12), (Operation.CONSTANT, 0, 2**63 - 1), "is above its bound"),
        ((Operation.CONSTANT, 0, 12), (Operation.CONSTANT, 0, -12), "is negative"),
    ],
)
def test_sizes_that_are_no_sizes(
    tmp_path: Path, host: bytes, image: bytes, monkeypatch: pytest.MonkeyPatch, match: tuple[int, ...], row: tuple[int, ...], told: str
) -> None:
    monkeypatch.setattr(payload_tables, "SIZE", Tampered(SIZE, match, row))
    path = fake_library.write(tmp_path / "libmodel.so", host, variant(image))
    with nautilus_cli.load(path) as library, pytest.raises(FileError, match=told):
        library(inputs(2, 2))

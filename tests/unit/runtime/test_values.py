"""Values of inputs that decide sizes, in the host code: what it reads, checks and refuses, and tables that are not what they should be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.artifact import payload_tables
from nautilus_cli.artifact.sizes import CHECK, SIZE, SYMBOL, Operation, Source
from nautilus_cli.artifact.variant import Variant
from nautilus_cli.errors import FileError, UsageError
from nautilus_cli.ir.constructors import element, rounded, symbol
from nautilus_cli.ir.dims import Element, FloatElement, FloatOperation
from nautilus_cli.ir.indicators import equal, less
from nautilus_cli.ir.requirement import Requirement
from nautilus_cli.ir.types import F32, I64, DType, dtype_of
from nautilus_cli.lowering.plan import Port, Word
from nautilus_cli.runtime.library import Library
from tests.support import fake_library
from tests.unit.runtime.test_open_shapes import Tampered

N = symbol("rows", 1, 2)
MANY = element(Element("many", 0), "many[0]", 0, 20)
KIND = element(Element("many", 1, saturates=True), "many[1]", -3, 3)
SCALED = rounded(FloatOperation("single", FloatOperation("multiply", N, FloatElement("scale", 0))), "floor", 1, 4, "rows times scale")
PICKS = MANY + less(KIND, 0) - equal(KIND, 2)
"""As many numbers are picked as `many` says; one more where its second element is negative, one fewer where that is 2."""


def variant(image: bytes, many: DType = I64, scale: DType = F32) -> Variant:
    """The fake model, whose tensors have `rows` rows of three, and which picks as many numbers as an input says."""
    plain = fake_library.plan()
    numbers = {6: Word(kind="integer", value=N * 3), 2: Word(kind="integer", value=PICKS)}
    launches = [
        replace(launch, words=tuple(numbers[w.value] if w.kind == "integer" else w for w in launch.words)) for launch in plain.launches
    ]
    ports = {"x": (N, 3), "y.1": (N, 3), "index": (21,), "sum": (N, 3), "picked": (PICKS,)}
    inputs, outputs = (
        tuple(replace(port, shape=ports.get(port.name, port.shape)) for port in found) for found in (plain.inputs, plain.outputs)
    )
    return fake_library.variant(
        image,
        inputs=(*inputs, Port(name="many", dtype=many, shape=(2,)), Port(name="scale", dtype=scale, shape=())),
        outputs=outputs,
        launches=tuple(launches),
        arena_bytes=256 + SCALED * 256,
        checks=(Requirement(value=PICKS, low=N, high=21, text="the number of picks"),),
    )


@pytest.fixture
def path(tmp_path: Path, host: bytes, image: bytes) -> Path:
    return fake_library.write(tmp_path / "libmodel.so", host, variant(image))


def inputs(rows: int, many: object, scale: object = np.float32(1)) -> dict[str, np.ndarray]:
    x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
    index = np.arange(21) % (rows * 3)
    given = many if isinstance(many, np.ndarray) else np.array(many, np.int64)
    return {"x": x, "y.1": x * 10, "index": index, "many": given, "scale": np.asarray(scale)}


def check(found: dict[str, np.ndarray], rows: int, picks: int) -> None:
    expected = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3) * 11 + fake_library.WEIGHTS.reshape(-1)[: rows * 3].reshape(rows, 3)
    np.testing.assert_array_equal(found["sum"], expected)
    np.testing.assert_array_equal(found["picked"], expected.reshape(-1)[np.arange(picks) % (rows * 3)])


def test_sizes_follow_from_values(path: Path) -> None:
    with nautilus_cli.load(path) as library:
        assert [t.read_elements for t in library.inputs] == [0, 0, 0, 2, 1] and [d.name for d in library.dimensions] == ["rows"]
        for rows, many, picks in ((1, (2, 0), 2), (2, (20, -1), 21), (1, (7, 2), 6), (2, (7, 2), 6), (2, (5, 1 << 40), 5)):
            for _ in range(3):  # the second run makes a graph
                check(library(inputs(rows, many)), rows, picks)


@pytest.mark.parametrize(
    ("many", "scale", "told"),
    [
        ((21, 0), 1, "input 'many' holds 21 in element 0; the library was compiled for 0 to 20 there"),
        ((-1, 0), 1, "input 'many' holds -1 in element 0; the library was compiled for 0 to 20 there"),
        (
            (1, 2),
            1,
            "the number of picks: 0, where 2 to 21 are right; input 'many' holds 1 in element 0, input 'many' holds 2 in element 1",
        ),
        ((4, 0), 0.49, "rows times scale: 0, where 1 to 4 are right"),
        ((4, 0), 2.5, "rows times scale: 5, where 1 to 4 are right"),
        ((4, 0), np.inf, "rows times scale: 9223372036854775807, where 1 to 4 are right"),
        ((4, 0), -np.inf, "rows times scale: -9223372036854775808, where 1 to 4 are right"),
        ((4, 0), np.nan, "input 'scale' holds nan in element 0"),
    ],
)
def test_values_that_do_not_fit_are_refused_and_the_next_run_is_right(path: Path, many: tuple[int, int], scale: float, told: str) -> None:
    with nautilus_cli.load(path) as library:
        check(library(inputs(2, (4, 0))), 2, 4)
        with pytest.raises(UsageError) as caught:
            library(inputs(2, many, np.float32(scale)))
        assert told in str(caught.value)
        check(library(inputs(2, (4, 0))), 2, 4)


INTEGERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_of_every_type(tmp_path: Path, host: bytes, image: bytes, kind: str) -> None:
    dtype = np.dtype(kind)
    path = fake_library.write(tmp_path / "libmodel.so", host, variant(image, many=dtype_of(dtype)))
    with nautilus_cli.load(path) as library:
        for many, picks in (((20, 0), 20), ((3, 2), 2), *((((5, -2), 6),) if dtype.kind == "i" else ())):
            check(library(inputs(1, np.array(many, dtype))), 1, picks)
        most = np.iinfo(dtype).max
        with pytest.raises(UsageError, match=f"input 'many' holds {min(most, 2**63 - 1)} in element 0"):
            library(inputs(1, np.array((most, 0), dtype)))


def test_a_flag_decides(tmp_path: Path, host: bytes, image: bytes) -> None:
    path = fake_library.write(tmp_path / "libmodel.so", host, variant(image, many=dtype_of(np.dtype(np.bool_))))
    with nautilus_cli.load(path) as library:
        check(library(inputs(1, np.array((True, False)))), 1, 1)


FRACTIONS = (1.0, 0.75, 1.3, 0.51, 1.9990234375, 2.0, 1.999)
FLOATS = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)


@pytest.mark.parametrize("kind", FLOATS)
def test_floats_of_every_type(tmp_path: Path, host: bytes, image: bytes, kind: type) -> None:
    dtype = np.dtype(kind)
    path = fake_library.write(tmp_path / "libmodel.so", host, variant(image, scale=dtype_of(dtype)))
    with nautilus_cli.load(path) as library:
        for scale in FRACTIONS:
            given = inputs(2, (4, 0), np.array(scale, dtype))
            addresses = [given[t.name].ctypes.data for t in library.inputs]
            shapes = [given[t.name].shape for t in library.inputs]
            wanted = int(np.floor(np.float32(2) * np.float32(given["scale"])))
            assert library.model.workspace_bytes_for(shapes, addresses) == 256 + 256 * wanted, scale


def test_the_least_numbers_of_sixteen_bits(tmp_path: Path, host: bytes, image: bytes) -> None:
    path = fake_library.write(tmp_path / "libmodel.so", host, variant(image, scale=dtype_of(np.dtype(np.float16))))
    with nautilus_cli.load(path) as library, pytest.raises(UsageError, match="rows times scale: 0"):
        library(inputs(2, (4, 0), np.array(6e-8, np.float16)))


class Run:
    """A run as a C program has it: a context, and addresses."""

    def __init__(self, library: Library, rows: int, many: tuple[int, int], scale: float = 1) -> None:
        self.arrays = inputs(rows, many, np.float32(scale))
        self.results = [np.zeros(size, dtype) for size, dtype in ((6, "f4"), (21, "f4"), (4, "i8"), (4, "i8"))]
        self.addresses = [self.arrays[t.name].ctypes.data for t in library.inputs], [r.ctypes.data for r in self.results]
        self.shapes = [self.arrays[t.name].shape for t in library.inputs]


def test_a_context_reads_the_values_of_each_run(path: Path) -> None:
    with nautilus_cli.load(path) as library:
        context = library.model.create_context()
        with pytest.raises(UsageError, match="values of inputs decide shapes: the context has none"):
            context.time_us(samples=1, runs=1, warmup=0)
        for rows, many, picks in ((1, (2, 0), 2), (2, (9, -1), 10), (2, (9, -1), 10), (1, (9, -1), 10)):
            run = Run(library, rows, many)
            context.reshape(run.shapes)
            for enqueue in (context.run_host, lambda *a: context.run(*a, 0)):
                for result in run.results:
                    result.fill(-1)
                enqueue(*run.addresses)
                assert context.output_shapes([2, 1, 1, 1], 0)[:2] == ((rows, 3), (picks,))
                check({"sum": run.results[0][: rows * 3].reshape(rows, 3), "picked": run.results[1][:picks]}, rows, picks)
                assert (run.results[1][picks:] == -1).all()
        assert context.time_us(samples=1, runs=1, warmup=0)[0] >= 0
        with pytest.raises(UsageError, match="input 'x' has 4 in dimension 1"):
            context.reshape([(1, 4), *run.shapes[1:]])
        context.run_host(*run.addresses)
        context.destroy()


def test_values_that_a_caller_gives_hold_for_the_runs_to_come(path: Path) -> None:
    with nautilus_cli.load(path) as library:
        context = library.model.create_context()
        given, other = Run(library, 2, (4, 0)), Run(library, 2, (9, 0))
        context.reshape(given.shapes, given.addresses[0])
        context.run(*other.addresses, 0)
        assert context.output_shapes([2, 1, 1, 1], 0)[1] == (4,)
        context.reshape(given.shapes)
        context.run(*other.addresses, 0)
        assert context.output_shapes([2, 1, 1, 1], 0)[1] == (9,)
        with pytest.raises(UsageError, match="input 3, 'many', decides shapes by its values, but they are not given"):
            library.model.outputs_for(given.shapes)
        with pytest.raises(UsageError, match="input 3, 'many', is NULL"):
            context.run([*other.addresses[0][:3], 0, 0], other.addresses[1], 0)
        context.destroy()


@pytest.mark.parametrize(
    ("table", "match", "row", "told"),
    [
        ("SYMBOL", (), (9, 3, 0), "a dimension of it has no sizes"),
        ("SYMBOL", (), (Source.ELEMENT, 99, 0), "a dimension of it has no sizes"),
        ("SYMBOL", (), (Source.ELEMENT, 3, 2), "a dimension of it has no sizes"),
        ("SYMBOL", (), (Source.ELEMENT, 0, 0), "a dimension of it has no sizes"),
        ("SIZE", (Operation.ELEMENT,), (Operation.ELEMENT, 5, 0), "is made of nothing"),
        ("SIZE", (Operation.ELEMENT,), (Operation.ELEMENT, 4, 1), "is made of nothing"),
        ("SIZE", (Operation.ELEMENT,), (Operation.ELEMENT, 4, -1), "is made of nothing"),
        ("SIZE", (Operation.FLOOR,), (Operation.FLOOR, 2**31, 0), "is made of nothing"),
        ("CHECK", (), (2**31, 0, 0, 0), "a check that it makes is of nothing"),
        ("CHECK", (), (0, 2**31, 0, 0), "a check that it makes is of nothing"),
        ("CHECK", (), (0, 0, 0, 2**31), "a check that it makes is of nothing"),
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
    form = {"SYMBOL": SYMBOL, "SIZE": SIZE, "CHECK": CHECK}[table]
    whole = (0, *row, 0, 1, 1) if table == "SYMBOL" else row
    monkeypatch.setattr(payload_tables, table, Tampered(form, match, whole))
    path = fake_library.write(tmp_path / "libmodel.so", host, variant(image))
    with pytest.raises(FileError, match=told):
        nautilus_cli.load(path)

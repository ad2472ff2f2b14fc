"""Cases of the scatter family."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from zlib import crc32

import numpy as np

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.index_map import IndexMap, from_strides, identity, regroup
from nautilus_cli.ir.types import BOOL, F16, F32, F64, I8, I32, I64, U32, DType
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.scatter import FAMILY, Problem, Schedule
from nautilus_cli.numerics import EXACT, derived
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases.data import random
from tests.emulated.harness import Case, output, with_open_sizes

ALONE = (
    Schedule(threads=32, group_threads=1, group_columns=1, rows=64, vector=1),
    Schedule(threads=16, group_threads=1, group_columns=1, rows=3, vector=1),
    Schedule(threads=64, group_threads=32, group_columns=1, rows=7, vector=1),
    Schedule(threads=96, group_threads=32, group_columns=1, rows=64, vector=1),
)
"""For columns with indices of their own."""

SHARED = (
    *ALONE,
    Schedule(threads=64, group_threads=32, group_columns=32, rows=5, vector=2),
    Schedule(threads=32, group_threads=32, group_columns=8, rows=16, vector=1),
    Schedule(threads=64, group_threads=32, group_columns=2, rows=33, vector=4),
    Schedule(threads=32, group_threads=1, group_columns=1, rows=9, vector=4),
)
"""For columns that share their indices."""

COMBINE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "assign": lambda _, update: update,
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def scattered(data: np.ndarray, destinations: np.ndarray, updates: np.ndarray, combine: str) -> np.ndarray:
    """Return data [rows, columns] with updates [updates, columns] applied in order; a destination of -1 is left out."""
    result = data.astype(np.float64) if data.dtype.kind == "f" else data.copy()
    columns = np.arange(data.shape[1])
    for destination, update in zip(destinations, updates, strict=True):
        kept = destination >= 0
        at = (destination[kept], columns[kept])
        with np.errstate(all="ignore"):
            result[at] = COMBINE[combine](result[at], update[kept])
    return result


def case(
    name: str,
    data: np.ndarray,
    storage: DType,
    element: IndexMap,
    updates: np.ndarray,
    update: IndexMap,
    indices: Sequence[tuple[np.ndarray, DType, IndexMap]],
    extents: Sequence[int],
    strides: Sequence[int],
    combine: str,
    schedule: Schedule,
    truth: np.ndarray,
    *,
    terms: int = 1,
    status: int = 0,
    is_shared: bool = False,
) -> Case:
    """Return a case: slots are the data, the updates, the index tensors, the result and the status word; TRUTH is [rows, columns]."""
    rows, columns = element.extents
    count, _ = update.extents
    read, added = Steps(), Steps()
    functors: list[tuple[str, Expression]] = [
        ("Data", read.expression(read.load(0, storage, element))),
        ("Update", added.expression(added.load(1, storage, update))),
    ]
    for number, (_, dtype, index_map) in enumerate(indices):
        index = Steps()
        functors.append((f"Index{number}", index.expression(index.load(2 + number, dtype, index_map))))
    epilogue, slot = Steps(), 2 + len(indices)
    epilogue.store(epilogue.parameter(0, storage.compute), slot, storage, element)
    functors.append(("Epilogue", epilogue.expression()))
    expected = np.empty(data.size, truth.dtype)
    expected[element.offsets()[0].reshape(-1)] = truth.reshape(-1)
    exact = combine in ("assign", "max", "min") or not storage.is_float
    problem = Problem(
        rows=rows,
        columns=columns,
        updates=count,
        extents=tuple(extents),
        strides=tuple(strides),
        combine=combine,
        is_shared=is_shared,
        is_row_contiguous=columns == 1,
        value=storage.compute,
    )
    return Case(
        name=name,
        request=KernelRequest(family="scatter", problem=problem, schedule=schedule, functors=tuple(functors), pointers=slot + 2),
        buffers=(data, updates, *(array for array, _, _ in indices), output(data.size, storage.numpy), np.zeros(1, np.uint32)),
        expected={slot: expected, slot + 1: np.array([status], np.uint32)},
        tolerances={slot: EXACT if exact else derived(expected, terms=terms, storage=storage)},
    )


def _fitting(schedule: Schedule, columns: int) -> Schedule:
    """Return the schedule with a vector that divides the columns."""
    vector = schedule.vector
    while columns % vector:
        vector //= 2
    return replace(schedule, vector=vector)


def _generator(name: str) -> np.random.Generator:
    return np.random.default_rng(crc32(name.encode()))


def _small(name: str, shape: Sequence[int], storage: DType) -> np.ndarray:
    """Data near one, so that products stay in range."""
    return (random(name, shape, F32) * 0.25 + 1).astype(storage.numpy) if storage.is_float else random(name, shape, storage)


def rows() -> list[Case]:
    """Whole rows, as ScatterND has them: edge sizes of rows, columns and updates, many updates of one row, every way to combine."""
    cases = []
    sizes = ((1, 1, 1), (5, 3, 7), (17, 64, 40), (64, 24, 33), (3, 130, 96), (200, 8, 65), (70, 1, 100))
    kinds = (
        ("sum", F32, I64),
        ("assign", F16, I64),
        ("prod", F32, I32),
        ("max", F16, I64),
        ("min", I64, I32),
        ("sum", I8, I64),
        ("sum", BOOL, I64),
    )
    for number, (extent, columns, count) in enumerate(sizes):
        for place, schedule in enumerate(SHARED):
            combine, storage, index_type = kinds[(number + place) % len(kinds)]
            name = f"rows-{combine}-{storage}-{extent}x{columns}-{count}-{place}"
            data, updates = _small(name, (extent, columns), storage), _small(name + "u", (count, columns), storage)
            indices = _generator(name).integers(-extent, extent, (count, 1)).astype(index_type.numpy)
            destinations = np.broadcast_to(indices.astype(np.int64) % extent, (count, columns))
            cases.append(
                case(
                    name,
                    data,
                    storage,
                    identity((extent, columns)),
                    updates,
                    identity((count, columns)),
                    [(indices, index_type, from_strides((count, columns), (1, 0)))],
                    [extent],
                    [1],
                    combine,
                    _fitting(schedule, columns),
                    scattered(data, destinations, updates, combine),
                    terms=count,
                    is_shared=True,
                )
            )
    return cases


def elements() -> list[Case]:
    """Single elements along an axis, as ScatterElements has them: every column has indices of its own."""
    cases = []
    for number, (before, extent, after, count) in enumerate(((1, 1, 1, 1), (2, 11, 7, 5), (3, 40, 1, 33), (1, 6, 40, 12), (2, 65, 3, 64))):
        for place, schedule in enumerate(ALONE):
            combine, storage = (("assign", F32), ("sum", F16), ("max", I32), ("prod", F64), ("min", F32), ("sum", I64))[
                (number + place) % 6
            ]
            name = f"elements-{combine}-{storage}-{before}x{extent}x{after}-{count}-{place}"
            data, updates = _small(name, (before, extent, after), storage), _small(name + "u", (before, count, after), storage)
            indices = _generator(name).integers(-extent, extent, (before, count, after))

            def by_column(size: int, *, before: int = before, after: int = after) -> IndexMap:
                return regroup(from_strides((size, before, after), (after, size * after, 1)), [[0], [1, 2]])

            def flat(array: np.ndarray) -> np.ndarray:
                return array.transpose(1, 0, 2).reshape(array.shape[1], -1)

            cases.append(
                case(
                    name,
                    data,
                    storage,
                    by_column(extent),
                    updates,
                    by_column(count),
                    [(indices, I64, by_column(count))],
                    [extent],
                    [1],
                    combine,
                    schedule,
                    scattered(flat(data), flat(indices) % extent, flat(updates), combine),
                    terms=count,
                )
            )
    return cases


def several_indices() -> list[Case]:
    """Two indices together name a row, one of them of data stored with another order of its dimensions."""
    cases = []
    data, updates = random("pairs", (4, 5, 8), F32), random("pairs-u", (9, 8), F32)
    pairs = _generator("pairs").integers(-4, 4, (9, 2))
    destinations = np.broadcast_to((pairs[:, :1] % 4) * 5 + pairs[:, 1:] % 5, (9, 8))
    stored = np.ascontiguousarray(data.transpose(1, 2, 0))
    for place, schedule in enumerate(SHARED):
        cases.append(
            case(
                f"several-indices-{place}",
                stored,
                F32,
                regroup(from_strides((4, 5, 8), (1, 32, 4)), [[0, 1], [2]]),
                updates,
                identity((9, 8)),
                [(pairs, I64, from_strides((9, 8), (2, 0), number)) for number in range(2)],
                [4, 5],
                [5, 1],
                "sum",
                _fitting(schedule, 8),
                scattered(data.reshape(20, 8), destinations, updates, "sum"),
                terms=9,
                is_shared=True,
            )
        )
    return cases


def out_of_range() -> list[Case]:
    """An update with an index outside is left out and the status says so; updates beside it are applied."""
    cases = []
    data, updates = random("outside", (6, 8), F16), random("outside-u", (4, 8), F16)
    for number, wrong in enumerate((6, -7, 2**40, -(2**62))):
        for place, schedule in enumerate(SHARED):
            indices = np.array([5, wrong, -6, 5], np.int64)
            destinations = np.broadcast_to(np.array([[5], [-1], [0], [5]]), (4, 8))
            cases.append(
                case(
                    f"out-of-range-{number}-{place}",
                    data,
                    F16,
                    identity((6, 8)),
                    updates,
                    identity((4, 8)),
                    [(indices, I64, from_strides((4, 8), (1, 0)))],
                    [6],
                    [1],
                    "sum",
                    _fitting(schedule, 8),
                    scattered(data, destinations, updates, "sum"),
                    terms=4,
                    status=1,
                    is_shared=True,
                )
            )
    return cases


def special_values() -> list[Case]:
    """NaN propagates through sums and extremes; the last of several updates wins even where it is NaN."""
    cases = []
    data = np.array([[1, np.nan, -np.inf, 0]], np.float32).T
    updates = np.array([[np.nan, 5, np.inf, 2, 7, np.nan]], np.float32).T
    destinations = np.array([[0, 1, 2, 3, 3, 3]]).T
    for combine in COMBINE:
        for place in (0, 2):
            cases.append(
                case(
                    f"special-{combine}-{place}",
                    data,
                    F32,
                    identity((4, 1)),
                    updates,
                    identity((6, 1)),
                    [(destinations, I64, identity((6, 1)))],
                    [4],
                    [1],
                    combine,
                    ALONE[place],
                    scattered(data, destinations, updates, combine),
                    terms=3,
                )
            )
    return cases


def fused() -> list[Case]:
    """Data, updates and indices that are computed while they are read, and an epilogue with a load of its own."""
    cases = []
    data, updates, bias = random("fused", (9, 4), F32), random("fused-u", (5, 4), F32), random("fused-b", (4,), F32)
    indices = np.array([1, 2, 4, 2, 0], np.int64)
    truth = (
        scattered(2 * data.astype(np.float64), np.broadcast_to((2 * indices)[:, None], (5, 4)), -updates.astype(np.float64), "sum") + bias
    )
    for place, schedule in enumerate(SHARED):
        read, added, index, end = Steps(), Steps(), Steps(), Steps()
        doubled = read.apply("mul", read.load(0, F32, identity((9, 4))), read.constant(2))
        negative = added.apply("mul", added.load(1, F32, identity((5, 4))), added.constant(-1))
        place_of = index.apply("mul", index.load(2, I64, from_strides((5, 4), (1, 0))), index.constant(2, I64), dtype=I64)
        end.store(end.apply("add", end.parameter(0), end.load(3, F32, from_strides((9, 4), (0, 1)))), 4, F32, identity((9, 4)))
        plain = case(
            f"fused-{place}",
            data,
            F32,
            identity((9, 4)),
            updates,
            identity((5, 4)),
            [(indices, I64, from_strides((5, 4), (1, 0)))],
            [9],
            [1],
            "sum",
            _fitting(schedule, 4),
            truth,
            terms=5,
            is_shared=True,
        )
        functors = (
            ("Data", read.expression(doubled)),
            ("Update", added.expression(negative)),
            ("Index0", index.expression(place_of)),
            ("Epilogue", end.expression()),
        )
        cases.append(
            replace(
                plain,
                request=replace(plain.request, functors=functors, pointers=6),
                buffers=(data, updates, indices, bias, output(36, np.float32), np.zeros(1, np.uint32)),
                expected={4: truth, 5: np.zeros(1, np.uint32)},
                tolerances={4: derived(truth, terms=5, depth=3, storage=F32)},
            )
        )
    return cases


def nothing() -> list[Case]:
    """No updates at all: a copy."""
    data = random("nothing", (7, 4), U32)
    return [
        case(
            f"no-updates-{place}",
            data,
            U32,
            identity((7, 4)),
            np.zeros(0, np.uint32),
            identity((0, 4)),
            [(np.zeros(0, np.int64), I64, from_strides((0, 4), (1, 0)))],
            [7],
            [1],
            "assign",
            _fitting(schedule, 4),
            data,
            is_shared=True,
        )
        for place, schedule in enumerate((SHARED[0], SHARED[4]))
    ]


def chosen() -> list[Case]:
    """The schedules that targets choose, on sizes of graph networks, caches and masks."""
    cases = []
    for name in ("emulated", "sm_90a"):
        for extent, columns, count in ((150, 33, 400), (1000, 1, 700), (33, 128, 1), (40, 256, 40)):
            label = f"chosen-{name}-{extent}x{columns}-{count}"
            data, updates = random(label, (extent, columns), F32), random(label + "u", (count, columns), F32)
            indices = _generator(label).integers(0, extent, (count,))
            problem = Problem(
                rows=extent,
                columns=columns,
                updates=count,
                extents=(extent,),
                strides=(1,),
                combine="sum",
                is_shared=True,
                is_row_contiguous=columns == 1,
                value=F32,
            )
            cases.append(
                case(
                    label,
                    data,
                    F32,
                    identity((extent, columns)),
                    updates,
                    identity((count, columns)),
                    [(indices, I64, from_strides((count, columns), (1, 0)))],
                    [extent],
                    [1],
                    "sum",
                    FAMILY.choose(problem, target(name)),
                    scattered(data, np.broadcast_to(indices[:, None], (count, columns)), updates, "sum"),
                    terms=32,
                    is_shared=True,
                )
            )
    return cases


def cases() -> list[Case]:
    """Return every case of the family."""
    opened = [with_open_sizes(one, "rows", "updates", "extents", "strides") for one in (*several_indices()[:4], *chosen())]
    return [*rows(), *elements(), *several_indices(), *out_of_range(), *special_values(), *fused(), *nothing(), *chosen(), *opened]

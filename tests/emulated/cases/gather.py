"""Cases of the gather family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.index_map import IndexMap, from_strides, identity, regroup
from nautilus_cli.ir.stages import row_major
from nautilus_cli.ir.types import BOOL, F16, F32, I32, I64, DType
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.gather import FAMILY, Problem, Schedule
from nautilus_cli.numerics import EXACT, Tolerance, derived
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases.data import random
from tests.emulated.harness import Case, output

SCHEDULES = (
    Schedule(threads=32, column_threads=1, vector=1),
    Schedule(threads=64, column_threads=8, vector=4),
    Schedule(threads=96, column_threads=32, vector=2),
    Schedule(threads=128, column_threads=128, vector=8),
)


def case(
    name: str,
    data: np.ndarray,
    storage: DType,
    base: IndexMap,
    indices: Sequence[tuple[np.ndarray, DType, IndexMap]],
    extents: Sequence[int],
    strides: Sequence[int],
    truth: np.ndarray,
    schedule: Schedule,
    *,
    status: int = 0,
    bias: np.ndarray | None = None,
    target_type: DType | None = None,
) -> Case:
    """Return a case: slots are the data, the index tensors, a bias by column if there is one, the result and the status word."""
    rows, columns = base.extents
    where = identity((rows, columns))
    target_type = target_type or storage
    read = Steps()
    functors: list[tuple[str, Expression]] = [("Base", read.expression(read.load(0, storage, base)))]
    for number, (_, dtype, index_map) in enumerate(indices):
        index = Steps()
        functors.append((f"Index{number}", index.expression(index.load(1 + number, dtype, index_map))))
    epilogue, slot = Steps(), 1 + len(indices)
    value = epilogue.parameter(0, storage.compute)
    extra = []
    if bias is not None:
        value = epilogue.apply("add", value, epilogue.load(slot, F32, from_strides((rows, columns), (0, 1))))
        extra, slot = [bias], slot + 1
    epilogue.store(value, slot, target_type, where)
    functors.append(("Epilogue", epilogue.expression()))
    tolerance: Tolerance = EXACT if bias is None else derived(truth, storage=target_type)
    return Case(
        name=name,
        request=KernelRequest(
            family="gather",
            problem=Problem(rows=rows, columns=columns, extents=tuple(extents), strides=tuple(strides), data=storage, data_slot=0),
            schedule=schedule,
            functors=tuple(functors),
            pointers=slot + 2,
        ),
        buffers=(data, *(array for array, _, _ in indices), *extra, output(rows * columns, target_type.numpy), np.zeros(1, np.uint32)),
        expected={slot: truth, slot + 1: np.array([status], np.uint32)},
        tolerances={slot: tolerance},
    )


def _fitting(schedule: Schedule, columns: int) -> Schedule:
    """Return the schedule with a vector that divides the columns."""
    vector = schedule.vector
    while columns % vector:
        vector //= 2
    return Schedule(threads=schedule.threads, column_threads=schedule.column_threads, vector=vector)


def embeddings() -> list[Case]:
    """Rows of a table, with a fused bias; negative indices count from the end; edge sizes of rows and columns."""
    cases = []
    sizes = ((1, 1), (7, 3), (31, 8), (33, 24), (5, 1031), (9, 4096))
    for number, (count, columns) in enumerate(sizes):
        for place, schedule in enumerate(SCHEDULES):
            storage, index_type = ((F32, I64), (F16, I32))[(number + place) % 2]
            name = f"embedding-{storage}-{index_type}-{count}x{columns}-{place}"
            table = random(name, (13, columns), storage)
            indices = (random(name + "i", (count,), I32) % 26 - 13).astype(index_type.numpy)
            bias = random(name + "b", (columns,), F32) if place % 2 else None
            truth = table[indices].astype(np.float64) + (0 if bias is None else bias.astype(np.float64))
            cases.append(
                case(
                    name,
                    table,
                    storage,
                    from_strides((count, columns), (0, 1)),
                    [(indices, index_type, identity((count,)))],
                    [13],
                    [columns],
                    truth if bias is not None else table[indices],
                    _fitting(schedule, columns),
                    bias=bias,
                )
            )
    return cases


def axes() -> list[Case]:
    """A gather in the middle, one along the last axis, single elements, and several indices together."""
    cases = []
    x = random("axes", (3, 5, 8), F32)
    picked = np.array([4, -1, 0, 2, 2, -5, 1], np.int64)
    outer, count, inner = 3, picked.size, 8
    for place, schedule in enumerate(SCHEDULES):
        cases.append(
            case(
                f"middle-{place}",
                x,
                F32,
                regroup(from_strides((outer, count, inner), (5 * inner, 0, 1)), [[0, 1], [2]]),
                [(picked, I64, regroup(from_strides((outer, count), (0, 1)), [[0, 1]]))],
                [5],
                [inner],
                x[:, picked],
                schedule,
            )
        )
    last = np.array([[7, -8], [0, 3]], np.int32)
    cases.append(
        case(
            "last",
            x,
            F32,
            regroup(from_strides((15, 4, 1), (8, 0, 0)), [[0, 1], [2]]),
            [(last, I32, regroup(from_strides((15, 4), (0, 1)), [[0, 1]]))],
            [8],
            [1],
            x[:, :, last],
            SCHEDULES[0],
        )
    )
    # GatherElements along axis 1.
    chosen = np.random.default_rng(5).integers(-5, 5, (3, 4, 8))
    strides = [0 if i == 1 else s for i, s in enumerate(row_major(x.shape))]
    cases.append(
        case(
            "elements",
            x,
            F32,
            regroup(from_strides((*chosen.shape, 1), (*strides, 0)), [[0, 1, 2], [3]]),
            [(chosen, I64, identity((chosen.size,)))],
            [5],
            [8],
            np.take_along_axis(x, chosen, axis=1),
            SCHEDULES[0],
        )
    )
    # GatherND with two indices, of data stored with another order of its dimensions.
    pairs = np.random.default_rng(6).integers(-3, 3, (6, 2))
    stored = np.ascontiguousarray(x.transpose(1, 0, 2))
    cases.append(
        case(
            "several-indices",
            stored,
            F32,
            from_strides((6, 8), (0, 1)),
            [(pairs, I64, from_strides((6,), (2,), number)) for number in range(2)],
            [3, 5],
            [8, 24],
            x[pairs[:, 0], pairs[:, 1]],
            SCHEDULES[1],
        )
    )
    flags = random("flags", (9, 4), BOOL)
    rows = np.array([8, 0, -9], np.int64)
    cases.append(
        case(
            "booleans",
            flags,
            BOOL,
            from_strides((3, 4), (0, 1)),
            [(rows, I64, identity((3,)))],
            [9],
            [4],
            flags[rows],
            SCHEDULES[2],
        )
    )
    # A stride that no vector divides: loads fall back to what it allows.
    odd = random("odd", (4, 11), F32)
    starts = np.array([3, 0, 2], np.int64)
    cases.append(
        case(
            "odd-stride",
            odd,
            F32,
            from_strides((3, 8), (0, 1)),
            [(starts, I64, identity((3,)))],
            [4],
            [11],
            odd[starts, :8],
            SCHEDULES[1],
        )
    )
    return cases


def out_of_range() -> list[Case]:
    """An index outside its extent gives zeros and the status, and never another row's data, however far it is outside."""
    cases = []
    table = random("range", (6, 8), F16)
    for place, schedule in enumerate(SCHEDULES):
        for number, wrong in enumerate((6, -7, 2**40, -(2**62))):
            indices = np.array([5, wrong, -6], np.int64)
            truth = np.stack([table[5], np.zeros(8, np.float16), table[0]])
            cases.append(
                case(
                    f"out-of-range-{number}-{place}",
                    table,
                    F16,
                    from_strides((3, 8), (0, 1)),
                    [(indices, I64, identity((3,)))],
                    [6],
                    [8],
                    truth,
                    schedule,
                    status=1,
                )
            )
    # Of two indices one is wrong, and together they would still fall inside the data.
    pairs = np.array([[0, 9], [1, 1], [-5, 4]], np.int64)
    x = random("pairs", (4, 5), F32)
    cases.append(
        case(
            "out-of-range-inside-the-data",
            x,
            F32,
            from_strides((3, 1), (0, 0)),
            [(pairs, I64, from_strides((3,), (2,), number)) for number in range(2)],
            [4, 5],
            [5, 1],
            np.array([0, x[1, 1], 0], np.float32),
            SCHEDULES[0],
            status=1,
        )
    )
    empty = case(
        "out-of-range-of-nothing",
        np.zeros(0, np.float32),
        F32,
        from_strides((2, 4), (0, 1)),
        [(np.array([0, -1]), I64, identity((2,)))],
        [0],
        [4],
        np.zeros(8, np.float32),
        SCHEDULES[1],
        status=1,
    )
    return [*cases, empty]


def computed_indices() -> list[Case]:
    """An index that is computed while it is read."""
    x = random("computed", (10, 4), F32)
    a = np.array([1, 2, 3], np.int64)
    built = case("computed-index", x, F32, from_strides((3, 4), (0, 1)), [(a, I64, identity((3,)))], [10], [4], x[2 * a - 3], SCHEDULES[1])
    index = Steps()
    read = index.load(1, I64, identity((3,)))
    doubled = index.apply("mul", read, index.constant(2, I64), dtype=I64)
    result = index.apply("sub", doubled, index.constant(3, I64), dtype=I64)
    functors = {**dict(built.request.functors), "Index0": index.expression(result)}
    return [replace(built, request=replace(built.request, functors=tuple(functors.items())))]


def chosen() -> list[Case]:
    """The schedules that targets choose."""
    cases = []
    for name in ("emulated", "sm_90a"):
        for count, columns in ((128, 768), (3, 5000), (700, 1), (12, 9)):
            data = random(f"{count}x{columns}", (7, columns), F32)
            indices = np.arange(count, dtype=np.int64) % 7
            problem = Problem(rows=count, columns=columns, extents=(7,), strides=(columns,), data=F32, data_slot=0)
            schedule = FAMILY.choose(problem, target(name))
            cases.append(
                case(
                    f"chosen-{name}-{count}x{columns}",
                    data,
                    F32,
                    from_strides((count, columns), (0, 1)),
                    [(indices, I64, identity((count,)))],
                    [7],
                    [columns],
                    data[indices],
                    schedule,
                )
            )
    return cases


def cases() -> list[Case]:
    """Return every case of the family."""
    return [*embeddings(), *axes(), *out_of_range(), *computed_indices(), *chosen()]

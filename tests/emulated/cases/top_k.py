"""Cases of the top-k family."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.index_map import IndexMap, from_strides, identity
from nautilus_cli.ir.types import F16, F32, F64, I8, I64, U32, U64, DType
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.top_k import FAMILY, Problem, Schedule
from nautilus_cli.numerics import EXACT, derived
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases.data import random
from tests.emulated.harness import Case, output, with_open_sizes


def _ranked(threads: int, row_threads: int, items: int, tile: int) -> Schedule:
    return Schedule(threads=threads, row_threads=row_threads, items=items, tile=tile, is_selected=False)


def _selected(threads: int, row_threads: int) -> Schedule:
    return Schedule(threads=threads, row_threads=row_threads, items=1, tile=1, is_selected=True)


SCHEDULES = (
    _ranked(8, 1, 4, 16),
    _ranked(64, 8, 2, 8),
    _ranked(64, 32, 1, 64),
    _ranked(64, 64, 1, 50),
    _selected(4, 1),
    _selected(64, 32),
    _selected(128, 128),
)


def first(x: np.ndarray, count: int, *, is_largest: bool) -> np.ndarray:
    """Return the places of the first elements of each row: NaN greater than all, equal ones by place."""
    wide = x.astype(np.float64) if x.dtype.kind == "f" else x
    order = np.empty((x.shape[0], count), np.int64)
    for row, values in enumerate(wide.tolist()):
        sign = -1 if is_largest else 1
        keys = [(sign * (value != value), 0 if value != value else sign * value, place) for place, value in enumerate(values)]
        order[row] = [place for _, _, place in sorted(keys)[:count]]
    return order


def case(
    name: str,
    x: np.ndarray,
    storage: DType,
    walk: IndexMap,
    result: IndexMap,
    schedule: Schedule,
    truth: np.ndarray,
    values: np.ndarray,
    *,
    is_largest: bool = True,
    bias: np.ndarray | None = None,
) -> Case:
    """Return a case: slots are the operand, a bias by row if there is one, the values and the indices; TRUTH is [rows, count]."""
    rows, columns = walk.extents
    _, count = result.extents
    read, end = Steps(), Steps()
    element = read.load(0, storage, walk)
    value, slot, extra = end.parameter(0, storage.compute), 1, []
    if bias is not None:
        element = read.apply("mul", element, read.constant(-1))
        value = end.apply("add", value, end.load(1, F32, from_strides((rows, count), (1, 0))))
        slot, extra = 2, [bias]
    end.store(value, slot, storage, result)
    end.store(end.parameter(1, I64), slot + 1, I64, result)
    places, expected = np.empty(truth.size, np.int64), np.empty(truth.size, values.dtype)
    places[result.offsets()[0].reshape(-1)] = truth.reshape(-1)
    expected[result.offsets()[0].reshape(-1)] = values.reshape(-1)
    return Case(
        name=name,
        request=KernelRequest(
            family="top_k",
            problem=Problem(rows=rows, columns=columns, count=count, is_largest=is_largest, value=storage.compute),
            schedule=schedule,
            functors=(("X", read.expression(element)), ("Epilogue", end.expression())),
            pointers=slot + 2,
        ),
        buffers=(x, *extra, output(truth.size, storage.numpy), output(truth.size, np.int64)),
        expected={slot: expected, slot + 1: places},
        tolerances={slot: EXACT if bias is None else derived(expected, storage=storage)},
    )


def _plain(name: str, x: np.ndarray, storage: DType, count: int, schedule: Schedule, *, is_largest: bool) -> Case:
    truth = first(x, count, is_largest=is_largest)
    values = np.take_along_axis(x, truth, 1)
    return case(name, x, storage, identity(x.shape), identity((x.shape[0], count)), schedule, truth, values, is_largest=is_largest)


def sizes() -> list[Case]:
    """Edge sizes of rows and results, with many equal values: every way to share a row, all kinds of types, both orders."""
    cases = []
    kinds = (F32, F16, I64, U64, F64, I8, U32)
    for place, schedule in enumerate(SCHEDULES):
        rows = schedule.threads // schedule.row_threads + 1  # the second block has one row
        for number, (columns, count) in enumerate(((1, 1), (7, 7), (16, 3), (63, 1), (64, 64), (65, 20), (300, 17))):
            storage, is_largest = kinds[(number + place) % len(kinds)], (number + place) % 2 == 0
            name = f"{'largest' if is_largest else 'smallest'}-{storage}-{count}-of-{columns}-{place}"
            x = random(name, (rows, columns), storage)
            x[0] = x[0, :1]
            if columns > 3:
                x[1, columns // 2 :] = x[1, : columns - columns // 2]
            cases.append(_plain(name, x, storage, count, schedule, is_largest=is_largest))
    return cases


def special_values() -> list[Case]:
    """NaN is greater than infinity, whatever its sign; zeros of either sign are equal, and keep their signs."""
    cases = []
    x = np.zeros((3, 90), np.float32)
    x[0] = np.arange(90) % 3 - 1
    x[0, [3, 50]], x[0, 10], x[0, 70] = np.nan, np.inf, -np.inf
    x[1, ::2], x[1, 7] = -0.0, -np.nan
    x[2] = np.nan
    for place, schedule in enumerate(SCHEDULES):
        for is_largest in (True, False):
            for count in (5, 90):
                name = f"special-{'largest' if is_largest else 'smallest'}-{count}-{place}"
                cases.append(_plain(name, x, F32, count, schedule, is_largest=is_largest))
    return cases


def neighbours() -> list[Case]:
    """Values that differ in their last digit only, so that selection goes through all digits; and one value everywhere."""
    cases = []
    wide = np.array([[(i * 37) % 80 for i in range(80)], [7] * 80])
    for place, schedule in enumerate(SCHEDULES):
        for storage, x in ((I64, wide - 2**40), (F32, (wide.astype(np.uint32) + 0x3F800000).view(np.float32))):
            cases.append(_plain(f"neighbours-{storage}-{place}", np.ascontiguousarray(x), storage, 33, schedule, is_largest=False))
    return cases


def moved() -> list[Case]:
    """Along an axis that is not the innermost, with a fused operand and epilogue."""
    cases = []
    for place, schedule in enumerate(SCHEDULES):
        x, bias = random(f"moved-{place}", (70, 6), F32), random(f"moved-b-{place}", (6,), F32)
        truth = first(-x.T, 9, is_largest=True)
        values = np.take_along_axis(-x.T.astype(np.float64), truth, 1) + bias[:, None]
        walk, result = from_strides((6, 70), (1, 6)), from_strides((6, 9), (1, 6))
        cases.append(case(f"moved-{place}", x, F32, walk, result, schedule, truth, values, bias=bias))
    return cases


def chosen() -> list[Case]:
    """The schedules that targets choose."""
    cases = []
    for name in ("emulated", "sm_90a"):
        for rows, columns, count in ((40, 8, 2), (3, 1000, 10), (1, 8400, 300), (5, 128, 128), (1, 6000, 5000)):
            label = f"chosen-{name}-{count}-of-{columns}"
            problem = Problem(rows=rows, columns=columns, count=count, is_largest=True, value=F32)
            x = random(label, (rows, columns), F32)
            cases.append(_plain(label, x, F32, count, FAMILY.choose(problem, target(name)), is_largest=True))
    return cases


def cases() -> list[Case]:
    """Return every case of the family."""
    opened = [with_open_sizes(one, "rows", "columns", "count") for one in chosen()]
    return [*sizes(), *special_values(), *neighbours(), *moved(), *chosen(), *opened]

"""Cases of the scan family."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.index_map import IndexMap, from_strides, identity
from nautilus_cli.ir.types import F16, F32, F64, I32, I64, U64, DType
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.scan import FAMILY, Problem, Schedule
from nautilus_cli.numerics import EXACT, derived
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases.data import random
from tests.emulated.harness import Case, output

SCHEDULES = (
    Schedule(threads=16, column_threads=1, vector=1),
    Schedule(threads=32, column_threads=1, vector=8),
    Schedule(threads=64, column_threads=4, vector=2),
    Schedule(threads=64, column_threads=32, vector=4),
    Schedule(threads=128, column_threads=64, vector=1),
    Schedule(threads=96, column_threads=32, vector=1),
    Schedule(threads=256, column_threads=256, vector=2),
)


def cumulated(x: np.ndarray, combine: str, is_exclusive: bool) -> np.ndarray:
    """Return the scan along the last axis; floats in float64."""
    wide = x.astype(np.float64) if x.dtype.kind == "f" else x
    accumulate, first = (np.cumsum, 0) if combine == "sum" else (np.cumprod, 1)
    result = accumulate(wide, axis=-1, dtype=wide.dtype)
    if is_exclusive:
        result = np.concatenate([np.full_like(result[..., :1], first), result[..., :-1]], -1)
    return result


def case(
    name: str,
    x: np.ndarray,
    storage: DType,
    walk: IndexMap,
    combine: str,
    is_exclusive: bool,
    schedule: Schedule,
    truth: np.ndarray,
    *,
    bias: np.ndarray | None = None,
) -> Case:
    """Return a case: slots are the operand, a bias by row if there is one, and the result; TRUTH is [rows, columns]."""
    rows, columns = walk.extents
    vector = schedule.vector
    while columns % vector:
        vector //= 2
    term, end = Steps(), Steps()
    doubled = term.load(0, storage, walk)
    value, slot, extra = end.parameter(0, storage.compute), 1, []
    if bias is not None:
        doubled = term.apply("mul", doubled, term.constant(2))
        value = end.apply("add", value, end.load(1, F32, from_strides((rows, columns), (1, 0))))
        slot, extra = 2, [bias]
    end.store(value, slot, storage, walk)
    expected = np.empty(x.size, truth.dtype)
    expected[walk.offsets()[0].reshape(-1)] = truth.reshape(-1)
    problem = Problem(
        rows=rows,
        columns=columns,
        combine=combine,
        is_exclusive=is_exclusive,
        is_row_contiguous=walk != identity((rows, columns)),
        storage=storage,
    )
    return Case(
        name=name,
        request=KernelRequest(
            family="scan",
            problem=problem,
            schedule=Schedule(threads=schedule.threads, column_threads=schedule.column_threads, vector=vector),
            functors=(("Term", term.expression(doubled)), ("Epilogue", end.expression())),
            pointers=slot + 1,
        ),
        buffers=(x, *extra, output(x.size, storage.numpy)),
        expected={slot: expected},
        tolerances={slot: derived(expected, terms=columns, storage=storage, accumulate=storage.compute) if storage.is_float else EXACT},
    )


def _data(name: str, shape: tuple[int, ...], storage: DType, combine: str) -> np.ndarray:
    """Data whose products stay in range."""
    if not storage.is_float:
        return random(name, shape, storage)
    drawn = random(name, shape, F64)
    return (np.exp(drawn * 0.05) * np.sign(drawn) if combine == "prod" else drawn).astype(storage.numpy)


def sizes() -> list[Case]:
    """Edge sizes of every way to share a row, both directions of accumulation, all kinds of types."""
    cases = []
    kinds = (
        ("sum", F32, False), ("sum", F16, True), ("prod", F32, False), ("sum", I64, False), ("prod", I32, True), ("sum", F64, True),
        ("prod", U64, False),
    )  # fmt: skip
    for place, schedule in enumerate(SCHEDULES):
        tile = schedule.column_threads * schedule.vector
        rows = schedule.threads // schedule.column_threads + 1  # the second block has one row
        for number, columns in enumerate(sorted({1, 13, max(1, tile - 1), tile, tile + 1, 3 * tile, 4 * tile + 2})):
            combine, storage, is_exclusive = kinds[(number + place) % len(kinds)]
            name = f"{combine}-{storage}-{columns}-{place}{'-exclusive' if is_exclusive else ''}"
            x = _data(name, (rows, columns), storage, combine)
            truth = cumulated(x, combine, is_exclusive)
            cases.append(case(name, x, storage, identity((rows, columns)), combine, is_exclusive, schedule, truth))
    return cases


def walks() -> list[Case]:
    """From the end, and along an axis that is not the innermost."""
    cases = []
    for place, schedule in enumerate(SCHEDULES):
        for is_exclusive in (False, True):
            suffix = f"{place}{'-exclusive' if is_exclusive else ''}"
            x = random(f"reversed-{suffix}", (5, 70), F32)
            walk = from_strides((5, 70), (70, -1), 69)
            cases.append(
                case(f"reversed-{suffix}", x, F32, walk, "sum", is_exclusive, schedule, cumulated(x[:, ::-1], "sum", is_exclusive))
            )
            x = random(f"outer-{suffix}", (70, 9), F32)
            walk = from_strides((9, 70), (1, 9))
            cases.append(case(f"outer-{suffix}", x, F32, walk, "sum", is_exclusive, schedule, cumulated(x.T, "sum", is_exclusive)))
    return cases


def fused() -> list[Case]:
    """An operand that is computed while it is read, and an epilogue with a load of its own."""
    cases = []
    for place, schedule in enumerate(SCHEDULES):
        x, bias = random(f"fused-{place}", (7, 52), F32), random(f"fused-b-{place}", (7,), F32)
        truth = cumulated(2 * x.astype(np.float64), "sum", False) + bias[:, None]
        cases.append(case(f"fused-{place}", x, F32, identity((7, 52)), "sum", False, schedule, truth, bias=bias))
    return cases


def special_values() -> list[Case]:
    """Infinities and NaN touch only what comes after them."""
    cases = []
    x = np.ones((2, 40), np.float32)
    x[0, 7], x[0, 21], x[1, 33] = np.inf, -np.inf, np.nan
    for place, schedule in enumerate(SCHEDULES):
        for is_exclusive in (False, True):
            with np.errstate(invalid="ignore"):
                truth = cumulated(x, "sum", is_exclusive)
            name = f"special-{place}{'-exclusive' if is_exclusive else ''}"
            cases.append(case(name, x, F32, identity((2, 40)), "sum", is_exclusive, schedule, truth))
    return cases


def chosen() -> list[Case]:
    """The schedules that targets choose."""
    cases = []
    for name in ("emulated", "sm_90a"):
        for rows, columns, is_row_contiguous in ((64, 128, False), (1, 20000, False), (3000, 5, False), (300, 40, True), (4, 777, True)):
            label = f"chosen-{name}-{rows}x{columns}"
            x = random(label, (columns, rows) if is_row_contiguous else (rows, columns), F32)
            problem = Problem(
                rows=rows, columns=columns, combine="sum", is_exclusive=False, is_row_contiguous=is_row_contiguous, storage=F32
            )
            walk = from_strides((rows, columns), (1, rows)) if is_row_contiguous else identity((rows, columns))
            truth = cumulated(x.T if is_row_contiguous else x, "sum", False)
            cases.append(case(label, x, F32, walk, "sum", False, FAMILY.choose(problem, target(name)), truth))
    return cases


def cases() -> list[Case]:
    """Return every case of the family."""
    return [*sizes(), *walks(), *fused(), *special_values(), *chosen()]

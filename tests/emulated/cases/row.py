"""Cases of the row family."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from nautilus_cli.ir.expression import Reduction, RowProgram
from nautilus_cli.ir.index_map import compose, from_strides, identity, padded, permuted, regroup
from nautilus_cli.ir.types import BOOL, F16, F32, F64, I32, I64, U8, U32, U64, DType
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.row import FAMILY, Problem, Schedule
from nautilus_cli.numerics import EXACT, derived
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases.data import random
from tests.emulated.cases.programs import NOTHING, layer_norm, passed_on, reduction, softmax
from tests.emulated.harness import Case, output
from tests.emulated.reference import run_program

ONE_THREAD = Schedule(threads=16, row_lanes=1, column_threads=1, vector=1, items=0)
"""A thread a row, as emulation prefers."""


def case(
    name: str,
    program: RowProgram,
    problem: Problem,
    schedule: Schedule,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[tuple[int, DType]],
    *,
    depth: int = 1,
) -> Case:
    """Return the case whose expected results the program gives in float64; an output is (elements, type)."""
    buffers = (*inputs, *(output(elements, dtype.numpy) for elements, dtype in outputs))
    expected = run_program(program, problem.columns, problem.rows, buffers)
    assert sorted(expected) == list(range(len(inputs), len(buffers)))
    return Case(
        name=name,
        request=KernelRequest(family="row", problem=problem, schedule=schedule, functors=(("Program", program),), pointers=len(buffers)),
        buffers=buffers,
        expected=expected,
        tolerances={
            slot: derived(value, terms=max(1, problem.columns), depth=depth, storage=outputs[slot - len(inputs)][1])
            for slot, value in expected.items()
        },
    )


def _schedule(columns: int, column_threads: int, vector: int, *, threads: int = 0, row_lanes: int = 1, is_held: bool = True) -> Schedule:
    """Return a schedule; as many vectors held as the columns need."""
    items = max(1, -(-columns // (column_threads * vector))) if is_held else 0
    return Schedule(
        threads=threads or max(32, row_lanes * column_threads),
        row_lanes=row_lanes,
        column_threads=column_threads,
        vector=vector,
        items=items,
    )


def _divisor(columns: int, vector: int) -> int:
    """Return the greatest power of two up to VECTOR that divides the columns."""
    while columns % vector:
        vector //= 2
    return vector


def softmaxes() -> list[Case]:
    """Two reductions and a column epilogue: every way to share a row among threads, held and read again, edge sizes of each."""
    cases = []
    for column_threads, vector, threads in ((1, 1, 32), (4, 4, 64), (32, 2, 96), (64, 4, 128), (128, 8, 128)):
        tile = column_threads * vector
        for is_held in (True, False):
            for columns in sorted({1, 13, max(1, tile - 1), tile, tile + 1, 3 * tile}):
                width = _divisor(columns, vector)
                if is_held and columns > 32 * column_threads:
                    continue
                schedule = _schedule(columns, column_threads, width, threads=threads, is_held=is_held)
                storage = F16 if columns % 2 else F32
                rows = threads // column_threads + 1  # the second block has one row
                name = f"softmax-{storage}-{columns}-{column_threads}x{width}-{'held' if is_held else 'read'}"
                cases.append(_softmax(name, rows, columns, schedule, storage))
    return cases


def _softmax(name: str, rows: int, columns: int, schedule: Schedule, storage: DType, *, row_major: bool = True) -> Case:
    problem = Problem(rows=rows, columns=columns, row_major=row_major)
    data = (random(name, (rows * columns,), F32) * 4).astype(storage.numpy)
    built = case(
        name, softmax(rows, columns, storage, row_major=row_major), problem, schedule, [data], [(rows * columns, storage)], depth=3
    )
    x = data.astype(np.float64).reshape((rows, columns) if row_major else (columns, rows))
    axis = 1 if row_major else 0
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    np.testing.assert_allclose(built.expected[1].reshape(x.shape), e / e.sum(axis=axis, keepdims=True))
    return built


def outer_axes() -> list[Case]:
    """The reduced axis is not the innermost: neighbouring threads take neighbouring rows."""
    cases = []
    shapes = ((1, 5), (7, 3), (8, 33), (33, 8), (40, 64), (61, 17))
    layouts = ((8, 1, 32), (8, 4, 32), (32, 1, 64), (16, 8, 128), (32, 4, 256), (1, 32, 64))
    for number, (rows, columns) in enumerate(shapes):
        for row_lanes, column_threads, threads in layouts:
            is_held = (number + row_lanes) % 2 == 0 and columns <= 32 * column_threads
            schedule = _schedule(columns, column_threads, 1, threads=threads, row_lanes=row_lanes, is_held=is_held)
            name = f"outer-{rows}x{columns}-{row_lanes}x{column_threads}-{'held' if is_held else 'read'}"
            if number % 2:
                cases.append(_softmax(name, rows, columns, schedule, F32, row_major=False))
                continue
            program = reduction("sum", rows, columns, F32, F32, row_major=False)
            data = random(name, (columns, rows), F32)
            built = case(name, program, Problem(rows=rows, columns=columns, row_major=False), schedule, [data], [(rows, F32)])
            np.testing.assert_allclose(built.expected[1], data.astype(np.float64).sum(axis=0))
            cases.append(built)
    return cases


def layer_norms() -> list[Case]:
    """Loads that phases share and loads of one phase, epilogues by element and by row, a finish with arithmetic."""
    cases = []
    for rows, columns, column_threads, vector, storage in (
        (5, 24, 8, 1, F32), (3, 96, 32, 1, F16), (9, 64, 4, 8, F16), (2, 260, 64, 4, F32), (4, 48, 1, 8, F32),
    ):  # fmt: skip
        for is_held in (True, False):
            if is_held and columns > 32 * column_threads:
                continue
            name = f"layer-norm-{storage}-{rows}x{columns}-{column_threads}x{vector}-{'held' if is_held else 'read'}"
            schedule = _schedule(columns, column_threads, vector, threads=128, is_held=is_held)
            x, residual = (random(f"{name}{i}", (rows, columns), storage) for i in range(2))
            scale, shift = (random(f"{name}{i}", (columns,), F32) for i in (2, 3))
            elements = rows * columns
            built = case(
                name,
                layer_norm(rows, columns, storage),
                Problem(rows=rows, columns=columns, row_major=True),
                schedule,
                [x, residual, scale.astype(storage.numpy), shift.astype(storage.numpy)],
                [(elements, storage), (elements, storage), (rows, F32), (rows, F32)],
                depth=4,
            )
            total = x.astype(np.float64) + residual.astype(np.float64)
            np.testing.assert_allclose(built.expected[6], total.mean(axis=1), atol=1e-12)
            np.testing.assert_allclose(built.expected[7], np.sqrt(total.var(axis=1) + 1e-5))
            # A mean of n terms cancels: its error is relative to the terms.
            tolerances = {**built.tolerances, 6: derived(built.expected[6], terms=columns, scale=float(total.std()), storage=F32)}
            cases.append(replace(built, tolerances=tolerances))
    return cases


def combiners() -> list[Case]:
    """Every combiner, over floats and integers, with NaN, infinities and empty rows."""
    cases = []
    schedules = (ONE_THREAD, _schedule(40, 8, 2), _schedule(40, 64, 1), _schedule(40, 4, 8, is_held=False))
    for number, schedule in enumerate(schedules):
        for combine, storage in (
            ("sum", F16), ("sum", F64), ("max", F32), ("min", F16), ("prod", F32), ("sum", I32), ("prod", I64), ("max", I32),
            ("min", I64), ("any", BOOL), ("all", BOOL),
        ):  # fmt: skip
            rows, columns = 6, 40
            name = f"{combine}-{storage}-{number}"
            data = random(name, (rows, columns), storage)
            if storage.kind == "bool":
                data[0], data[1] = True, False
                data[2, 7], data[3, 39] = False, True
            if combine in ("max", "min") and storage.is_float:
                data[1, 3], data[2, 39], data[4, 0] = np.nan, np.inf, -np.inf
                data[5] = -np.inf
            problem = Problem(rows=rows, columns=columns, row_major=True)
            built = case(name, reduction(combine, rows, columns, storage, storage), problem, schedule, [data], [(rows, storage)])
            exact = combine in ("max", "min") or not storage.is_float
            tolerance = EXACT if exact else derived(built.expected[1], terms=columns, storage=storage, accumulate=storage.compute)
            cases.append(replace(built, tolerances={1: tolerance}))
    for combine in ("sum", "max", "prod"):
        program = reduction(combine, 5, 0, F32, F32)
        problem = Problem(rows=5, columns=0, row_major=True)
        cases.append(case(f"empty-{combine}", program, problem, _schedule(0, 4, 1), [random("empty", (0,), F32)], [(5, F32)]))
    return cases


def arg_reductions() -> list[Case]:
    """The place of the extreme value, by keys of value and place: ties, NaN, every way to share a row, 8-byte partial results."""
    cases = []
    schedules = (
        ONE_THREAD,
        _schedule(40, 8, 2),
        _schedule(40, 64, 1),
        _schedule(40, 4, 8, is_held=False),
        _schedule(40, 2, 1, row_lanes=8),
    )
    for number, (storage, is_min, last) in enumerate(((F32, 0, 0), (F16, 1, 0), (F32, 1, 1), (I32, 0, 1), (U8, 1, 0))):
        for place, schedule in enumerate(schedules):
            rows, columns = 6, 40
            name = f"arg-{storage}-{'min' if is_min else 'max'}-{'last' if last else 'first'}-{place}"
            data = random(name, (rows, columns), storage)
            data[1], data[2, 3], data[2, 39] = 0, data[2].max(), data[2].max()
            if storage.is_float:
                data[1, 7], data[3, 5], data[3, 30], data[4, 0], data[5, 11] = -0.0, np.nan, np.nan, -np.inf, np.inf
            compute = storage.compute
            term, finish, row = Steps(), Steps(), Steps()
            flags = [term.constant(flag, compute) for flag in (is_min, last)]
            x = term.load(0, storage, identity((rows, columns)))
            key = term.apply("arg_key", x, term.load(1, U32, from_strides((rows, columns), (0, 1))), *flags, dtype=U64)
            index = finish.apply("arg_index", finish.parameter(0, U64), finish.constant(last, U64), dtype=I64)
            row.store(row.parameter(0, I64), 2, I64, identity((rows,)))
            program = RowProgram((Reduction("max", term.expression(key), finish.expression(index), I64),), NOTHING, row.expression())
            problem = Problem(rows=rows, columns=columns, row_major=True)
            built = case(name, program, problem, schedule, [data, np.arange(columns, dtype=np.uint32)], [(rows, I64)])
            choose = np.argmin if is_min else np.argmax
            truth = columns - 1 - choose(data[:, ::-1], axis=1) if last else choose(data, axis=1)
            np.testing.assert_array_equal(built.expected[2], truth, err_msg=f"{name} {number}")
            cases.append(built)
    return cases


def long_rows() -> list[Case]:
    """Rows that no registers hold, shared by one thread, a warp, and many warps."""
    cases = []
    for column_threads, vector in ((1, 4), (32, 4), (256, 1)):
        schedule = _schedule(5000, column_threads, vector, threads=max(64, column_threads), is_held=False)
        cases.append(_softmax(f"long-{column_threads}", 2, 5000, schedule, F32))
    return cases


def moved() -> list[Case]:
    """Rows read through maps: several reduced axes around a kept one, padding, and an operand that repeats."""
    cases = []
    shape = (4, 6, 5)
    x = random("moved", shape, F32)
    # Reduces axes 0 and 2; columns are their joint index.
    where = regroup(permuted(shape, (1, 0, 2)), [[0], [1, 2]])
    term, row = Steps(), Steps()
    expression = term.expression(term.load(0, F32, where))
    row.store(row.parameter(0), 1, F32, identity((6,)))
    program = RowProgram((Reduction("sum", expression, passed_on(), F32),), NOTHING, row.expression())
    problem = Problem(rows=6, columns=20, row_major=True)
    for schedule in (ONE_THREAD, _schedule(20, 4, 4), _schedule(20, 2, 1, row_lanes=8)):
        built = case(f"axes-0-2-{schedule.column_threads}", program, problem, schedule, [x], [(6, F32)])
        np.testing.assert_allclose(built.expected[1], x.astype(np.float64).sum(axis=(0, 2)))
        cases.append(built)

    # The maximum of a padded tensor plus a repeated row, and a finish that reads by row.
    y, bias, gain = random("padded", (6, 7), F32), random("bias", (10,), F32), random("gain", (6,), F32)
    term, finish, row = Steps(), Steps(), Steps()
    inner = compose(identity((6, 10)), padded((6, 7), (0, 2), (6, 10)))
    total = term.apply("add", term.load(0, F32, inner), term.load(1, F32, from_strides((6, 10), (0, 1))))
    end = finish.expression(finish.apply("mul", finish.parameter(0), finish.load(2, F32, identity((6,)))))
    row.store(row.parameter(0), 3, F16, identity((6,)))
    program = RowProgram((Reduction("max", term.expression(total), end, F32),), NOTHING, row.expression())
    for schedule in (ONE_THREAD, _schedule(10, 4, 2), _schedule(10, 32, 1)):
        name = f"padded-max-{schedule.column_threads}"
        built = case(name, program, Problem(rows=6, columns=10, row_major=True), schedule, [y, bias, gain], [(6, F16)], depth=2)
        truth = (np.pad(y, ((0, 0), (2, 1))).astype(np.float64) + bias).max(axis=1) * gain
        np.testing.assert_allclose(built.expected[3], truth)
        cases.append(built)
    return cases


def chosen() -> list[Case]:
    """The schedules that targets choose, on shapes of real models."""
    cases = []
    for name in ("emulated", "sm_90a"):
        for rows, columns, row_major in (
            (12, 197, True),
            (3, 768, True),
            (2, 2048, True),
            (1, 4099, True),
            (64, 49, False),
            (5, 300, False),
        ):
            problem = Problem(rows=rows, columns=columns, row_major=row_major)
            schedule = FAMILY.choose(problem, target(name))
            cases.append(_softmax(f"chosen-{name}-{rows}x{columns}", rows, columns, schedule, F32, row_major=row_major))
    return cases


PARTS: tuple[Callable[[], list[Case]], ...] = (softmaxes, outer_axes, layer_norms, combiners, arg_reductions, long_rows, moved, chosen)


def cases() -> list[Case]:
    """Return every case of the family."""
    return [built for part in PARTS for built in part()]

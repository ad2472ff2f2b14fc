"""Cases of the resize family: axes, numbers of taps, tables that reach beyond the ends, layouts, schedules, types."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import prod

import numpy as np

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.index_map import from_strides, identity
from nautilus_cli.ir.types import BF16, BOOL, F16, F32, F64, I8, I32, I64, DType
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.resize import FAMILY, Problem, Schedule
from nautilus_cli.numerics import derived
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases.gemm import with_long_indices
from tests.emulated.cases.products import read, values
from tests.emulated.harness import Case, output, with_open_sizes
from tests.emulated.reference import evaluate

SCHEDULES = {
    "plain": Schedule(threads=32, lanes=1, vector=1, rows=1),
    "channels": Schedule(threads=64, lanes=8, vector=4, rows=1),
    "rows": Schedule(threads=32, lanes=2, vector=2, rows=4),
    "deep": Schedule(threads=32, lanes=32, vector=8, rows=2),
}


def problem_of(
    inputs: tuple[int, ...], outputs: tuple[int, ...], *, taps: tuple[int, ...] | None = None, rows: int = 1, channels: int = 1
) -> Problem:
    """Return a problem; without TAPS it has no weights."""
    return Problem(
        rows=rows,
        channels=channels,
        inputs=inputs,
        outputs=outputs,
        taps=taps or (1,) * len(inputs),
        is_weighted=taps is not None,
    )


def tables(p: Problem, storage: DType) -> list[np.ndarray]:
    """Return for each axis random first elements, some beyond the ends, and weights where there are any."""
    random = np.random.default_rng(7)
    found = []
    for size, results, taps in zip(p.inputs, p.outputs, p.taps, strict=True):
        found.append(random.integers(-taps - 2, size + 2, results).astype(np.int32))
        if p.is_weighted:
            found.append(random.standard_normal(results * taps).astype(storage.compute.numpy))
    return found


def resampled(p: Problem, element: np.ndarray, found: list[np.ndarray]) -> np.ndarray:
    """Return the result of elements [row, places, channel], in their type."""
    step = 2 if p.is_weighted else 1
    for axis, (size, results, taps) in enumerate(zip(p.inputs, p.outputs, p.taps, strict=True), 1):
        first = found[step * (axis - 1)]
        weights = found[step * axis - 1].reshape(results, taps) if p.is_weighted else np.ones((results, 1), np.int8)
        shape = (1,) * axis + (results,) + (1,) * (element.ndim - axis - 1)
        places = [np.clip(first + tap, 0, size - 1) for tap in range(taps)]
        terms = [np.take(element, place, axis) for place in places]
        if p.is_weighted:
            terms = [term * weights[:, tap].reshape(shape) for tap, term in enumerate(terms)]
        element = np.asarray(sum(terms[1:], terms[0]))
    return element


def resize_case(name: str, p: Problem, schedule: Schedule, *, storage: DType = F32, is_fused: bool = False) -> Case:
    """Return a resampling of slot 0 into slot 1; the tables follow.

    Args:
        is_fused: the element is x · scale[channel], the result is stored with the channels outermost, cut at zero; slot 2 is the scale.
    """
    p = replace(p, x_storage=storage)
    elements, results = (p.rows, *p.inputs, p.channels), (p.rows, *p.outputs, p.channels)
    x, epilogue = Steps(), Steps()
    element = x.load(0, storage, identity(elements))
    result = epilogue.parameter(0, storage.compute)
    buffers = [values(prod(elements), storage, 1), output(prod(results), storage.numpy)]
    stored = identity(results)
    if is_fused:
        element = x.apply("mul", element, x.load(2, storage, from_strides(elements, (0,) * (len(elements) - 1) + (1,))))
        result = epilogue.apply("relu", result)
        buffers.append(values(p.channels, storage, 3))
        plane = prod(results[:-1])
        stored = from_strides(results, (*(s // p.channels for s in np.cumprod((1, *results[:0:-1]))[::-1][:-1]), plane))
    epilogue.store(result, 1, storage, stored)
    found = tables(p, storage)
    functors: list[tuple[str, Expression]] = [("X", x.expression(element)), ("Epilogue", epilogue.expression())]
    for axis, (size, taps) in enumerate(zip(p.outputs, p.taps, strict=True)):
        functors.append((f"First{axis}", read(len(buffers), I32, identity((size,)))))
        buffers.append(found[(2 if p.is_weighted else 1) * axis])
        if p.is_weighted:
            functors.append((f"Weight{axis}", read(len(buffers), storage.compute, identity((size, taps)))))
            buffers.append(found[2 * axis + 1])
    (seen,) = evaluate(functors[0][1], buffers)
    expected: dict[int, np.ndarray] = {}
    evaluate(functors[1][1], buffers, [resampled(p, seen, found)], expected)
    request = KernelRequest(family="resize", problem=p, schedule=schedule, functors=tuple(functors), pointers=len(buffers))
    is_exact = not p.is_weighted and not is_fused
    tolerances = {} if is_exact else {1: derived(expected[1], terms=prod(p.taps), storage=storage, accumulate=storage.compute)}
    return Case(name=name, request=request, buffers=tuple(buffers), expected=expected, tolerances=tolerances)


PROBLEMS = {
    "one": problem_of((1,), (1,)),
    "line": problem_of((7,), (31,), rows=5),
    "nearest": problem_of((5, 7), (9, 4), rows=3, channels=24),
    "nearest-volume": problem_of((3, 2, 5), (4, 3, 7), rows=2, channels=3),
    "linear-line": problem_of((9,), (13,), taps=(2,), rows=6),
    "linear": problem_of((6, 5), (11, 13), taps=(2, 2), rows=2, channels=16),
    "linear-planes": problem_of((6, 5), (11, 13), taps=(2, 2), rows=11),
    "linear-volume": problem_of((3, 4, 5), (5, 2, 7), taps=(2, 2, 2), rows=3, channels=8),
    "cubic": problem_of((6, 7), (5, 12), taps=(4, 4), rows=1, channels=40),
    "cubic-volume": problem_of((3, 4, 3), (4, 3, 5), taps=(4, 4, 4), rows=2, channels=2),
    "stretched": problem_of((40, 33), (5, 6), taps=(17, 12), rows=2, channels=5),
    "one-tap-of-two": problem_of((4, 4), (3, 8), taps=(1, 3), rows=2, channels=64),
    "narrow": problem_of((1, 300), (1, 150), taps=(1, 4), rows=7),
    "four-axes": problem_of((2, 3, 2, 3), (3, 2, 4, 2), taps=(2, 1, 2, 1), rows=2, channels=6),
}
"""Resamplings by name."""


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases."""
    found = [resize_case("fused", PROBLEMS["linear"], SCHEDULES["channels"], storage=F16, is_fused=True)]
    for number, (name, problem) in enumerate(PROBLEMS.items()):
        legal = [n for n in SCHEDULES if not FAMILY.violations(problem, SCHEDULES[n], target("sm_80"))]
        for turn in range(min(2, len(legal))):
            schedule_name = legal[(number + turn) % len(legal)]
            storage = F16 if (number + turn) % 2 else F32
            found.append(resize_case(f"{name}-{schedule_name}-{storage}", problem, SCHEDULES[schedule_name], storage=storage))
        for architecture in ("sm_90a", "emulated"):
            found.append(resize_case(f"{name}-chosen-{architecture}", problem, FAMILY.choose(problem, target(architecture))))
    for name in ("nearest-volume", "linear-planes", "cubic-volume", "stretched"):
        problem = PROBLEMS[name]
        taps = ["taps"] if problem.is_weighted else []
        for schedule in (SCHEDULES["plain"], Schedule(threads=64, lanes=4, vector=1, rows=4)):
            one = resize_case(f"{name}-{schedule.rows}", replace(problem, are_tables_known=False), schedule)
            found.append(with_open_sizes(one, "rows", "channels", "inputs", "outputs", *taps))
    nearest, linear = PROBLEMS["nearest"], PROBLEMS["linear"]
    for name in SCHEDULES:
        if not FAMILY.violations(linear, SCHEDULES[name], target("sm_80")):
            found.append(resize_case(f"fused-{name}", linear, SCHEDULES[name], is_fused=True))
    found.append(with_long_indices(resize_case("linear", linear, SCHEDULES["channels"], is_fused=True)))
    for storage in (I8, I64, BOOL, F64, BF16):
        found.append(resize_case(f"nearest-{storage}", nearest, SCHEDULES["rows"], storage=storage))
    for storage in (F64, BF16):
        found.append(resize_case(f"linear-{storage}", linear, SCHEDULES["channels"], storage=storage))
    return tuple(found)

"""Cases of the gemm family: orientations, edges, schedules, types, prologues and epilogues."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.index_map import identity, padded
from nautilus_cli.ir.types import BF16, F16, F32, F64, I8, I32, I64, DType
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.gemm import FAMILY, Problem, Schedule
from nautilus_cli.kernels.product import with_vectors
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases import products
from tests.emulated.cases.products import dense, gated, opened, shaped, values, worked_on
from tests.emulated.harness import Case, output
from tests.emulated.reference import wide

SCHEDULES = {
    "square": Schedule(tile_m=16, tile_n=32, tile_k=8, thread_m=4, thread_n=4, fragment=4),
    "wide": Schedule(tile_m=32, tile_n=64, tile_k=16, thread_m=8, thread_n=8, fragment=8, group_m=2),
    "single": Schedule(tile_m=32, tile_n=16, tile_k=16, thread_m=2, thread_n=4, fragment=4, stages=1),
    "sliced": Schedule(tile_m=16, tile_n=16, tile_k=32, thread_m=4, thread_n=4, slices_k=4, fragment=4),
    "skinny": Schedule(tile_m=1, tile_n=16, tile_k=64, thread_m=1, thread_n=1, slices_k=8, fragment=4),
    "scalar": Schedule(tile_m=8, tile_n=8, tile_k=8, thread_m=2, thread_n=1, fragment=1, stages=1),
    "few": Schedule(tile_m=16, tile_n=16, tile_k=16, thread_m=8, thread_n=8, fragment=8),
    "copied": Schedule(tile_m=32, tile_n=32, tile_k=8, thread_m=8, thread_n=4, fragment=4, stages=3),
    "ring": Schedule(tile_m=16, tile_n=32, tile_k=16, thread_m=4, thread_n=4, slices_k=2, fragment=4, stages=4),
    "tall": Schedule(tile_m=64, tile_n=8, tile_k=32, thread_m=8, thread_n=2, slices_k=2, fragment=2, group_m=4),
}
"""By name; vectors are as long as each problem allows."""


def product_case(
    name: str,
    problem: Problem,
    schedule: Schedule,
    buffers: tuple[np.ndarray, ...],
    a: Expression,
    b: Expression,
    epilogue: Expression,
) -> Case:
    """Return the case whose expected buffers follow the functors in float64; integers wrap in the accumulation type."""
    kind = wide(problem.accumulate)
    chosen = with_vectors(problem.product, schedule)
    return products.product_case(
        name, "gemm", problem, chosen, (buffers, a, b, epilogue), lambda left, right: np.matmul(left.astype(kind), right.astype(kind))
    )


def plain(
    name: str,
    extents: tuple[int, int, int, int],
    schedule: Schedule,
    *,
    storage: DType = F32,
    result: DType | None = None,
    accumulate: DType = F32,
    a_k_last: bool = True,
    b_k_last: bool = True,
) -> Case:
    """Return a dense product of (batch, m, n, k) extents: slots 0 and 1 are A and B, 2 the result."""
    result = storage if result is None else result
    problem = Problem(
        **shaped(extents, a_k_last=a_k_last, b_k_last=b_k_last),
        accumulate=accumulate,
        a_storage=storage,
        b_storage=storage,
    )
    operation = dense(extents, storage=storage, result=result, accumulate=accumulate, a_k_last=a_k_last, b_k_last=b_k_last)
    return product_case(name, problem, schedule, *operation)


def fused(schedule: Schedule, storage: DType) -> Case:
    """Return a product with work before and after it."""
    extents = (2, 37, 20, 24)
    problem = Problem(**shaped(extents, b_k_last=False), accumulate=F32, a_storage=storage, b_storage=storage)
    name = f"fused-{storage}-{schedule.slices_k}-{schedule.stages}"
    return product_case(name, problem, schedule, *worked_on(extents, storage, b_k_last=False))


def paired(schedule: Schedule, storage: DType, extents: tuple[int, int, int, int], *, has_residual: bool = True) -> Case:
    """Return a gated unit of (batch, m, results, k) extents."""
    problem = Problem(
        **shaped(extents, sums=2),
        accumulate=F32,
        a_storage=storage,
        b_storage=storage,
        is_paired=True,
    )
    name = f"paired-{storage}-{'x'.join(map(str, extents))}-{schedule.slices_k}-{schedule.stages}"
    return product_case(name, problem, schedule, *gated(extents, storage, has_residual=has_residual))


def guarded(schedule: Schedule) -> Case:
    """Return a product whose A is padded along m and k: what is outside reads as zero and nothing is read there. One is added to both
    operands, so that steps beyond k, which must add nothing, would show."""
    m, n, k = 19, 12, 21
    inner = (1, m - 5, k - 4)
    left, right, epilogue = Steps(), Steps(), Steps()
    a = left.expression(left.apply("add", left.load(0, F32, padded(inner, (0, 2, 3), (1, m, k))), left.constant(1.0)))
    b = right.expression(right.apply("add", right.load(1, F32, identity((1, n, k))), right.constant(1.0)))
    epilogue.store(epilogue.parameter(0), 2, F32, identity((1, m, n)))
    problem = Problem(batch=1, m=m, n=n, k=k, a_k_last=True, b_k_last=True, accumulate=F32)
    buffers = (values(inner[1] * inner[2], F32, 1), values(n * k, F32, 2), output(m * n, F32.numpy))
    return product_case(f"guarded-{schedule.stages}", problem, schedule, buffers, a, b, epilogue.expression())


def with_long_indices(case: Case) -> Case:
    """Return the case with offsets of 64 bits."""
    return replace(case, name=f"{case.name}-i64", request=replace(case.request, index_bits=64))


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases."""
    found: list[Case] = []
    square = SCHEDULES["square"]
    tile_m, tile_n, tile_k = square.tile_m, square.tile_n, square.tile_k
    edges = [
        (1, 1, 1, 1),
        (1, 13, 37, 11),
        (1, tile_m - 1, tile_n - 1, tile_k - 1),
        (1, tile_m, tile_n, tile_k),
        (1, tile_m + 1, tile_n + 1, tile_k + 1),
        (3, 2 * tile_m, 2 * tile_n, 4 * tile_k),
    ]
    for number, extents in enumerate(edges):
        for a_k_last in (True, False):
            for b_k_last in (True, False):
                layout = ("k" if a_k_last else "m") + ("k" if b_k_last else "n")
                name = "x".join(map(str, extents))
                schedule = square if number % 2 == 0 or number == 5 else SCHEDULES["sliced"]
                found.append(plain(f"{name}-{layout}", extents, schedule, a_k_last=a_k_last, b_k_last=b_k_last))
    for schedule_name, schedule in SCHEDULES.items():
        found.append(plain(f"{schedule_name}-ragged", (2, 67, 41, 53), schedule))
        found.append(plain(f"{schedule_name}-even-f16", (1, 96, 80, 64), schedule, storage=F16, a_k_last=schedule_name != "wide"))
    for schedule_name in ("copied", "ring"):
        for a_k_last, b_k_last in ((True, True), (True, False), (False, True), (False, False)):
            layout = ("k" if a_k_last else "m") + ("k" if b_k_last else "n")
            schedule = SCHEDULES[schedule_name]
            found.append(plain(f"{schedule_name}-whole-{layout}", (2, 64, 96, 64), schedule, a_k_last=a_k_last, b_k_last=b_k_last))
            found.append(plain(f"{schedule_name}-part-{layout}", (1, 30, 34, 37), schedule, a_k_last=a_k_last, b_k_last=b_k_last))
        found.append(fused(schedule, F32))
    found.append(plain("copied-i32", (1, 64, 32, 24), SCHEDULES["copied"], storage=I32, accumulate=I32))
    found.append(plain("copied-no-steps", (1, 32, 32, 0), SCHEDULES["copied"]))
    found.append(guarded(SCHEDULES["ring"]))
    found.append(plain("one-row", (1, 1, 50, 200), SCHEDULES["skinny"]))
    found.append(plain("one-row-f16", (1, 1, 64, 256), SCHEDULES["skinny"], storage=F16))
    found.append(plain("no-steps", (2, 5, 6, 0), square))
    found.append(plain("many-batches", (65537, 1, 2, 3), SCHEDULES["scalar"]))
    found.append(plain("f64", (1, 33, 18, 40), SCHEDULES["single"], storage=F64, accumulate=F64, b_k_last=False))
    found.append(plain("bf16", (1, 33, 18, 40), square, storage=BF16))
    found.append(plain("f16-to-f32", (1, 33, 18, 40), square, storage=F16, result=F32))
    found.append(plain("i32", (1, 33, 18, 40), square, storage=I32, accumulate=I32))
    found.append(plain("i64", (1, 33, 18, 40), SCHEDULES["single"], storage=I64, accumulate=I64, a_k_last=False))
    found.append(plain("i8-to-i32", (1, 33, 18, 40), SCHEDULES["sliced"], storage=I8, result=I32, accumulate=I32))
    found.append(guarded(square))
    found.append(fused(square, F32))
    found.append(fused(SCHEDULES["sliced"], F16))
    found.append(with_long_indices(fused(square, F32)))
    found.append(paired(square, F32, (2, 37, 21, 24)))
    found.append(paired(SCHEDULES["sliced"], F16, (1, 16, 40, 64)))
    found.append(paired(SCHEDULES["copied"], F32, (1, 40, 24, 40), has_residual=False))
    found.append(paired(SCHEDULES["wide"], BF16, (1, 33, 44, 72)))
    for schedule_name, extents, divisor in (
        ("sliced", (2, 67, 41, 53), 1),
        ("copied", (1, 67, 41, 53), 1),
        ("ring", (1, 96, 64, 48), 8),
        ("copied", (2, 64, 48, 120), 8),
        ("copied", (1, 70, 41, 133), 1),
        ("ring", (1, 40, 96, 200), 8),
        ("tall", (3, 80, 48, 64), 16),
        ("scalar", (2, 9, 7, 5), 1),
    ):
        one = plain(f"{schedule_name}-{'x'.join(map(str, extents))}", extents, SCHEDULES[schedule_name], b_k_last=schedule_name != "tall")
        found += [opened(one, names, divisor) for names in ("m", "n", "k", "mnk")]
    for extents in ((1, 49, 200, 130), (1, 1, 300, 256)):
        problem = Problem(batch=1, m=extents[1], n=extents[2], k=extents[3], a_k_last=True, b_k_last=True, accumulate=F32)
        found.append(plain(f"chosen-{extents[1]}", extents, FAMILY.choose(problem, target("sm_90a"))))
    return tuple(found)


def representative() -> KernelRequest:
    """Return a request with work before and after the sums."""
    return fused(SCHEDULES["square"], F32).request

"""Cases of the gemm_skinny family: orientations, edges, schedules, types, prologues and epilogues."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.index_map import identity, padded
from nautilus_cli.ir.types import BF16, F16, F32, DType
from nautilus_cli.kernels.gemm_skinny import FAMILY, Problem, Schedule
from nautilus_cli.kernels.skinny_product import completed
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases import attention_scores, products
from tests.emulated.cases.gemm import with_long_indices
from tests.emulated.cases.products import dense, gated, opened, shaped, worked_on
from tests.emulated.harness import Case, output

SCHEDULES = {
    "one": Schedule(tile_m=1, tile_n=4, tile_k=1, thread_n=2, lanes_k=32, loads=1, slices_k=2),
    "rows": Schedule(tile_m=4, tile_n=16, tile_k=1, thread_n=4, lanes_k=8, loads=2),
    "sliced": Schedule(tile_m=2, tile_n=1, tile_k=1, thread_n=1, lanes_k=32, loads=1, slices_k=4, early_trigger=False),
    "wide": Schedule(tile_m=8, tile_n=64, tile_k=1, thread_n=8, lanes_k=4, loads=1),
    "tall": Schedule(tile_m=16, tile_n=16, tile_k=1, thread_n=2, lanes_k=4, loads=4, slices_k=2),
}
"""Without tensor cores, by name; vectors are as long as each problem allows, and all of A's rows are in shared memory at once."""
TENSOR = {
    "narrow": Schedule(tile_m=16, tile_n=16, tile_k=1, thread_n=2, lanes_k=4, loads=1, slices_k=2, tensor_cores=True),
    "deep": Schedule(tile_m=32, tile_n=32, tile_k=1, thread_n=4, lanes_k=4, loads=4, tensor_cores=True),
    "full": Schedule(tile_m=64, tile_n=32, tile_k=1, thread_n=2, lanes_k=4, loads=2, slices_k=2, tensor_cores=True, early_trigger=False),
}
"""With them."""


def product_case(
    name: str,
    problem: Problem,
    schedule: Schedule,
    buffers: tuple[np.ndarray, ...],
    a: Expression,
    b: Expression,
    epilogue: Expression,
    tile_k: int = 0,
) -> Case:
    """Return the case whose expected buffers follow the functors in float64.

    Args:
        tile_k: depth of a tile of A's rows, in a ring of three stages; 0 for all of it in one.
    """

    def multiplied(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        if schedule.tensor_cores:
            left, right = (x.astype(np.float32).astype(problem.multiply.numpy) for x in (left, right))
        return np.matmul(left.astype(np.float64), right.astype(np.float64))

    chosen = completed(problem.product, schedule, tile_k)
    return products.product_case(name, "gemm_skinny", problem, chosen, (buffers, a, b, epilogue), multiplied)


def plain(
    name: str,
    extents: tuple[int, int, int, int],
    schedule: Schedule,
    *,
    storage: DType = F16,
    result: DType | None = None,
    a_k_last: bool = True,
    b_k_last: bool = True,
    tile_k: int = 0,
) -> Case:
    """Return a dense product of (batch, m, n, k) extents: slots 0 and 1 are A and B, 2 the result."""
    k = extents[3]
    result = storage if result is None else result
    problem = Problem(
        **shaped(extents, a_k_last=a_k_last, b_k_last=b_k_last),
        multiply=storage,
        a_storage=storage,
        b_storage=storage,
        b_is_constant=k % 2 == 0,
    )
    operation = dense(extents, storage=storage, result=result, a_k_last=a_k_last, b_k_last=b_k_last)
    return product_case(name, problem, schedule, *operation, tile_k)


def fused(schedule: Schedule, storage: DType, *, b_k_last: bool) -> Case:
    """Return a product with work before and after it."""
    extents = (2, 5, 24, 40)
    problem = Problem(**shaped(extents, b_k_last=b_k_last), multiply=storage, a_storage=storage, b_storage=storage)
    name = f"fused-{storage}-{'kn'[not b_k_last]}-{'mma' if schedule.tensor_cores else 'fma'}"
    return product_case(name, problem, schedule, *worked_on(extents, storage, b_k_last=b_k_last))


def paired(schedule: Schedule, storage: DType, extents: tuple[int, int, int, int], *, has_residual: bool = True) -> Case:
    """Return a gated unit of (batch, m, results, k) extents."""
    operation = gated(extents, storage, has_residual=has_residual)
    problem = Problem(
        **shaped(extents, sums=2),
        multiply=storage,
        a_storage=storage,
        b_storage=storage,
        b_is_constant=True,
        is_paired=True,
    )
    return product_case(
        f"paired-{storage}-{'x'.join(map(str, extents))}-{'mma' if schedule.tensor_cores else 'fma'}", problem, schedule, *operation
    )


def masked(schedule_name: str, extents: tuple[int, int, int, int], mask: str, names: str = "") -> Case:
    """Return scores of attention of (sequences, m, n, k) extents, to which a mask is added; extents NAMES are arguments."""
    shape = (extents[0] * attention_scores.HEADS, *extents[1:])
    problem = Problem(**shaped(shape), multiply=F16, a_storage=F16, b_storage=F16)
    name = f"masked-{mask}-{schedule_name}-{'x'.join(map(str, shape))}"
    case = product_case(name, problem, {**SCHEDULES, **TENSOR}[schedule_name], *attention_scores.masked(extents, mask))

    def of(opened: Problem) -> products.Functors:
        return attention_scores.masked_functors((extents[0], opened.m, opened.n, opened.k), mask, is_merged=False, storage=F16)

    return products.with_open_extents(case, names, of) if names else case


def guarded(schedule: Schedule, storage: DType, *, is_plain: bool) -> Case:
    """Return a product whose B is padded along n: what is outside reads as zero and nothing is read there. Where it is not plain, one is
    added to both operands, so that steps beyond k, which must add nothing, would show."""
    m, n, k = 3, 20, 40
    left, right, epilogue = Steps(), Steps(), Steps()
    loaded = right.load(1, storage, padded((1, n - 5, k), (0, 2, 0), (1, n, k)))
    other = left.load(0, storage, identity((1, m, k)))
    b = right.expression(loaded if is_plain else right.apply("add", loaded, right.constant(1.0)))
    a = left.expression(other if is_plain else left.apply("add", other, left.constant(1.0)))
    epilogue.store(epilogue.parameter(0), 2, F32, identity((1, m, n)))
    problem = Problem(batch=1, m=m, n=n, k=k, a_k_last=True, b_k_last=True, multiply=storage, a_storage=storage, b_storage=storage)
    whole = [np.random.default_rng(i).integers(-9, 10, size).astype(storage.numpy) for i, size in enumerate((m * k, (n - 5) * k))]
    name = f"guarded-{storage}-{'plain' if is_plain else 'computed'}-{'mma' if schedule.tensor_cores else 'fma'}"
    return product_case(name, problem, schedule, (*whole, output(m * n, F32.numpy)), a, b, epilogue.expression())


def computed_and_open(schedule: Schedule, storage: DType, extents: tuple[int, int, int], divisor: int, tile_k: int = 0) -> Case:
    """Return a product whose extents are arguments, `n` and `k` multiples of DIVISOR: one is added to both operands, neither of which is
    constant, so that steps beyond k, which must add nothing, would show."""

    def functors(m: int, n: int, k: int) -> tuple[Expression, Expression, Expression]:
        found = []
        for slot, rows in ((0, m), (1, n)):
            steps = Steps()
            loaded = steps.load(slot, storage, identity((1, rows, k)))
            found.append(steps.expression(steps.apply("add", loaded, steps.constant(1.0))))
        epilogue = Steps()
        epilogue.store(epilogue.parameter(0), 2, F32, identity((1, m, n)))
        return found[0], found[1], epilogue.expression()

    m, n, k = extents
    sizes = dict(zip("mnk", extents, strict=True))
    open_sizes = {name: symbol(name, by, 100 * sizes[name], by) for name, by in (("m", 1), ("n", divisor), ("k", divisor))}
    problem = Problem(batch=1, m=m, n=n, k=k, a_k_last=True, b_k_last=True, multiply=storage, a_storage=storage, b_storage=storage)
    buffers = [np.random.default_rng(i).integers(-9, 10, size).astype(storage.numpy) for i, size in enumerate((m * k, n * k))]
    name = f"computed-open-{storage}-{'x'.join(map(str, extents))}-{'mma' if schedule.tensor_cores else 'fma'}"
    case = product_case(name, problem, schedule, (*buffers, output(m * n, F32.numpy)), *functors(m, n, k), tile_k)
    a, b, epilogue = functors(**open_sizes)
    request = replace(case.request, problem=replace(problem, **open_sizes), functors=(("A", a), ("B", b), ("Epilogue", epilogue)))
    scalars = request.scalar_values
    return replace(case, request=replace(request, scalars=len(scalars)), scalars=bind(scalars, sizes), sizes=sizes)


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases."""
    rows, narrow = SCHEDULES["rows"], TENSOR["narrow"]
    found: list[Case] = [
        fused(narrow, F16, b_k_last=True),
        fused(rows, BF16, b_k_last=True),
        fused(rows, F32, b_k_last=False),
        fused(SCHEDULES["one"], F32, b_k_last=True),
        paired(SCHEDULES["one"], F16, (1, 1, 50, 264)),
        paired(rows, F32, (2, 7, 21, 72)),
        paired(narrow, F16, (1, 9, 40, 136), has_residual=False),
        paired(TENSOR["full"], BF16, (1, 50, 35, 64)),
    ]
    for names in ("", "mn"):
        found += [masked("full", (1, 61, 61, 64), "heads", names), masked("full", (1, 61, 66, 64), "heads", names[:1])]
        found += [masked("deep", (1, 33, 35, 40), "shared", names), masked("full", (1, 3, 1, 64), "whole", names)]
        found += [masked("tall", (2, 13, 21, 40), "keys", names), masked("rows", (1, 3, 17, 40), "queries", names)]
    edges = [(1, 1, 1, 1), (1, 3, 37, 11), (1, 5, 50, 63), (2, 4, 64, 64), (3, 9, 65, 130), (1, 1, 130, 264)]
    for number, extents in enumerate(edges):
        for a_k_last in (True, False):
            for b_k_last in (True, False):
                layout = ("k" if a_k_last else "m") + ("k" if b_k_last else "n")
                storage = (F16, BF16, F32)[number % 3]
                schedule = list(SCHEDULES.values())[number % len(SCHEDULES)]
                name = f"{'x'.join(map(str, extents))}-{layout}-{storage}"
                found.append(plain(name, extents, schedule, storage=storage, a_k_last=a_k_last, b_k_last=b_k_last))
    for name, schedule in SCHEDULES.items():
        found.append(plain(f"{name}-ragged", (2, 7, 41, 53), schedule))
        found.append(plain(f"{name}-even-f32", (1, 8, 96, 512), schedule, storage=F32))
        found.append(plain(f"{name}-across", (1, 3, 96, 200), schedule, b_k_last=False, storage=(F16, F32)[len(name) % 2]))
        found.append(plain(f"{name}-ring", (1, 3, 70, 1800), schedule, tile_k=512))
    for name, schedule in TENSOR.items():
        found.append(plain(f"{name}-mma-ragged", (2, 17, 41, 72), schedule))
        found.append(plain(f"{name}-mma-even", (1, schedule.tile_m, 96, 512), schedule, storage=BF16))
        found.append(plain(f"{name}-mma-ring", (1, 19, 70, 1800), schedule, tile_k=256))
        found.append(plain(f"{name}-mma-transposed", (1, 40, 48, 136), schedule, a_k_last=False))
    found.append(plain("f16-result-f32", (1, 13, 20, 40), narrow, result=F32))
    found.append(plain("no-steps", (2, 5, 6, 0), rows))
    found.append(plain("many-batches", (65537, 1, 2, 3), SCHEDULES["one"]))
    for is_plain in (True, False):
        found += [guarded(rows, F16, is_plain=is_plain), guarded(narrow, F16, is_plain=is_plain)]
    found.append(guarded(SCHEDULES["one"], F32, is_plain=False))
    found.append(with_long_indices(fused(rows, F16, b_k_last=True)))
    for schedule_name, extents, divisor, tile_k in (
        ("one", (1, 3, 41, 53), 1, 0),
        ("rows", (2, 7, 48, 520), 8, 0),
        ("rows", (1, 4, 48, 1000), 8, 256),
        ("sliced", (1, 1, 8, 1096), 8, 0),
        ("narrow", (1, 19, 40, 1000), 8, 256),
    ):
        schedule = {**SCHEDULES, **TENSOR}[schedule_name]
        one = plain(f"{schedule_name}-{'x'.join(map(str, extents))}", extents, schedule, tile_k=tile_k)
        found += [opened(one, names, divisor) for names in (("m", "n", "k", "mnk") if tile_k else ("m", "n"))]
    for storage, extents, divisor, tile_k in ((F16, (3, 24, 520), 8, 256), (F32, (2, 9, 77), 1, 32), (BF16, (4, 40, 1800), 8, 512)):
        found.append(computed_and_open(rows, storage, extents, divisor, tile_k))
    found.append(computed_and_open(narrow, F16, (9, 24, 264), 8, 128))
    for name in ("sm_80", "sm_90a", "emulated"):
        for extents in ((1, 1, 304, 256), (1, 16, 200, 136), (1, 49, 96, 64), (4, 1, 100, 33)):
            problem = plain("", extents, rows).request.problem
            schedule = FAMILY.choose(problem, target(name))
            if schedule.cluster_k == 1:
                found.append(plain(f"chosen-{name}-{'x'.join(map(str, extents))}", extents, schedule, tile_k=schedule.tile_k))
    return tuple(found)

"""Cases of the gemm_mma family: orientations, edges, schedules, types, prologues and epilogues."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.index_map import from_strides, identity, padded
from nautilus_cli.ir.types import BF16, F16, F32, I32, I64, DType
from nautilus_cli.kernels.gemm_mma import FAMILY, Problem, Schedule
from nautilus_cli.kernels.mma_product import with_vectors
from nautilus_cli.lowering.building.lowered import main_storage
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases import attention_scores, products, prologues
from tests.emulated.cases.gemm import with_long_indices
from tests.emulated.cases.products import dense, gated, opened, shaped, summarised, worked_on
from tests.emulated.harness import Case, output

SCHEDULES = {
    "square": Schedule(tile_m=32, tile_n=32, tile_k=32, warp_m=16, warp_n=16, stages=2),
    "wide": Schedule(tile_m=64, tile_n=128, tile_k=32, warp_m=32, warp_n=64, stages=3, group_m=2),
    "tall": Schedule(tile_m=128, tile_n=32, tile_k=16, warp_m=32, warp_n=32, stages=6, group_m=8),
    "sliced": Schedule(tile_m=64, tile_n=32, tile_k=64, warp_m=64, warp_n=32, slices_k=4, stages=3),
    "halved": Schedule(tile_m=32, tile_n=64, tile_k=128, warp_m=32, warp_n=16, slices_k=2, stages=2),
    "single": Schedule(tile_m=16, tile_n=16, tile_k=16, warp_m=16, warp_n=16, stages=4),
    "narrow": Schedule(tile_m=16, tile_n=64, tile_k=128, warp_m=16, warp_n=64, slices_k=4, stages=2),
    "shallow": Schedule(tile_m=64, tile_n=64, tile_k=16, warp_m=16, warp_n=64, stages=2),
    "broad": Schedule(tile_m=32, tile_n=128, tile_k=32, warp_m=16, warp_n=128, stages=2),
    "deep": Schedule(tile_m=16, tile_n=32, tile_k=128, warp_m=16, warp_n=16, stages=5),
}
"""By name; vectors are as long as each problem allows. Depths are for 16 bits."""


def tf32(array: np.ndarray) -> np.ndarray:
    """Return float32 numbers rounded to tf32, ties away from zero."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


def multiplied(a: np.ndarray, b: np.ndarray, problem: Problem) -> np.ndarray:
    """Return the products' sums in float64, of operands as tensor cores get them."""
    narrow = [x.astype(np.float32) for x in (a, b)]
    if problem.multiply != F32:
        left, right = (x.astype(problem.multiply.numpy).astype(np.float64) for x in narrow)
        return np.matmul(left, right)
    large = [tf32(x) for x in narrow]
    sums = np.matmul(*(x.astype(np.float64) for x in large))
    if problem.terms == 3:
        small = [tf32(x - y).astype(np.float64) for x, y in zip(narrow, large, strict=True)]
        sums += np.matmul(small[0], large[1].astype(np.float64)) + np.matmul(large[0].astype(np.float64), small[1])
    return sums


def product_case(
    name: str,
    problem: Problem,
    schedule: Schedule,
    buffers: tuple[np.ndarray, ...],
    a: Expression,
    b: Expression,
    epilogue: Expression,
) -> Case:
    """Return the case whose expected buffers follow the functors in float64."""
    chosen = with_vectors(problem.product, deep_enough(problem, schedule))
    operation = (buffers, a, b, epilogue)
    return products.product_case(name, "gemm_mma", problem, chosen, operation, lambda left, right: multiplied(left, right, problem))


def deep_enough(problem: Problem, schedule: Schedule) -> Schedule:
    """Return the schedule with a depth for the type: half as many elements of 32 bits."""
    return replace(schedule, tile_k=schedule.tile_k * 2 // problem.multiply.bytes)


def plain(
    name: str,
    extents: tuple[int, int, int, int],
    schedule: Schedule,
    *,
    storage: DType = F16,
    multiply: DType | None = None,
    result: DType | None = None,
    terms: int = 1,
    a_k_last: bool = True,
    b_k_last: bool = True,
) -> Case:
    """Return a dense product of (batch, m, n, k) extents: slots 0 and 1 are A and B, 2 the result."""
    k = extents[3]
    result = storage if result is None else result
    problem = Problem(
        **shaped(extents, a_k_last=a_k_last, b_k_last=b_k_last),
        multiply=storage if multiply is None else multiply,
        terms=terms,
        a_storage=storage,
        b_storage=storage,
        b_is_constant=k % 2 == 0,
    )
    operation = dense(extents, storage=storage, result=result, a_k_last=a_k_last, b_k_last=b_k_last)
    return product_case(name, problem, schedule, *operation)


def fused(schedule: Schedule, storage: DType) -> Case:
    """Return a product with work before and after it."""
    extents = (2, 37, 24, 40)
    problem = Problem(**shaped(extents, b_k_last=False), multiply=storage, a_storage=storage, b_storage=storage)
    name = f"fused-{storage}-{schedule.slices_k}"
    return product_case(name, problem, schedule, *worked_on(extents, storage, b_k_last=False))


def summarises(schedule: Schedule, extents: tuple[int, int, int, int], *, result: DType = F16, shift: float = 0.0) -> Case:
    """Return a product of (batch, m, n, k) extents that leaves statistics of its rows."""
    problem = Problem(**products.summarises(extents))
    name = f"summarises-{result}-{'x'.join(map(str, extents))}-{schedule.slices_k}-{schedule.tile_n}"
    return product_case(name, problem, schedule, *summarised(extents, result, shift=shift))


def normalises(schedule: Schedule, extents: tuple[int, int, int, int], *, shift: float = 0.0, is_paired: bool = False) -> Case:
    """Return a product of (batch, m, results, k) extents of rows that its epilogue normalises."""
    operation = products.normalised(extents, shift=shift, is_paired=is_paired)
    problem = Problem(**products.normalises(extents, is_paired=is_paired))
    name = f"normalises-{'paired-' if is_paired else ''}{'x'.join(map(str, extents))}-{schedule.slices_k}-{schedule.tile_n}"
    return product_case(name, problem, schedule, *operation)


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
        f"paired-{storage}-{'x'.join(map(str, extents))}-{schedule.slices_k}-{schedule.tile_n}", problem, schedule, *operation
    )


def masked(schedule_name: str, extents: tuple[int, int, int, int], mask: str, names: str = "", *, is_merged: bool = False) -> Case:
    """Return scores of attention of (sequences, m, n, k) extents, to which a mask is added; extents NAMES are arguments."""
    shape = (extents[0] * attention_scores.HEADS, *extents[1:])
    problem = Problem(**shaped(shape), multiply=F16)
    name = f"masked-{mask}{'-merged' if is_merged else ''}-{schedule_name}-{'x'.join(map(str, shape))}"
    case = product_case(name, problem, SCHEDULES[schedule_name], *attention_scores.masked(extents, mask, is_merged=is_merged))
    if not names:
        return case

    def of(opened: Problem) -> products.Functors:
        return attention_scores.masked_functors((extents[0], opened.m, opened.n, opened.k), mask, is_merged=is_merged, storage=F16)

    return products.with_open_extents(case, names, of)


def masked_cases() -> list[Case]:
    """Return products whose results are stored one by one, beside one another and not: odd rows and columns, masks of all kinds."""
    found = [masked(schedule, (1, 93, 93, 64), "heads", names) for schedule in ("square", "wide", "broad") for names in ("", "mn")]
    found += [masked("wide", (2, 35, 67, 40), mask, names) for mask in (*attention_scores.MASKS, "turned") for names in ("", "mn")]
    found += [masked("wide", (1, m, n, 24), "heads", "mn") for m in (1, 3, 93) for n in (1, 3, 65) if (m, n) != (93, 65)]
    found += [masked(schedule, (1, 67, n, 24), "heads", "m") for schedule in ("shallow", "wide", "single") for n in (61, 66, 68)]
    found += [masked(schedule, (1, 35, 92, 24), "heads") for schedule in ("square", "broad")]
    found += [masked(schedule, (1, 651, 21, 16), "keys", "m") for schedule in ("tall", "narrow")]
    found += [masked(schedule, (2, 45, 51, 64), "shared", names, is_merged=True) for schedule in ("wide", "sliced") for names in ("", "mn")]
    return found


def displaced(schedule_name: str, extents: tuple[int, int, int, int], storage: DType = F16, *, pitch: int, first: int) -> Case:
    """Return a product of (batch, m, n, k) extents whose rows lie PITCH elements apart, from the element FIRST on: beside them lie NaNs."""
    batch, m, n, k = extents
    maps = [from_strides((batch, rows, k), (rows * pitch, pitch, 1), first) for rows in (m, n)]
    buffers = []
    for number, rows in enumerate((m, n)):
        whole = np.full(first + batch * rows * pitch, np.nan, np.float32)
        inside = whole[first:].reshape(batch, rows, pitch)
        inside[..., :k] = np.random.default_rng(number).integers(-9, 10, (batch, rows, k))
        buffers.append(whole[: first + batch * rows * pitch - (pitch - k)].astype(storage.numpy))
    epilogue = Steps()
    epilogue.store(epilogue.parameter(0), 2, F32, identity((batch, m, n)))
    problem = Problem(**shaped(extents), multiply=storage, a_storage=storage, b_storage=storage)
    operation = (products.read(0, storage, maps[0]), products.read(1, storage, maps[1]), epilogue.expression())
    name = f"displaced-{schedule_name}-{storage}-{'x'.join(map(str, extents))}-{pitch}-{first}"
    return product_case(name, problem, SCHEDULES[schedule_name], (*buffers, output(batch * m * n, F32.numpy)), *operation)


def word_cases() -> list[Case]:
    """Return products whose rows begin anywhere: of depths that no vector divides, known and open, and of a pitch of their own."""
    found = [displaced("square", (2, 35, 21, k), pitch=k, first=0) for k in (1, 15, 17, 31, 33, 63, 65, 95, 97)]
    found += [displaced(name, (2, 37, 19, 93), pitch=97, first=1) for name in SCHEDULES]
    found += [displaced("wide", (3, 33, 40, 61), BF16, pitch=pitch, first=first) for pitch in (61, 62, 65) for first in (0, 1, 2)]
    for schedule_name, k, names in (("square", 93, "mk"), ("wide", 94, "k"), ("sliced", 127, "mk"), ("single", 2, "k"), ("deep", 96, "mk")):
        one = plain(f"words-{schedule_name}-{k}", (3, 61, 40, k), SCHEDULES[schedule_name], b_k_last=k % 2 == 1)  # 40 columns have vectors
        singly = replace(one.request.schedule, vector_a=1, vector_b=1 if k % 2 else one.request.schedule.vector_b)
        found.append(opened(replace(one, request=replace(one.request, schedule=singly)), names))
    return found


def guarded(schedule: Schedule, storage: DType, channels: int, *, is_plain: bool) -> Case:
    """Return a product whose A is padded along m: what is outside reads as zero and nothing is read there. Where it is not plain, one is
    added to both operands, so that steps beyond k, which must add nothing, would show."""
    m, n, k = 35, 16, channels
    left, right, epilogue = Steps(), Steps(), Steps()
    loaded = left.load(0, storage, padded((1, m - 5, k), (0, 2, 0), (1, m, k)))
    other = right.load(1, storage, identity((1, n, k)))
    a = left.expression(loaded if is_plain else left.apply("add", loaded, left.constant(1.0)))
    b = right.expression(other if is_plain else right.apply("add", other, right.constant(1.0)))
    epilogue.store(epilogue.parameter(0), 2, F32, identity((1, m, n)))
    problem = Problem(batch=1, m=m, n=n, k=k, a_k_last=True, b_k_last=True, multiply=storage, a_storage=storage, b_storage=storage)
    whole = [np.random.default_rng(i).integers(-9, 10, size).astype(storage.numpy) for i, size in enumerate(((m - 5) * k, n * k))]
    name = f"guarded-{storage}-{channels}-{'plain' if is_plain else 'computed'}"
    return product_case(name, problem, schedule, (*whole, output(m * n, F32.numpy)), a, b, epilogue.expression())


def computed(
    name: str,
    schedule: Schedule,
    storage: DType,
    operation: products.Operation,
    extents: tuple[int, int, int, int],
    *,
    a_k_last: bool = True,
) -> Case:
    """Return a product whose A is computed, or lies in no strided matrix."""
    problem = Problem(
        **shaped(extents, a_k_last=a_k_last),
        multiply=storage,
        a_storage=main_storage(operation[1], storage),
        b_storage=storage,
        b_is_constant=True,
    )
    return product_case(f"computed-{name}-{storage}", problem, schedule, *operation)


def computed_cases() -> list[Case]:
    """Return products whose A is computed."""
    square, sliced, wide = SCHEDULES["square"], SCHEDULES["sliced"], SCHEDULES["wide"]
    ragged, heads, rows = (2, 131, 72, 88), prologues.merged_heads().extents, (1, 70, 40, 72)
    outside = computed("gathered-outside", sliced, F16, prologues.gathered_left(rows, F16, I32, is_outside=True), rows)
    return [
        computed("gathered", wide, F16, prologues.gathered_left(rows, F16, I64), rows),
        computed("gathered-scaled", square, BF16, prologues.gathered_left(rows, BF16, I32, scales=True), rows),
        prologues.with_status(outside),
        computed("gated", wide, F16, prologues.gated_left(ragged, F16), ragged),
        computed("normalised", sliced, BF16, prologues.normalised_left(ragged, BF16), ragged),
        computed("normalised-wide", wide, F16, prologues.normalised_left((1, 64, 128, 96), F16), (1, 64, 128, 96)),
        computed("cast", square, F16, prologues.cast_left(ragged, F16), ragged),
        computed("transposed", wide, F16, prologues.transposed_left(ragged, F16), ragged, a_k_last=False),
        computed("pitched", sliced, BF16, prologues.pitched_left(ragged, BF16, 91), ragged),
        computed("merged", square, F16, prologues.merged_left(40, F16), (1, heads[1], 40, heads[2])),
        computed("twice-mapped", sliced, F16, prologues.twice_mapped_left(72, F16), (1, 70, 72, 48)),
    ]


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases."""
    found: list[Case] = [fused(SCHEDULES["square"], F16), fused(SCHEDULES["sliced"], BF16), fused(SCHEDULES["halved"], F32)]
    found.append(summarises(SCHEDULES["wide"], (2, 70, 160, 64)))
    found.append(summarises(SCHEDULES["sliced"], (1, 70, 96, 128), result=F32, shift=64.0))
    found.append(summarises(SCHEDULES["narrow"], (1, 21, 64, 200)))
    found.append(normalises(SCHEDULES["wide"], (2, 70, 136, 96)))
    found.append(normalises(SCHEDULES["sliced"], (1, 70, 96, 256), shift=4.0))
    found.append(normalises(SCHEDULES["narrow"], (1, 21, 64, 1248), shift=-1.0))
    found.append(normalises(SCHEDULES["square"], (1, 37, 40, 64), is_paired=True))
    found.append(paired(SCHEDULES["square"], F16, (2, 37, 21, 40)))
    found.append(paired(SCHEDULES["wide"], BF16, (1, 70, 72, 64), has_residual=False))
    found.append(paired(SCHEDULES["sliced"], F16, (1, 64, 44, 128)))
    found.append(paired(SCHEDULES["narrow"], F32, (1, 5, 34, 72)))
    square = SCHEDULES["square"]
    edges = [
        (1, 1, 1, 1),
        (1, 13, 37, 11),
        (1, square.tile_m - 1, square.tile_n - 1, square.tile_k - 1),
        (1, square.tile_m, square.tile_n, square.tile_k),
        (1, square.tile_m + 1, square.tile_n + 1, square.tile_k + 1),
        (3, 2 * square.tile_m, 2 * square.tile_n, 4 * square.tile_k),
        (1, 44, 52, 36),
    ]
    for number, extents in enumerate(edges):
        for a_k_last in (True, False):
            for b_k_last in (True, False):
                layout = ("k" if a_k_last else "m") + ("k" if b_k_last else "n")
                name = "x".join(map(str, extents))
                storage = (F16, BF16, F32)[number % 3]
                schedule = square if number % 2 == 0 or number == 5 else SCHEDULES["halved"]
                found.append(plain(f"{name}-{layout}-{storage}", extents, schedule, storage=storage, a_k_last=a_k_last, b_k_last=b_k_last))
    for schedule_name, schedule in SCHEDULES.items():
        found.append(plain(f"{schedule_name}-ragged", (2, 67, 41, 53), schedule))
        found.append(plain(f"{schedule_name}-even", (1, 144, 136, 192), schedule, a_k_last=schedule_name != "wide"))
        found.append(plain(f"{schedule_name}-tf32", (1, 72, 68, 100), schedule, storage=F32, b_k_last=schedule_name != "tall"))
    found.append(plain("two-columns", (1, 48, 50, 64), square, result=F32))
    found.append(plain("four-columns", (1, 48, 52, 64), square, result=F32))
    found.append(plain("f32-as-f16", (1, 33, 20, 40), square, storage=F32, multiply=F16))
    found.append(plain("f16-as-bf16", (1, 33, 18, 40), square, multiply=BF16, b_k_last=False))
    found.append(plain("no-steps", (2, 5, 6, 0), square))
    found.append(plain("many-batches", (65537, 1, 2, 3), SCHEDULES["single"]))
    for layout in ((True, True), (False, False)):
        name = f"three-terms-{'kk' if layout[0] else 'mn'}"
        found.append(plain(name, (1, 70, 52, 132), SCHEDULES["square"], storage=F32, terms=3, a_k_last=layout[0], b_k_last=layout[1]))
    found.append(guarded(square, F16, 40, is_plain=True))
    found.append(guarded(square, F16, 21, is_plain=False))
    found.append(guarded(square, F32, 40, is_plain=True))
    found.append(with_long_indices(fused(square, F16)))
    for schedule_name, extents, divisor in (
        ("wide", (1, 167, 141, 53), 1),
        ("sliced", (2, 136, 72, 200), 8),
        ("tall", (1, 600, 40, 96), 8),
    ):
        one = plain(f"{schedule_name}-{'x'.join(map(str, extents))}", extents, SCHEDULES[schedule_name], b_k_last=schedule_name != "tall")
        found += [opened(one, names, divisor) for names in ("m", "n", "k", "mnk")]
    for name in ("sm_80", "sm_90a", "emulated"):
        for extents in ((1, 49, 200, 136), (1, 1, 304, 256), (1, 130, 96, 64)):
            problem = plain("", extents, square).request.problem
            found.append(plain(f"chosen-{name}-{extents[1]}", extents, FAMILY.choose(problem, target(name))))
    return (*found, *masked_cases(), *word_cases(), *computed_cases())

"""Cases of the gemm_wgmma family: orientations, edges, schedules, types, strided operands and epilogues."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.index_map import from_strides, identity, regroup
from nautilus_cli.ir.types import BF16, F16, F32, I32, I64, DType
from nautilus_cli.kernels import boxes
from nautilus_cli.kernels.gemm_wgmma import FAMILY, Problem, Schedule
from nautilus_cli.kernels.wgmma_product import completed
from nautilus_cli.lowering.building.lowered import main_storage
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases import products, prologues
from tests.emulated.cases.products import gated, opened, read, shaped, summarised, values
from tests.emulated.harness import Case, output

SCHEDULES = {
    "single": Schedule(tile_m=64, tile_n=64, consumers=1, stages=2, blocks=2),
    "shared": Schedule(tile_m=128, tile_n=128, consumers=2, stages=3, group_m=2, blocks=3),
    "banded": Schedule(tile_m=128, tile_n=64, consumers=1, stages=4, blocks=1),
    "turns": Schedule(tile_m=64, tile_n=128, consumers=2, ping_pong=True, stages=3, blocks=2),
    "three": Schedule(tile_m=192, tile_n=64, consumers=3, stages=2, blocks=2),
    "narrow": Schedule(tile_m=64, tile_n=8, consumers=1, stages=3, blocks=2),
    "boxes": Schedule(tile_m=128, tile_n=128, consumers=2, stages=3, group_m=2, stores_boxes=True, blocks=3),
    "boxes-turns": Schedule(tile_m=64, tile_n=192, consumers=2, ping_pong=True, stages=3, stores_boxes=True, blocks=2),
    "boxes-bands": Schedule(tile_m=128, tile_n=64, consumers=1, stages=3, stores_boxes=True, blocks=2),
    "slices": Schedule(tile_m=64, tile_n=64, consumers=2, slices_depth=True, stages=3, blocks=1),
    "three-slices": Schedule(tile_m=128, tile_n=48, consumers=3, slices_depth=True, stages=4, blocks=1),
    "slices-two-finish": Schedule(tile_m=64, tile_n=64, consumers=3, slices_depth=True, stages=4, blocks=1),
    "swapped": Schedule(tile_m=64, tile_n=16, consumers=1, swaps=True, stages=3, early_trigger=True, blocks=2),
    "swapped-bands": Schedule(tile_m=128, tile_n=64, consumers=1, swaps=True, stages=2, blocks=3),
    "swapped-slices": Schedule(tile_m=64, tile_n=32, consumers=2, swaps=True, slices_depth=True, stages=3, blocks=1),
    "odd": Schedule(tile_m=64, tile_n=40, consumers=3, ping_pong=True, stages=5, blocks=1),
}
"""By name; k is last where a tile's width asks for that."""


def tf32(array: np.ndarray) -> np.ndarray:
    """Return float32 numbers as a bulk copy makes them tf32: rounded, ties to even."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    return ((bits + np.uint32(0xFFF) + (bits >> np.uint32(13) & np.uint32(1))) & np.uint32(0xFFFFE000)).view(np.float32)


def tf32_by_threads(array: np.ndarray) -> np.ndarray:
    """Return float32 numbers as instructions make them tf32: rounded, ties away from zero."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


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

    def multiplied(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        left, right = (x.astype(np.float32).astype(problem.multiply.numpy) for x in (left, right))
        if problem.multiply == F32 and problem.terms == 1:
            left, right = (tf32_by_threads(left) if problem.computes_a else tf32(left), tf32(right))
        return np.matmul(left.astype(np.float64), right.astype(np.float64))

    operation = (buffers, a, b, epilogue)
    return products.product_case(name, "gemm_wgmma", problem, fitted(problem, schedule), operation, multiplied)


def fitted(problem: Problem, schedule: Schedule) -> Schedule:
    """Return the schedule with the widest vectors, and a block for each tile where parts of the depth need that."""
    whole = completed(problem.product, schedule, target("emulated"))
    return replace(
        schedule, vector_a=whole.vector_a, vector_c=whole.vector_c, blocks=whole.blocks if schedule.parts > 1 else schedule.blocks
    )


def plain(
    name: str,
    extents: tuple[int, int, int, int],
    schedule: Schedule,
    *,
    storage: DType = F16,
    result: DType | None = None,
    a_k_last: bool = True,
    b_k_last: bool = True,
    terms: int = 1,
) -> Case:
    """Return a product of (batch, m, n, k) extents whose rows lie at multiples of 16 bytes: slots 0 and 1 are A and B, 2 the result."""
    batch, m, n, k = extents
    result = storage if result is None else result
    problem = Problem(**shaped(extents, a_k_last=a_k_last, b_k_last=b_k_last), multiply=storage, terms=terms, b_is_constant=n % 2 == 1)
    steps = Steps()
    steps.store(steps.parameter(0, F32), 2, result, identity((batch, m, n)))
    epilogue = steps.expression()
    problem = replace(problem, result_bytes=0 if boxes.result_violations(epilogue) else result.bytes)
    buffers, functors = [], []
    for slot, (outer, k_last) in enumerate(((m, a_k_last), (n, b_k_last))):
        rows, columns = (outer, k) if k_last else (k, outer)
        pitch = -(-columns * storage.bytes // 16) * 16 // storage.bytes
        buffers.append(values(batch * rows * pitch, storage, slot + 1))
        functors.append(read(slot, storage, from_strides((batch, rows, columns), (rows * pitch, pitch, 1))))
    return product_case(name, problem, schedule, (*buffers, output(batch * m * n, result.numpy)), *functors, epilogue)


def fused(schedule: Schedule, storage: DType) -> Case:
    """Return attention's first product with work after it: A is [batch, sequence, heads, width], B has heads shared by pairs; the result is
    scaled, biased by column and by a residual, clamped, and stored twice, once transposed."""
    batch, heads, m, n, k = 2, 4, 72, 24, 48
    at_a = regroup(from_strides((batch, heads, m, k), (m * heads * k, k, heads * k, 1)), [[0, 1], [2], [3]])
    at_b = regroup(from_strides((batch, heads // 2, 2, n, k), (heads // 2 * n * k, n * k, 0, k, 1)), [[0, 1, 2], [3], [4]])
    where = identity((batch * heads, m, n))
    epilogue = Steps()
    scaled = epilogue.apply("mul", epilogue.parameter(0), epilogue.constant(0.125))
    biased = epilogue.apply("add", scaled, epilogue.load(2, storage, from_strides((batch * heads, m, n), (0, 0, 1))))
    summed = epilogue.apply("add", biased, epilogue.load(3, storage, where))
    epilogue.store(epilogue.apply("relu", summed), 4, storage, from_strides((batch * heads, m, n), (m * n, 1, m)))
    epilogue.store(summed, 5, F32, where)
    problem = Problem(batch=batch * heads, m=m, n=n, k=k, a_k_last=True, b_k_last=True, multiply=storage)
    return product_case(
        f"fused-{storage}-{schedule.tile_m}",
        problem,
        schedule,
        (
            values(batch * m * heads * k, storage, 1),
            values(batch * heads // 2 * n * k, storage, 2),
            values(n, storage, 3),
            values(batch * heads * m * n, storage, 4),
            output(batch * heads * m * n, storage.numpy),
            output(batch * heads * m * n, F32.numpy),
        ),
        read(0, storage, at_a),
        read(1, storage, at_b),
        epilogue.expression(),
    )


def sent(schedule: Schedule, storage: DType) -> Case:
    """Return heads' products, biased by column and clamped, whose boxes go to [batch, sequence, heads, width]: attention's second."""
    batch, heads, m, n, k = 2, 3, 72, 64, 40
    epilogue = Steps()
    biased = epilogue.apply("add", epilogue.parameter(0), epilogue.load(2, storage, from_strides((batch * heads, m, n), (0, 0, 1))))
    activated = epilogue.apply("relu", biased)
    heads_inside = from_strides((batch, heads, m, n), (m * heads * n, n, heads * n, 1))
    epilogue.store(activated, 3, storage, regroup(heads_inside, [[0, 1], [2], [3]]))
    problem = Problem(
        batch=batch * heads, m=m, n=n, k=k, a_k_last=True, b_k_last=True, multiply=storage, b_is_constant=True, result_bytes=storage.bytes
    )
    return product_case(
        f"sent-{storage}-{schedule.tile_m}",
        problem,
        schedule,
        (
            values(batch * heads * m * k, storage, 1),
            values(batch * heads * n * k, storage, 2),
            values(n, storage, 3),
            output(batch * heads * m * n, storage.numpy),
        ),
        read(0, storage, identity((batch * heads, m, k))),
        read(1, storage, identity((batch * heads, n, k))),
        epilogue.expression(),
    )


def activated(schedule: Schedule, storage: DType, extents: tuple[int, int, int, int], *, has_residual: bool = False) -> Case:
    """Return a product with a bias, or a residual in its place, and GELU for results of 16 bits: boxes of them are finished beside other
    tiles' products or alone, vectors of them are exchanged as results where all rows have one bias."""
    batch, m, n, k = extents
    epilogue, where = Steps(), (batch, m, n)
    added = identity(where) if has_residual else from_strides(where, (0, 0, 1))
    biased = epilogue.apply("add", epilogue.parameter(0), epilogue.load(2, storage, added))
    epilogue.store(epilogue.apply("gelu", biased, epilogue.constant(2.0)), 3, storage, identity(where))
    problem = Problem(**shaped(extents), multiply=storage, b_is_constant=True, result_bytes=storage.bytes)
    return product_case(
        f"activated-{storage}-{k}",
        problem,
        schedule,
        (
            values(batch * m * k, storage, 1),
            values(batch * n * k, storage, 2),
            values(batch * m * n if has_residual else n, storage, 3),
            output(batch * m * n, storage.numpy),
        ),
        read(0, storage, identity((batch, m, k))),
        read(1, storage, identity((batch, n, k))),
        epilogue.expression(),
    )


def summarises(schedule: Schedule, extents: tuple[int, int, int, int], *, result: DType = F16, shift: float = 0.0) -> Case:
    """Return a product of (batch, m, n, k) extents that leaves statistics of its rows."""
    problem = Problem(**products.summarises(extents))
    name = f"summarises-{result}-{'x'.join(map(str, extents))}-{schedule.tile_m}x{schedule.tile_n}"
    return product_case(name, problem, schedule, *summarised(extents, result, shift=shift))


def normalises(schedule: Schedule, extents: tuple[int, int, int, int], *, shift: float = 0.0, is_paired: bool = False) -> Case:
    """Return a product of (batch, m, results, k) extents of rows that its epilogue normalises."""
    operation = products.normalised(extents, shift=shift, is_paired=is_paired)
    problem = Problem(**products.normalises(extents, is_paired=is_paired))
    if not boxes.result_violations(operation[3]):
        problem = replace(problem, result_bytes=F16.bytes)
    name = f"normalises-{'paired-' if is_paired else ''}{'x'.join(map(str, extents))}-{schedule.tile_m}x{schedule.tile_n}-{schedule.parts}"
    return product_case(name, problem, schedule, *operation)


def paired(schedule: Schedule, storage: DType, extents: tuple[int, int, int, int], *, has_residual: bool = True, terms: int = 1) -> Case:
    """Return a gated unit of (batch, m, results, k) extents."""
    operation = gated(extents, storage, has_residual=has_residual)
    problem = Problem(
        **shaped(extents, sums=2),
        multiply=storage,
        terms=terms,
        b_is_constant=True,
        result_bytes=0 if boxes.result_violations(operation[3]) else storage.bytes,
        is_paired=True,
    )
    return product_case(
        f"paired-{storage}-{'x'.join(map(str, extents))}-{schedule.tile_m}x{schedule.tile_n}-{terms}", problem, schedule, *operation
    )


def computed(
    name: str,
    schedule: Schedule,
    storage: DType,
    operation: products.Operation,
    extents: tuple[int, int, int, int],
    *,
    a_k_last: bool = True,
    terms: int = 1,
    index_bits: int = 32,
) -> Case:
    """Return a product whose A no bulk copy brings."""
    problem = Problem(**shaped(extents, a_k_last=a_k_last), multiply=storage, terms=terms, b_is_constant=True)
    _, a, b, epilogue = operation
    problem = replace(FAMILY.fitted(problem, {"A": a, "B": b, "Epilogue": epilogue}), a_storage=main_storage(a, storage))
    assert problem.computes_a
    case = product_case(f"computed-{name}-{storage}-{schedule.tile_m}x{schedule.tile_n}", problem, schedule, *operation)
    return replace(case, request=replace(case.request, index_bits=index_bits))


def computed_cases() -> list[Case]:
    """Return products whose A is computed, by every schedule."""
    found = []
    ragged, odd = (2, 131, 72, 88), (1, 140, 80, 64)
    for number, (name, schedule) in enumerate((name, schedule) for name, schedule in SCHEDULES.items() if not schedule.swaps):
        extents = (1 + number % 2, 267, 136, 168 if number % 3 else 192)
        storage = (F16, BF16)[number % 2]
        found.append(computed(f"gated-{name}", schedule, storage, prologues.gated_left(extents, storage), extents))
    for name in ("single", "three", "turns"):
        operation = prologues.transposed_left(ragged, F16)
        found.append(computed(f"transposed-{name}", SCHEDULES[name], F16, operation, ragged, a_k_last=False))
    single, shared, banded = SCHEDULES["single"], SCHEDULES["shared"], SCHEDULES["banded"]
    found.append(computed("cast", shared, F16, prologues.cast_left(ragged, F16), ragged))
    found.append(computed("padded", banded, BF16, prologues.padded_left(odd, BF16), odd))
    found.append(computed("pitched", SCHEDULES["slices"], F16, prologues.pitched_left(ragged, F16, 91), ragged))
    scalar = (1, 65, 16, 57)
    found.append(computed("pitched-scalar", SCHEDULES["boxes-bands"], F16, prologues.pitched_left(scalar, F16, 57), scalar))
    for name, storage in (("shared", F16), ("turns", BF16)):
        found.append(computed(f"normalised-{name}", SCHEDULES[name], storage, prologues.normalised_left(ragged, storage), ragged))
    heads = prologues.merged_heads().extents
    found.append(computed("merged", shared, F16, prologues.merged_left(40, F16), (1, heads[1], 40, heads[2])))
    found.append(computed("twice-mapped", single, BF16, prologues.twice_mapped_left(72, BF16), (1, 70, 72, 48)))
    found.append(computed("tf32", shared, F32, prologues.scaled_left(ragged, F32), ragged))
    found.append(computed("split", banded, F32, prologues.scaled_left(ragged, F32), ragged, terms=3))
    rows = (1, 140, 72, 88)
    found.append(computed("gathered", shared, F16, prologues.gathered_left(rows, F16, I64), rows))
    found.append(computed("gathered-scaled", SCHEDULES["turns"], BF16, prologues.gathered_left(rows, BF16, I32, scales=True), rows))
    outside = computed("gathered-outside", single, F16, prologues.gathered_left(rows, F16, I32, is_outside=True), rows)
    found.append(prologues.with_status(outside))
    found.append(computed("long-indices", shared, F16, prologues.gated_left(ragged, F16), ragged, index_bits=64))
    return found


def open_depths() -> list[Case]:
    """Return products whose depth only the run knows: around what four stages, and a ring, hold; with B asked for alone, or A computed."""
    found = []
    ring = Schedule(tile_m=64, tile_n=32, consumers=1, stages=10, group_m=8, blocks=4)
    for steps, rows in ((1, 1), (4, 61), (5, 64), (8, 65), (9, 127), (10, 128), (11, 129), (23, 67)):
        k = 64 * steps - (56 if rows % 2 else 0)
        one = plain(f"ring-{k}", (1, rows, 40, k), ring)
        found += [opened(one, names, 8) for names in ("k", "mnk")]
    one = plain("ring-turns", (1, 193, 200, 328), SCHEDULES["turns"])
    found.append(opened(one, "mnk", 8))
    for k in (8, 64, 136, 328):  # n is odd, so that B is constant
        found.append(opened(plain(f"alone-{k}", (1, 71, 97, k), SCHEDULES["slices"]), "k", 8))
        found.append(opened(plain(f"swapped-alone-{k}", (1, 31, 65, k), SCHEDULES["swapped-slices"]), "k", 8))
        found.append(opened(plain(f"constant-{k}", (1, 131, 33, k), ring), "k", 8))
    extents = (2, 131, 72, 168)
    for name in ("shared", "turns", "slices"):
        found.append(with_open_depth(computed(f"gated-open-{name}", SCHEDULES[name], F16, prologues.gated_left(extents, F16), extents)))
    return found


def with_open_depth(case: Case) -> Case:
    """Return the case with the problem's depth as an argument, a multiple of 8; its functors know theirs."""
    sizes = {"k": case.request.problem.k}
    problem = replace(case.request.problem, k=symbol("k", 8, 100 * sizes["k"], 8))
    request = replace(case.request, problem=problem)
    scalars = request.scalar_values
    return replace(case, request=replace(request, scalars=len(scalars)), scalars=bind(scalars, sizes), sizes=sizes)


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases."""
    found: list[Case] = [fused(SCHEDULES["shared"], F16), fused(SCHEDULES["turns"], BF16), fused(SCHEDULES["swapped"], F16)]
    found += [sent(SCHEDULES["boxes"], F16), sent(SCHEDULES["boxes-turns"], BF16)]
    found.append(activated(replace(SCHEDULES["boxes-turns"], tile_n=64), F16, (1, 192, 192, 1024)))  # other tiles' products hide it
    found.append(activated(SCHEDULES["boxes-turns"], BF16, (1, 72, 200, 96)))
    found.append(activated(SCHEDULES["boxes"], F16, (1, 140, 136, 96)))
    found.append(activated(SCHEDULES["shared"], F16, (2, 140, 136, 64)))
    found.append(activated(SCHEDULES["turns"], BF16, (1, 70, 68, 128)))
    found.append(activated(SCHEDULES["banded"], F16, (1, 267, 72, 160)))
    found.append(activated(SCHEDULES["slices"], F16, (1, 70, 200, 256)))
    found.append(activated(SCHEDULES["shared"], F16, (1, 140, 136, 72), has_residual=True))
    found.append(summarises(SCHEDULES["shared"], (2, 140, 160, 96)))
    found.append(summarises(SCHEDULES["turns"], (1, 70, 96, 64), result=F32, shift=64.0))
    found.append(summarises(SCHEDULES["slices"], (1, 70, 192, 200)))
    found.append(normalises(SCHEDULES["shared"], (2, 140, 136, 96)))
    found.append(normalises(SCHEDULES["turns"], (1, 270, 96, 256), shift=4.0))
    found.append(normalises(SCHEDULES["banded"], (1, 267, 72, 1248), shift=-1.0))
    found.append(normalises(SCHEDULES["slices"], (1, 70, 192, 192)))
    found.append(normalises(SCHEDULES["boxes"], (1, 267, 136, 96), shift=2.0))
    found.append(normalises(SCHEDULES["boxes-turns"], (2, 130, 200, 64)))
    found.append(normalises(SCHEDULES["boxes-bands"], (1, 267, 136, 768)))
    found.append(normalises(SCHEDULES["shared"], (1, 140, 40, 64), is_paired=True))
    found.append(normalises(SCHEDULES["boxes"], (1, 140, 136, 64), is_paired=True))
    found.append(paired(SCHEDULES["shared"], F16, (2, 140, 77, 96)))
    found.append(paired(SCHEDULES["turns"], BF16, (1, 130, 72, 64)))
    found.append(paired(SCHEDULES["narrow"], F16, (1, 65, 13, 72)))
    found.append(paired(SCHEDULES["slices"], F16, (1, 70, 72, 200)))
    found.append(paired(SCHEDULES["single"], F32, (1, 64, 40, 64)))
    found.append(paired(SCHEDULES["banded"], F32, (1, 140, 34, 68), terms=3))
    found.append(paired(SCHEDULES["boxes"], F16, (2, 267, 136, 152), has_residual=False))
    found.append(paired(SCHEDULES["boxes"], F32, (1, 140, 68, 100), has_residual=False, terms=3))
    found.append(paired(replace(SCHEDULES["boxes-turns"], tile_n=128), BF16, (1, 150, 200, 128), has_residual=False))
    found.append(paired(SCHEDULES["boxes-bands"], F32, (1, 130, 72, 68), has_residual=False))
    edges = [(1, 1, 1, 1), (1, 13, 37, 11), (1, 63, 63, 63), (1, 64, 64, 64), (1, 65, 65, 65), (3, 128, 128, 256), (1, 200, 72, 100)]
    names = ["single", "banded", "shared", "turns"]
    for number, extents in enumerate(edges):
        for layout, (a_k_last, b_k_last) in {"kk": (True, True), "mk": (False, True), "kn": (True, False), "mn": (False, False)}.items():
            schedule = SCHEDULES[names[(number + len(found)) % 4]]
            storage = (F16, BF16)[number % 2]
            name = f"{'x'.join(map(str, extents))}-{layout}-{storage}"
            found.append(plain(name, extents, schedule, storage=storage, a_k_last=a_k_last, b_k_last=b_k_last))
            if number == len(edges) - 1:
                swapped = SCHEDULES["swapped-bands"]
                found.append(plain(f"swapped-{layout}", (2, 40, 200, 104), swapped, storage=storage, a_k_last=a_k_last, b_k_last=b_k_last))
    for name, schedule in SCHEDULES.items():
        found.append(plain(f"{name}-ragged", (2, 267, 136 if schedule.stores_boxes else 141, 153), schedule, a_k_last=name != "three"))
        found.append(plain(f"{name}-even", (1, 256, 264, 192), schedule, result=F32))
        found.append(plain(f"{name}-tf32", (1, 140, 68, 100), schedule, storage=F32))
    for number, name in enumerate(("single", "shared", "banded", "three", "boxes")):
        for k in (20, 64, 68, 128, 200):
            found.append(plain(f"split-{name}-{k}", (1 + number % 2, 140, 68, k), SCHEDULES[name], storage=F32, terms=3))
    found.append(plain("two-columns", (1, 80, 50, 64), SCHEDULES["single"]))
    found.append(plain("four-columns", (1, 80, 52, 64), SCHEDULES["single"]))
    found.append(plain("many-batches", (300, 1, 2, 8), SCHEDULES["single"]))
    for schedule_name, extents in (
        ("shared", (1, 200, 136, 72)),
        ("turns", (2, 136, 200, 200)),
        ("banded", (1, 1100, 72, 64)),
        ("boxes", (1, 264, 136, 136)),
        ("three-slices", (1, 136, 96, 8)),
    ):
        schedule = SCHEDULES[schedule_name]
        one = plain(f"{schedule_name}-{'x'.join(map(str, extents))}", extents, schedule)
        found += [opened(one, names, 8) for names in ("m", "n", "k", "mnk") if schedule.parts == 1 or names == "k"]
    found += open_depths()
    for name in ("sm_90a", "emulated"):
        for extents in ((1, 49, 200, 136), (1, 1, 304, 256), (1, 130, 96, 64)):
            problem = plain("", extents, SCHEDULES["single"]).request.problem
            chosen = FAMILY.choose(problem, target(name))
            if chosen.cluster == 1:
                found.append(plain(f"chosen-{name}-{extents[1]}", extents, chosen))
    return (*found, *computed_cases())

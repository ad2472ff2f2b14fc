from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.types import BF16, F16, F32, F64, DType
from nautilus_cli.kernels import skinny_product
from nautilus_cli.kernels.gemm_skinny import FAMILY, MOST_ROWS, Problem
from nautilus_cli.kernels.skinny_product import Schedule
from nautilus_cli.targets.registry import target

DOTS = Schedule(tile_m=2, tile_n=16, tile_k=1024, thread_n=4, lanes_k=32, loads=2, slices_k=2, vector_a=8, vector_b=8, vector_c=4)
TENSOR = Schedule(
    tile_m=16, tile_n=32, tile_k=1024, thread_n=2, lanes_k=4, loads=4, slices_k=4, vector_a=8, vector_b=8, vector_c=4, tensor_cores=True
)

extents = st.one_of(st.integers(1, 70), st.sampled_from((127, 128, 768, 1000, 3072, 11008, 128256)))


def problem(
    m: int, n: int, k: int, *, batch: int = 1, multiply: DType = F16, lasts: tuple[bool, bool] = (True, True), constant: bool = True
) -> Problem:
    return Problem(
        batch=batch,
        m=m,
        n=n,
        k=k,
        a_k_last=lasts[0],
        b_k_last=lasts[1],
        multiply=multiply,
        a_storage=multiply,
        b_storage=multiply,
        b_is_constant=constant,
    )


@settings(max_examples=25)
@given(
    st.integers(1, MOST_ROWS),
    extents,
    st.one_of(st.just(0), extents),
    st.sampled_from((1, 12, 70_000)),
    st.sampled_from((F16, BF16, F32)),
    st.tuples(st.booleans(), st.booleans()),
)
def test_choice_is_legal_for_any_problem(m: int, n: int, k: int, batch: int, multiply: DType, lasts: tuple[bool, bool]) -> None:
    given_problem = problem(m, n, k, batch=batch, multiply=multiply, lasts=lasts)
    for name in ("emulated", "sm_80", "sm_90a", "sm_120"):
        schedule = FAMILY.choose(given_problem, target(name))
        assert FAMILY.violations(given_problem, schedule, target(name)) == ()
        assert FAMILY.estimated_us(given_problem, schedule, target("sm_90a")) > 0


@pytest.mark.parametrize(
    ("schedule", "changes", "reason"),
    [
        (DOTS, {}, None),
        (TENSOR, {}, None),
        (DOTS, {"thread_n": 3}, "power of two"),
        (DOTS, {"lanes_k": 64}, "64 lanes along k"),
        (DOTS, {"tile_n": 2}, "a block has 2"),
        (DOTS, {"tile_m": 32}, "128 sums a thread"),
        (DOTS, {"tile_k": 1025}, "no multiple of the 1024"),
        (DOTS, {"tile_k": 1024 + 512}, "no multiple of the 1024"),
        (DOTS, {"cluster_k": 2}, None),
        (DOTS, {"cluster_k": 16}, "16 blocks in a cluster"),
        (DOTS, {"stages": 9}, "at most 8 are written"),
        (DOTS, {"slices_k": 1, "loads": 1, "tile_k": 256}, "one stage for 4 tiles"),
        (DOTS, {"slices_k": 1, "loads": 1, "tile_k": 256, "stages": 3}, None),
        (DOTS, {"tile_n": 128}, "2048 threads a block"),
        (DOTS, {"vector_a": 16}, "more than a transaction"),
        (DOTS, {"vector_c": 16}, "at most 8 are possible"),
        (DOTS, {"tile_n": 4, "vector_c": 8}, "at most 4 are possible"),
        (DOTS, {"loads": 8, "tile_k": 4096, "thread_n": 8, "tile_n": 32}, "registers a thread"),
        (DOTS, {"blocks": 8}, "registers a thread; 32 are available"),
        (DOTS, {"blocks": 2}, None),
        (TENSOR, {"tile_m": 8}, "tensor cores take 16 rows"),
        (TENSOR, {"lanes_k": 8, "tile_n": 32, "tile_k": 2048}, "tensor cores take 16 rows"),
        (TENSOR, {"thread_n": 1}, "tensor cores take 16 rows"),
        (TENSOR, {"tile_k": 8192, "stages": 2}, "shared memory"),
    ],
)
def test_violations_have_reasons(schedule: Schedule, changes: dict[str, int], reason: str | None) -> None:
    found = FAMILY.violations(problem(2, 1024, 1024), replace(schedule, **changes), target("sm_90a"))
    assert any(reason in text for text in found) if reason else found == (), found


@pytest.mark.parametrize(
    ("changes", "schedule", "reason"),
    [
        ({"multiply": F64}, DOTS, "operands of f64"),
        ({"accumulate": F16}, DOTS, "sums of f16"),
        ({"multiply": F32}, TENSOR, "would round"),
        ({"b_k_last": False}, TENSOR, "tensor cores take 16 rows"),
        ({"b_k_last": False}, DOTS, "the columns of one load are 8"),
        ({"k": 1020}, DOTS, "does not divide 1020"),
        ({"n": 1022}, DOTS, "vector_c of 4 does not divide n = 1022"),
    ],
)
def test_what_a_schedule_does_not_serve(changes: dict[str, object], schedule: Schedule, reason: str) -> None:
    found = FAMILY.violations(replace(problem(2, 1024, 1024), **changes), schedule, target("sm_90a"))
    assert any(reason in text for text in found), found


def test_clusters_need_a_target_that_has_them() -> None:
    found = FAMILY.violations(problem(2, 1024, 1024), replace(DOTS, cluster_k=2), target("sm_80"))
    assert found == ("2 blocks in a cluster; at most 1 are possible",)


def test_a_schedule_is_completed() -> None:
    sparse = replace(DOTS, tile_k=1, stages=7, vector_a=1, vector_b=1, vector_c=1)
    assert skinny_product.completed(problem(2, 1024, 1024).product, sparse) == DOTS
    ring = skinny_product.completed(problem(2, 1024, 5000).product, sparse, 2000)
    assert (ring.tile_k, ring.stages) == (2048, 3)
    across = skinny_product.completed(problem(2, 1024, 1024, lasts=(True, False)).product, replace(sparse, lanes_k=8))
    assert (across.thread_n, across.vector_b, across.tile_n) == (8, 8, 32)


def test_an_open_depth_has_room_for_the_greatest() -> None:
    on = target("sm_90a")
    chosen = FAMILY.choose(problem(1, 2048, 2048), on)
    depth = symbol("k", 8, 8192, 8)
    assert any("one stage" in reason for reason in undecided(problem(1, 2048, depth), chosen))
    for_all = FAMILY.for_all_sizes(problem(1, 2048, depth), chosen, on)
    assert (for_all.stages, for_all.tile_k) == (1, 8192) and FAMILY.violations(problem(1, 2048, depth), for_all, on) == ()
    assert FAMILY.for_all_sizes(problem(symbol("m", 1, 64), 2048, 2048), chosen, on) == chosen
    many = FAMILY.for_all_sizes(problem(64, 4096, depth), FAMILY.choose(problem(64, 4096, 512), on), on)
    assert many.stages == 3 and FAMILY.violations(problem(64, 4096, depth), many, on) == ()


def test_rows_that_an_open_depth_leaves_out_take_no_time() -> None:
    on, depth = target("sm_90a"), symbol("k", 8, 8192, 8)
    known = problem(1, 2048, 2048)
    chosen = FAMILY.choose(known, on)
    for_all = FAMILY.for_all_sizes(problem(1, 2048, depth), chosen, on)
    assert for_all.tile_k > chosen.tile_k
    assert FAMILY.estimated_us(known, for_all, on) == pytest.approx(FAMILY.estimated_us(known, chosen, on))
    assert FAMILY.open_ns(known, for_all, on) == pytest.approx(FAMILY.open_ns(known, chosen, on))


def undecided(given_problem: Problem, schedule: Schedule) -> tuple[str, ...]:
    """Return why a schedule does not serve the greatest depth."""
    return FAMILY.violations(replace(given_problem, k=upper(given_problem.k)), schedule, target("sm_90a"))


def test_shared_memory_holds_rows_or_the_sums_of_slices() -> None:
    assert skinny_product.smem_bytes(DOTS) == 2 * 1024 * 4
    assert skinny_product.smem_bytes(TENSOR) == 16 * 1024 * 2
    assert skinny_product.smem_bytes(replace(TENSOR, tile_k=64, tile_n=256)) == 4 * 16 * 260 * 4


def test_one_row_streams_from_enough_threads() -> None:
    """A product of one row is bound by memory: the choice has about as many bytes on their way as latency takes."""
    for n, k in ((2048, 2048), (8192, 2048), (2048, 8192), (128256, 2048)):
        given_problem = problem(1, n, k)
        schedule = FAMILY.choose(given_problem, target("sm_90a"))
        geometry = FAMILY.geometry(given_problem, schedule)
        on_their_way = min(geometry.grid[0], 132 * 2) * geometry.threads * schedule.loads * schedule.thread_n * 16
        assert on_their_way > min(n * k * 2 // 4, 4_000_000), schedule


@pytest.mark.parametrize(("n", "k"), [(8192, 2048), (2048, 8192), (4096, 4096)])
def test_one_row_takes_all_places_at_once(n: int, k: int) -> None:
    """Blocks of which multiprocessors hold more, or fewer, than each gets are unevenly shared out among them, which the estimate counts."""
    on = target("sm_90a")
    given_problem = problem(1, n, k)
    chosen = FAMILY.choose(given_problem, on)
    each = -(-FAMILY.geometry(given_problem, chosen).grid[0] // on.multiprocessors)
    more = replace(chosen, blocks=2 * each)
    assert FAMILY.estimated_us(given_problem, chosen, on) < 0.95 * FAMILY.estimated_us(given_problem, more, on)
    opened = problem(1, symbol("n", 8, 1 << 17, 8), symbol("k", 8, 8192, 8))
    for schedule in (chosen, more):
        ns = bind(FAMILY.open_ns(opened, schedule, on), {"n": n, "k": k})
        assert ns / 1000 == pytest.approx(FAMILY.estimated_us(given_problem, schedule, on), rel=0.07)


def test_the_space_holds_legal_points_with_and_without_tensor_cores() -> None:
    given_problem = problem(16, 4096, 4096)
    legal = [s for s in FAMILY.schedules(given_problem, target("sm_90a")) if not FAMILY.violations(given_problem, s, target("sm_90a"))]
    assert {s.tensor_cores for s in legal} == {False, True} and {s.cluster_k for s in legal} == {1, 2, 4, 8}
    assert {s.loads for s in legal} == {1, 2, 4, 8}

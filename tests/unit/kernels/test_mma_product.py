from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.ir.types import BF16, F16, F32, F64, I8, DType
from nautilus_cli.kernels import gemm_mma, mma_product
from nautilus_cli.kernels.gemm_mma import FAMILY, Problem
from nautilus_cli.kernels.mma_product import Schedule
from nautilus_cli.targets.registry import target

SCHEDULE = Schedule(tile_m=64, tile_n=64, tile_k=32, warp_m=32, warp_n=32, vector_a=8, vector_b=8, vector_c=8)

extents = st.one_of(st.integers(1, 70), st.sampled_from((127, 128, 197, 768, 1000, 3072, 12544, 128256)))


def problem(m: int, n: int, k: int, *, batch: int = 1, multiply: DType = F16, lasts: tuple[bool, bool] = (True, True)) -> Problem:
    return Problem(
        batch=batch, m=m, n=n, k=k, a_k_last=lasts[0], b_k_last=lasts[1], multiply=multiply, a_storage=multiply, b_storage=multiply
    )


def scores(sequences: int, tokens: int) -> Problem:
    """Return scores of attention: 12 heads of 64, which are scaled as they are loaded."""
    return replace(problem(tokens, tokens, 64, batch=12 * sequences), a_work=2)


def context(sequences: int, tokens: int) -> Problem:
    """Return contexts of attention: its probabilities by the values of 12 heads of 64."""
    return problem(tokens, 64, tokens, batch=12 * sequences, lasts=(True, False))


@settings(max_examples=25)
@given(
    extents,
    extents,
    st.one_of(st.just(0), extents),
    st.sampled_from((1, 12, 70_000)),
    st.sampled_from((F16, BF16, F32)),
    st.tuples(st.booleans(), st.booleans()),
)
def test_choice_is_legal_for_any_problem(m: int, n: int, k: int, batch: int, multiply: DType, lasts: tuple[bool, bool]) -> None:
    given_problem = problem(m, n, k, batch=batch, multiply=multiply, lasts=lasts)
    for name in ("emulated", "sm_80", "sm_90a", "sm_120"):
        assert FAMILY.violations(given_problem, FAMILY.choose(given_problem, target(name)), target(name)) == ()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tile_m": 96}, "power of two"),
        ({"warp_m": 128}, "larger than the block's"),
        ({"warp_m": 8}, "16×16 is the least"),
        ({"tile_n": 256, "warp_n": 256}, "at most 128 columns"),
        ({"tile_k": 8, "vector_a": 4, "vector_b": 4}, "no step of 16 for each of 1 slices"),
        ({"slices_k": 4, "tile_k": 64}, None),
        ({"cluster_k": 16}, "16 blocks in a cluster; at most 8"),
        ({"stages": 1}, "2 to 8 are written"),
        ({"stages": 9}, "2 to 8 are written"),
        ({"tile_m": 256, "tile_n": 256, "warp_m": 16, "warp_n": 16}, "1 to 1024"),
        ({"vector_a": 16}, "more than a transaction"),
        ({"vector_b": 8, "tile_k": 16, "stages": 3}, None),
        ({"vector_c": 16}, "neighbours meet in a lane"),
        ({"vector_c": 8, "warp_n": 16}, "at most 4 neighbours"),
        ({"tile_m": 256, "tile_n": 256, "warp_m": 64, "warp_n": 64, "tile_k": 128, "stages": 4}, "shared memory"),
        ({"warp_m": 64, "warp_n": 128, "tile_n": 128}, "registers a thread"),
        ({"blocks": 16, "warp_m": 64, "warp_n": 64}, "registers a thread; 128 are available"),
        ({"stages": 3}, None),
    ],
)
def test_violations_have_reasons(changes: dict[str, int], reason: str | None) -> None:
    found = FAMILY.violations(problem(1000, 1024, 768), replace(SCHEDULE, **changes), target("sm_90a"))
    assert any(reason in text for text in found) if reason else found == (), found


@pytest.mark.parametrize(("k", "n", "reason"), [(764, 1024, "does not divide 764"), (768, 1020, "vector_c of 8 does not divide n = 1020")])
def test_vectors_divide_what_they_run_along(k: int, n: int, reason: str) -> None:
    found = FAMILY.violations(problem(1000, n, k), SCHEDULE, target("sm_80"))
    assert any(reason in text for text in found), found


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"multiply": F64}, "tensor cores do not multiply f64"),
        ({"multiply": I8}, "tensor cores do not multiply i8"),
        ({"terms": 3}, "3 terms of f16"),
        ({"terms": 2, "multiply": F32}, "2 terms of f32"),
        ({"accumulate": F16}, "sums of f16"),
    ],
)
def test_what_tensor_cores_do_not_do(changes: dict[str, object], reason: str) -> None:
    found = FAMILY.violations(replace(problem(64, 64, 64), **changes), SCHEDULE, target("sm_90a"))
    assert any(reason in text for text in found), found


def test_fragments_of_floats_leave_room_for_the_sums_of_a_wide_warp() -> None:
    floats, sm_80 = problem(576, 3072, 296, multiply=F32), target("sm_80")
    wide = Schedule(tile_m=128, tile_n=128, tile_k=32, warp_m=64, warp_n=64, vector_a=4, vector_b=4, vector_c=8)
    (reason,) = FAMILY.violations(floats, wide, sm_80)
    assert reason.startswith("4 steps of a tile beside 64×64 sums")
    for fitting in (replace(wide, tile_k=16), replace(wide, warp_n=32)):
        assert FAMILY.violations(floats, fitting, sm_80) == ()
    halves = replace(wide, tile_k=64, vector_a=8, vector_b=8)
    assert FAMILY.violations(problem(576, 3072, 296), halves, sm_80) == ()


def test_shared_memory_holds_stages_or_the_sums_of_slices() -> None:
    few = problem(64, 64, 256).product
    assert mma_product.smem_bytes(few, SCHEDULE) == 3 * (64 + 64) * 32 * 2
    sliced = replace(SCHEDULE, slices_k=2, stages=2)
    assert mma_product.smem_bytes(few, sliced) == 2 * 64 * 64 * 4
    assert FAMILY.geometry(problem(65, 64, 256), sliced).threads == 256


def test_rows_that_no_vector_divides_take_16_bytes_more_of_each_stage() -> None:
    singly = replace(SCHEDULE, vector_a=1, vector_b=1)
    rows = 3 * 64 * (32 * 2 + 16)
    assert mma_product.smem_bytes(problem(64, 64, 93).product, singly) == 2 * rows
    assert mma_product.smem_bytes(problem(64, 64, 93, lasts=(True, False)).product, singly) == rows + 3 * 64 * 32 * 2
    assert mma_product.smem_bytes(problem(64, 64, 93, multiply=F32).product, singly) == 3 * (64 + 64) * 32 * 4


def test_the_space_holds_legal_points_of_every_size() -> None:
    legal = [
        s
        for s in FAMILY.schedules(problem(512, 3072, 768), target("sm_90a"))
        if not FAMILY.violations(problem(512, 3072, 768), s, target("sm_90a"))
    ]
    assert {s.tile_m for s in legal} == {16, 32, 64, 128, 256} and {s.stages for s in legal} == {2, 3, 4, 5, 6}
    assert gemm_mma.FAMILY.choose(problem(512, 3072, 768), target("sm_90a")).warps > 1


RAGGED = (
    (
        scores(7, 93),
        {(16, 64, 64, 16, 32, 3): 5.01, (32, 32, 64, 16, 16, 3): 3.67, (32, 32, 64, 16, 32, 3): 3.65, (32, 64, 64, 16, 32, 3): 3.69},
    ),
    (
        scores(7, 93),
        {(32, 128, 64, 16, 32, 3): 3.61, (32, 128, 32, 32, 64, 3): 3.96, (64, 64, 64, 32, 64, 3): 5.00, (16, 16, 64, 16, 16, 3): 9.10},
    ),
    (
        scores(5, 61),
        {(32, 32, 64, 16, 16, 3): 2.06, (32, 64, 64, 16, 32, 3): 2.04, (64, 64, 64, 32, 64, 3): 3.45, (16, 16, 64, 16, 16, 3): 3.71},
    ),
    (
        scores(6, 92),
        {(16, 64, 64, 16, 32, 3): 4.15, (32, 128, 64, 16, 32, 3): 3.24, (64, 64, 64, 32, 64, 3): 4.34, (16, 16, 64, 16, 16, 3): 8.01},
    ),
    (
        context(7, 93),
        {(32, 64, 32, 32, 32, 4): 2.34, (32, 64, 64, 16, 32, 4): 2.51, (64, 64, 32, 32, 32, 3): 3.01, (64, 64, 64, 32, 32, 3): 3.25},
    ),
    (context(16, 255), {(16, 64, 64, 16, 32, 3): 17.91, (32, 64, 32, 32, 32, 4): 16.72, (64, 64, 64, 32, 32, 3): 14.16}),
)
"""Products of attention at sequences × tokens that no vector divides, 12 heads of 64: µs of schedules (tile_m, tile_n, tile_k, warp_m,
warp_n, stages), measured on an H200 with programmatic edges."""


@pytest.mark.parametrize(("product", "measured"), RAGGED)
def test_estimates_of_ragged_products_are_near_what_was_measured(product: Problem, measured: dict[tuple[int, ...], float]) -> None:
    estimated = {}
    for numbers in measured:
        names = ("tile_m", "tile_n", "tile_k", "warp_m", "warp_n", "stages")
        schedule = mma_product.with_vectors(product.product, Schedule(**dict(zip(names, numbers, strict=True))))
        estimated[numbers] = FAMILY.estimated_us(product, schedule, target("sm_90a"))
        assert 0.75 < estimated[numbers] / measured[numbers] < 1.33, (numbers, estimated[numbers])
    chosen = min(estimated, key=lambda numbers: estimated[numbers])
    assert measured[chosen] <= 1.06 * min(measured.values()), chosen

"""What is chosen of products by wgmma: that it is legal, and what its estimate says."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from nautilus_cli.ir.types import BF16, F16, F32, DType
from nautilus_cli.kernels.gemm_wgmma import FAMILY
from nautilus_cli.targets.registry import target
from tests.unit.kernels.wgmma_product.products import problem

extents = st.integers(1, 20_000)


@given(
    extents, extents, extents, st.sampled_from((1, 12, 5000)), st.sampled_from((F16, BF16, F32)), st.tuples(st.booleans(), st.booleans())
)
def test_choice_is_legal_for_any_problem(m: int, n: int, k: int, batch: int, multiply: DType, lasts: tuple[bool, bool]) -> None:
    given_problem = problem(m, n, k, batch=batch, multiply=multiply, lasts=lasts)
    for name in ("emulated", "sm_90a"):
        assert FAMILY.violations(given_problem, FAMILY.choose(given_problem, target(name)), target(name)) == ()


def test_few_rows_cost_more_than_a_whole_tile() -> None:
    on = target("sm_90a")
    schedule = FAMILY.choose(problem(64, 4096, 4096), on)
    few, whole = (FAMILY.estimated_us(problem(m, 4096, 4096), schedule, on) for m in (16, 64))
    assert whole < few < 1.3 * whole


def test_operands_change_places_where_rows_are_few() -> None:
    few = problem(16, 4096, 4096)
    chosen = FAMILY.choose(few, target("sm_90a"))
    assert (chosen.swaps, chosen.tile_n, chosen.vector_c) == (True, 16, 1)
    assert FAMILY.violations(few, chosen, target("sm_90a")) == ()
    assert FAMILY.geometry(few, chosen).grid == (4096 // chosen.tile_m * chosen.cluster_k, 1, 1)
    assert not FAMILY.choose(problem(128, 4096, 4096), target("sm_90a")).swaps
    for changed, reason in (
        (replace(few, is_paired=True), "do not change places"),
        (replace(few, computes_a=True), "do not change places"),
        (replace(few, a_k_last=False), "no multiple of 64"),
    ):
        assert any(reason in text for text in FAMILY.violations(changed, chosen, target("sm_90a")))
    assert any("no neighbouring results" in text for text in FAMILY.violations(few, replace(chosen, vector_c=2), target("sm_90a")))


def test_the_next_kernel_comes_early_where_blocks_have_one_tile() -> None:
    assert FAMILY.choose(problem(1024, 1024, 1024), target("sm_90a")).early_trigger
    assert not FAMILY.choose(problem(4096, 4096, 4096), target("sm_90a")).early_trigger

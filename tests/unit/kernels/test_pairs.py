"""Products whose sums make results in pairs: a thread's epilogue always has both of a pair."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nautilus_cli.ir.types import F16, F32
from nautilus_cli.kernels import gemm, gemm_mma, gemm_skinny, gemm_wgmma
from nautilus_cli.targets.registry import target

SHAPES = ((1, 2, 8), (1, 26, 64), (5, 6, 40), (16, 2 * 77, 64), (64, 5632, 1024), (300, 34, 72), (4096, 16384, 2048))
"""m, columns of both products, k."""


def problem(family: Any, m: int, n: int, k: int) -> Any:
    shape = {"batch": 1, "m": m, "n": n, "k": k, "a_k_last": True, "b_k_last": True, "is_paired": True}
    if family is gemm:
        return gemm.Problem(**shape, accumulate=F32)
    return family.Problem(**shape, multiply=F16, b_is_constant=True)


@pytest.mark.parametrize(
    ("family", "name"),
    [
        *((family, name) for family in (gemm, gemm_mma, gemm_skinny) for name in ("sm_80", "sm_90a", "emulated")),
        *((gemm_wgmma, name) for name in ("sm_90a", "emulated")),
    ],
)
@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_the_choice_is_legal(family: Any, m: int, n: int, k: int, name: str) -> None:
    found = problem(family, m, n, k)
    schedule = family.FAMILY.choose(found, target(name))
    assert family.FAMILY.violations(found, schedule, target(name)) == ()
    assert schedule.vector_c % 2 == 0


@pytest.mark.parametrize("family", [gemm, gemm_mma, gemm_skinny, gemm_wgmma])
def test_one_sum_at_a_time_makes_no_result(family: Any) -> None:
    found = problem(family, 64, 64, 64)
    schedule = replace(family.FAMILY.choose(found, target("sm_90a")), vector_c=1)
    assert "two make a result" in family.FAMILY.violations(found, schedule, target("sm_90a"))[0]


def test_boxes_are_of_results() -> None:
    """A tile of 64 sums is half a box of 16-bit results."""
    found = replace(problem(gemm_wgmma, 512, 512, 64), result_bytes=2)
    schedule = gemm_wgmma.FAMILY.choose(found, target("sm_90a"))
    narrow = gemm_wgmma.wgmma_product.completed(
        found.product, replace(schedule, tile_m=64, tile_n=64, consumers=1, ping_pong=False, stores_boxes=True), target("sm_90a")
    )
    assert any("whole boxes" in reason for reason in gemm_wgmma.FAMILY.violations(found, narrow, target("sm_90a")))
    assert gemm_wgmma.FAMILY.violations(replace(found, is_paired=False), narrow, target("sm_90a")) == ()

"""Schedules of products by wgmma: what is refused, and that the choice is legal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.types import BF16, F16, F32, DType
from nautilus_cli.kernels import wgmma_product
from nautilus_cli.kernels.gemm_wgmma import FAMILY, Problem, Schedule
from nautilus_cli.targets.registry import target

SCHEDULE = Schedule(tile_m=128, tile_n=256, consumers=2, stages=4, cluster_m=2, group_m=8, vector_c=8, blocks=132)

extents = st.integers(1, 20_000)


def problem(m: int, n: int, k: int, *, batch: int = 1, multiply: DType = F16, lasts: tuple[bool, bool] = (True, True)) -> Problem:
    a_last, b_last = lasts if multiply != F32 else (True, True)
    return Problem(batch=batch, m=m, n=n, k=k, a_k_last=a_last, b_k_last=b_last, multiply=multiply)


@given(
    extents, extents, extents, st.sampled_from((1, 12, 5000)), st.sampled_from((F16, BF16, F32)), st.tuples(st.booleans(), st.booleans())
)
def test_choice_is_legal_for_any_problem(m: int, n: int, k: int, batch: int, multiply: DType, lasts: tuple[bool, bool]) -> None:
    given_problem = problem(m, n, k, batch=batch, multiply=multiply, lasts=lasts)
    for name in ("emulated", "sm_90a"):
        assert FAMILY.violations(given_problem, FAMILY.choose(given_problem, target(name)), target(name)) == ()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"stages": 0}, "less than 1"),
        ({"stages": 17}, "2 to 16 are written"),
        ({"stages": 5}, "bytes of shared memory"),
        ({"consumers": 4}, "at most 3"),
        ({"consumers": 1, "ping_pong": True}, "cannot take turns"),
        ({"consumers": 3}, "no multiple of 64 rows for each of 3"),
        ({"tile_m": 96, "ping_pong": True}, "multiples of 64"),
        ({"tile_n": 260}, "multiples of 8 up to 256"),
        ({"cluster_n": 2, "cluster_m": 2}, "one operand, not both"),
        ({"tile_n": 24, "vector_c": 1, "cluster_m": 2}, "no multiple of 8 for each of 2 blocks"),
        ({"blocks": 131}, "no whole clusters"),
        ({"vector_c": 3}, "power of two"),
        ({"tile_n": 40, "cluster_m": 1}, "whole groups"),
        ({"tile_m": 256, "stages": 3}, "256 sums in 232 registers"),
        ({"residents": 2}, "2 × 196672 bytes"),
    ],
)
def test_violations_have_reasons(changes: dict[str, int], reason: str | None) -> None:
    found = FAMILY.violations(problem(4096, 4096, 4096), replace(SCHEDULE, **changes), target("sm_90a"))
    assert any(reason in text for text in found) if reason else found == (), found


def test_other_targets_are_refused() -> None:
    small = Schedule(tile_m=64, tile_n=64, consumers=1, stages=2)
    assert FAMILY.violations(problem(64, 64, 64), small, target("sm_80")) == ("sm_80 has no wgmma",)
    assert "clusters of one block" in FAMILY.violations(problem(4096, 4096, 64), SCHEDULE, target("emulated"))[-1]
    assert "k last" in FAMILY.violations(replace(problem(64, 64, 64), multiply=F32, b_k_last=False), small, target("sm_90a"))[0]
    assert "no steps" in FAMILY.violations(problem(64, 64, 0), small, target("sm_90a"))[0]


@pytest.mark.parametrize("consumers", [1, 2, 3])
@pytest.mark.parametrize("residents", [1, 2, 3])
@pytest.mark.parametrize("tile_n", [64, 192, 256])
@pytest.mark.parametrize("loads_a", [False, True])
def test_warpgroups_ask_for_no_more_registers_than_a_block_has(consumers: int, residents: int, tile_n: int, loads_a: bool) -> None:
    """Who does waits for ever."""
    schedule = Schedule(tile_m=64, tile_n=tile_n, consumers=consumers, residents=residents, ping_pong=consumers > 1)
    registers = (wgmma_product.consumer_registers(schedule, loads_a=loads_a), wgmma_product.producer_registers(schedule, loads_a=loads_a))
    assert all(24 <= number <= 256 and number % 8 == 0 for number in registers)
    asked = consumers * registers[0] + registers[1]
    assert asked <= wgmma_product.entry_registers(schedule) * (consumers + 1)
    assert wgmma_product.entry_registers(schedule) * schedule.threads * residents <= 65536


def test_floats_as_two_numbers() -> None:
    split = replace(problem(512, 512, 512, multiply=F32), terms=3)
    schedule = Schedule(tile_m=128, tile_n=128, consumers=2, stages=3, vector_c=4, blocks=16)
    assert FAMILY.violations(split, schedule, target("sm_90a")) == ()
    assert FAMILY.geometry(split, schedule).smem_bytes == 3 * (256 * 128 + 16) + 5 * 128 * 128
    assert "in turns" in FAMILY.violations(split, replace(schedule, ping_pong=True), target("emulated"))[0]
    wide = FAMILY.violations(split, replace(schedule, tile_n=256, stages=2), target("sm_90a"))
    assert any("384 sums in 232 registers" in reason for reason in wide)
    assert "3 terms of f16" in FAMILY.violations(replace(problem(64, 64, 64), terms=3), schedule, target("sm_90a"))[0]
    assert FAMILY.violations(split, FAMILY.choose(split, target("sm_90a")), target("sm_90a")) == ()


def test_boxes_are_stored_where_the_result_has_them() -> None:
    boxed = replace(SCHEDULE, stores_boxes=True, tile_n=128)
    assert "no tensor that boxes" in FAMILY.violations(problem(4096, 4096, 4096), boxed, target("sm_90a"))[0]
    stored = replace(problem(4096, 4096, 4096), result_bytes=2)
    assert FAMILY.violations(stored, boxed, target("sm_90a")) == ()
    assert FAMILY.geometry(stored, boxed).smem_bytes == 4 * (256 * 128 + 16) + 2 * 2 * 64 * 128
    assert "no whole boxes" in FAMILY.violations(stored, replace(boxed, tile_n=96), target("sm_90a"))[0]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"cluster_k": 1, "blocks": 24}, None),
        ({"consumers": 1}, "one alone"),
        ({"ping_pong": True}, "consumers that take turns"),
        ({"cluster_n": 2}, "operands, or parts of the depth"),
        ({"cluster_n": 2, "cluster_k": 1, "blocks": 24}, "operands, or parts of the depth"),
        ({"blocks": 48}, "96 in all"),
        ({"cluster_k": 7, "blocks": 168}, None),
        ({"cluster_k": 8, "tile_n": 8, "vector_c": 1, "blocks": 1536}, None),
        ({"stores_boxes": True}, "do not store boxes"),
        ({"vector_c": 8}, None),
        ({"tile_n": 80, "blocks": 80}, None),
        ({"stages": 2, "tile_n": 128, "blocks": 48}, "do not fit where the ring is"),
    ],
)
def test_the_depth_is_shared_out(changes: dict[str, int], reason: str | None) -> None:
    small = replace(problem(128, 768, 3072), result_bytes=2)
    schedule = Schedule(tile_m=64, tile_n=64, consumers=2, slices_depth=True, stages=6, cluster_k=4, vector_c=2, blocks=96)
    found = FAMILY.violations(small, replace(schedule, **changes), target("sm_90a"))
    assert any(reason in text for text in found) if reason else found == (), found


def test_no_part_of_the_depth_is_empty() -> None:
    schedule = Schedule(tile_m=64, tile_n=64, consumers=1, stages=4, cluster_k=4, vector_c=2, blocks=4)
    assert "5 steps of depth are none for some of 4 blocks" in FAMILY.violations(problem(64, 64, 320), schedule, target("sm_90a"))
    assert FAMILY.violations(problem(64, 64, 400), schedule, target("sm_90a")) == ()


def test_an_open_depth_is_shared_out_and_has_the_stages_of_the_greatest() -> None:
    on, depth = target("sm_90a"), symbol("k", 8, 8192, 8)
    chosen = FAMILY.choose(problem(49, 512, 2048), on)
    assert chosen.cluster_k > 1 and chosen.stages == -(-2048 // 64 // chosen.cluster_k)
    staying = FAMILY.for_all_sizes(problem(49, 512, depth), chosen, on)
    assert staying.stages > chosen.stages
    assert FAMILY.violations(problem(49, 512, depth), staying, on) == ()  # a block without a step adds nothing


def test_few_rows_cost_more_than_a_whole_tile() -> None:
    on = target("sm_90a")
    schedule = FAMILY.choose(problem(64, 4096, 4096), on)
    few, whole = (FAMILY.estimated_us(problem(m, 4096, 4096), schedule, on) for m in (16, 64))
    assert whole < few < 1.3 * whole


def test_columns_that_lie_together_come_in_whole_boxes() -> None:
    found = FAMILY.violations(problem(512, 512, 512, lasts=(True, False)), replace(SCHEDULE, tile_n=96, cluster_m=1), target("sm_90a"))
    assert found == ("tile_n of 96 is no multiple of 64 for each of 1 blocks",)


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

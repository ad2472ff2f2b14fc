"""Which schedules of products by wgmma are refused, and with which reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nautilus_cli.ir.types import F32
from nautilus_cli.kernels.gemm_wgmma import FAMILY, Schedule
from nautilus_cli.targets.registry import target
from tests.unit.kernels.wgmma_product.products import SCHEDULE, problem


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


def test_consumers_in_turns_have_tiles_of_whole_depth() -> None:
    turns = Schedule(tile_m=64, tile_n=64, consumers=2, ping_pong=True, stages=2, cluster_k=2, vector_c=8, blocks=128)
    found = FAMILY.violations(problem(512, 512, 512), turns, target("sm_90a"))
    assert found == ("consumers that take turns do not share out the depth with other blocks",)
    assert FAMILY.violations(problem(512, 512, 512), replace(turns, ping_pong=False, tile_m=128), target("sm_90a")) == ()


def test_transposed_products_leave_registers_for_single_results() -> None:
    turned = Schedule(tile_m=128, tile_n=192, consumers=1, swaps=True, stages=4, blocks=24)
    few = problem(64, 3072, 520)
    assert FAMILY.violations(few, turned, target("sm_90a")) == ("192 sums in 240 registers",)
    assert FAMILY.violations(few, replace(turned, tile_n=160), target("sm_90a")) == ()


def test_floats_as_two_numbers() -> None:
    split = replace(problem(512, 512, 512, multiply=F32), terms=3)
    schedule = Schedule(tile_m=128, tile_n=128, consumers=2, stages=3, vector_c=4, blocks=16)
    assert FAMILY.violations(split, schedule, target("sm_90a")) == ()
    assert FAMILY.geometry(split, schedule).smem_bytes == 3 * (256 * 128 + 16) + 5 * 128 * 128
    assert "in turns" in FAMILY.violations(split, replace(schedule, ping_pong=True), target("emulated"))[0]
    wide = FAMILY.violations(split, replace(schedule, tile_n=256, stages=2), target("sm_90a"))
    assert any("384 sums in 232 registers" in reason for reason in wide)
    bands = replace(schedule, tile_m=256, tile_n=32, consumers=1)
    assert any("192 sums in 240 registers" in reason for reason in FAMILY.violations(split, bands, target("sm_90a")))
    three = replace(schedule, tile_m=192, tile_n=40, consumers=1, vector_c=2)
    assert any("180 sums in 240 registers" in reason for reason in FAMILY.violations(split, three, target("sm_90a")))
    assert FAMILY.violations(split, replace(three, tile_n=32), target("sm_90a")) == ()
    assert "3 terms of f16" in FAMILY.violations(replace(problem(64, 64, 64), terms=3), schedule, target("sm_90a"))[0]
    assert FAMILY.violations(split, FAMILY.choose(split, target("sm_90a")), target("sm_90a")) == ()


def test_parts_of_the_depth_hold_what_others_have_sent() -> None:
    schedule = Schedule(tile_m=64, tile_n=248, consumers=1, cluster_k=2, stages=4, vector_c=2, blocks=2 * 64 * 9)
    shared = problem(4096, 2232, 6088)
    assert FAMILY.violations(shared, schedule, target("sm_90a")) == ("248 sums in 240 registers",)
    assert FAMILY.violations(shared, replace(schedule, tile_n=240, blocks=2 * 64 * 10), target("sm_90a")) == ()  # each finishes half


def test_epilogues_of_pairs_and_of_single_results_leave_registers() -> None:
    gated = replace(problem(3400, 36, 360), is_paired=True, input_count=2, input_bytes=4)
    wide = Schedule(tile_m=256, tile_n=160, consumers=2, stages=4, vector_c=2, blocks=14)
    found = FAMILY.violations(gated, wide, target("sm_90a"))
    assert found == ("160 sums, with 18 registers of what the epilogue loads, in 232 registers",)
    assert FAMILY.violations(gated, replace(wide, tile_n=128), target("sm_90a")) == ()
    few = replace(problem(64, 3072, 2336, multiply=F32), input_count=4, input_bytes=16)
    turned = Schedule(tile_m=256, tile_n=128, consumers=2, swaps=True, stages=4, blocks=12)
    found = FAMILY.violations(few, turned, target("sm_90a"))
    assert found == ("128 sums, with 48 registers of what the epilogue loads, in 232 registers",)


def test_threads_that_load_have_registers_for_what_they_read() -> None:
    schedule = Schedule(tile_m=128, tile_n=128, consumers=2, stages=3, vector_a=8, vector_c=8, blocks=64)
    gated = replace(problem(1024, 1024, 1024), computes_a=True, a_streams=4, a_loads=4)
    assert FAMILY.violations(gated, schedule, target("sm_90a")) == ()
    many = FAMILY.violations(replace(gated, a_streams=5, a_loads=5), schedule, target("sm_90a"))
    assert many == ("220 registers of a thread that loads A; 216 are available",)
    odd = replace(problem(1024, 1024, 1017), computes_a=True, a_streams=2, a_singles=2, a_loads=2)
    assert FAMILY.violations(odd, replace(schedule, vector_a=1), target("sm_90a")) == ()
    alone = FAMILY.violations(replace(gated, a_singles=4), schedule, target("sm_90a"))
    assert alone == ("252 registers of a thread that loads A; 216 are available",)


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
        ({"stages": 2}, "each of 2 consumers gives one back once it has its next"),
        ({"stages": 3}, None),
        ({"stages": 10}, None),
        ({"stages": 13}, "bytes of shared memory"),
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


def test_columns_that_lie_together_come_in_whole_boxes() -> None:
    found = FAMILY.violations(problem(512, 512, 512, lasts=(True, False)), replace(SCHEDULE, tile_n=96, cluster_m=1), target("sm_90a"))
    assert found == ("tile_n of 96 is no multiple of 64 for each of 1 blocks",)

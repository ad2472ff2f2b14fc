"""What follows of a schedule of a product by wgmma."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nautilus_cli.ir.constructors import symbol
from nautilus_cli.kernels import wgmma_product
from nautilus_cli.kernels.gemm_wgmma import FAMILY, Schedule
from nautilus_cli.targets.registry import target
from tests.unit.kernels.wgmma_product.products import problem


def test_an_open_depth_is_shared_out_and_has_the_stages_of_the_greatest() -> None:
    on, depth = target("sm_90a"), symbol("k", 8, 8192, 8)
    chosen = FAMILY.choose(problem(49, 512, 2048), on)
    assert chosen.cluster_k > 1 and chosen.stages == -(-2048 // 64 // chosen.cluster_k)
    for_all = FAMILY.for_all_sizes(problem(49, 512, depth), chosen, on)
    assert for_all.stages > chosen.stages
    assert FAMILY.violations(problem(49, 512, depth), for_all, on) == ()  # a block without a step adds nothing


@pytest.mark.parametrize("cluster_k", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("tile_n", [96, 128, 192, 256])
def test_stages_leave_room_for_the_sums_that_parts_of_the_depth_send(tile_n: int, cluster_k: int) -> None:
    on, product = target("sm_90a"), problem(64, 4096, 8192).product
    schedule = wgmma_product.completed(product, Schedule(tile_m=64, tile_n=tile_n, consumers=1, cluster_k=cluster_k), on)
    another = replace(schedule, stages=schedule.stages + 1)
    found = [wgmma_product.geometry(product, s).smem_bytes for s in (schedule, another)]
    assert found[0] <= on.smem_bytes_block < found[1]

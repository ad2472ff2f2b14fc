"""What follows of a schedule of a product by wgmma."""

from __future__ import annotations

from nautilus_cli.ir.constructors import symbol
from nautilus_cli.kernels.gemm_wgmma import FAMILY
from nautilus_cli.targets.registry import target
from tests.unit.kernels.wgmma_product.products import problem


def test_an_open_depth_is_shared_out_and_has_the_stages_of_the_greatest() -> None:
    on, depth = target("sm_90a"), symbol("k", 8, 8192, 8)
    chosen = FAMILY.choose(problem(49, 512, 2048), on)
    assert chosen.cluster_k > 1 and chosen.stages == -(-2048 // 64 // chosen.cluster_k)
    for_all = FAMILY.for_all_sizes(problem(49, 512, depth), chosen, on)
    assert for_all.stages > chosen.stages
    assert FAMILY.violations(problem(49, 512, depth), for_all, on) == ()  # a block without a step adds nothing

"""The estimated time of a product by wgmma."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.kernels.gemm_wgmma import FAMILY, Schedule
from nautilus_cli.targets.registry import target
from tests.unit.kernels.wgmma_product.products import problem

ON = target("sm_90a")
TILE = Schedule(tile_m=64, tile_n=64, consumers=1, blocks=132)


def test_a_grid_that_leaves_half_of_the_multiprocessors_hides_its_start() -> None:
    half, more = (FAMILY.estimated_us(problem(64, 64 * tiles, 256), TILE, ON) for tiles in (66, 67))
    assert half < 0.95 * more
    fewer, half_again = (FAMILY.estimated_us(problem(64, 64 * tiles, 256), TILE, ON) for tiles in (65, 66))
    assert fewer == pytest.approx(half_again, rel=0.01)


def test_a_third_consumer_costs_time_of_its_own() -> None:
    three = Schedule(tile_m=192, tile_n=64, consumers=3, blocks=132)
    two = Schedule(tile_m=128, tile_n=64, consumers=2, blocks=132)
    small = problem(384, 64, 64)  # of two tiles, or of three: both have a wave
    assert FAMILY.estimated_us(small, three, ON) > FAMILY.estimated_us(small, two, ON) + 0.1


@pytest.mark.parametrize("blocks", [132, 64])
@pytest.mark.parametrize("n", [64, 4096, 4224, 4288, 8448, 16384])
def test_the_host_counts_the_same_where_sizes_are_open(n: int, blocks: int) -> None:
    schedule = replace(TILE, blocks=blocks)
    opened = problem(symbol("m", 8, 8192, 8), symbol("n", 8, 1 << 17, 8), symbol("k", 8, 8192, 8))
    for m, k in ((64, 256), (8, 4096), (2048, 512)):
        ns = bind(FAMILY.open_ns(opened, schedule, ON), {"m": m, "n": n, "k": k})
        assert ns / 1000 == pytest.approx(FAMILY.estimated_us(problem(m, n, k), schedule, ON), rel=0.12)

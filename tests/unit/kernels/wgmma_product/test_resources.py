"""What blocks of products by wgmma take."""

from __future__ import annotations

import pytest

from nautilus_cli.kernels import wgmma_product
from nautilus_cli.kernels.gemm_wgmma import Schedule


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

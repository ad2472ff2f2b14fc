"""Pieces of cost models."""

from __future__ import annotations

from nautilus_cli.kernels.estimates import resident_blocks, soft_max
from nautilus_cli.targets.registry import target

H200 = target("sm_90a")


def held(*, threads: int = 128, registers: int = 32, smem_bytes: int = 0, fewest: int = 1) -> int:
    return resident_blocks(H200, threads=threads, registers=registers, smem_bytes=smem_bytes, fewest=fewest)


def test_what_is_scarce_says_how_many_blocks_a_multiprocessor_holds() -> None:
    assert held(threads=1024) == 2  # threads
    assert held(registers=255) == 2  # registers
    assert held(smem_bytes=100 * 1024) == 2  # shared memory
    assert held(threads=1, registers=16) == 32  # blocks
    assert held(registers=255, fewest=8) == 8  # the compiler takes fewer registers
    assert held(smem_bytes=227 * 1024) == 1


def test_times_hide_each_other_the_more_the_greater_the_exponent() -> None:
    assert soft_max(3, 4, 2) == 5
    assert 4 < soft_max(3, 4, 12) < soft_max(3, 4, 2)

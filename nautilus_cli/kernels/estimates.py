"""What cost models of several families have in common."""

from __future__ import annotations

from nautilus_cli.kernels.limits import MOST_RESIDENT_BLOCKS, SCHEDULERS, SYSTEM_SMEM_BYTES, WARP_THREADS
from nautilus_cli.targets.base import Target

CYCLES_PER_US = 1750
"""The clock of an H200 under load, which cost models in cycles were fitted with."""

THREAD_START_NS = 150
"""Until a thread of the emulator, a fiber, runs: measured on one core of a CPU."""

_INSTRUCTIONS_PER_WORK = 2  # measured with a scale, a normalisation and x·sigmoid(x)·y on an H200


def soft_max(a: float, b: float, hiding: float) -> float:
    """Return the time of two things that hide each other but for a part, the smaller the greater HIDING is."""
    return float((a**hiding + b**hiding) ** (1 / hiding))


def work_cycles(elements: float, work: int) -> float:
    """Return how long the schedulers of a multiprocessor take for WORK, in additions, on each of some elements."""
    return elements * work * _INSTRUCTIONS_PER_WORK / WARP_THREADS / SCHEDULERS


def resident_blocks(target: Target, *, threads: int, registers: int, smem_bytes: int, fewest: int) -> int:
    """Return how many blocks a multiprocessor holds.

    Args:
        target: whose multiprocessor.
        threads: of a block; a part of a warp takes a whole one.
        registers: of a thread, as many as it would like.
        smem_bytes: of a block.
        fewest: blocks that the compiler leaves registers for.
    """
    threads = max(threads, WARP_THREADS)
    each = min(registers, target.registers_multiprocessor // (threads * fewest))
    found = min(
        target.threads_multiprocessor // threads,
        target.registers_multiprocessor // (each * threads),
        target.smem_bytes_multiprocessor // (smem_bytes + SYSTEM_SMEM_BYTES),
        MOST_RESIDENT_BLOCKS,
    )
    return max(1, found)

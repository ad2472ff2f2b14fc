"""What follows of a schedule once its tiles are chosen: the longest vectors, and the reads of shared memory."""

from __future__ import annotations

from dataclasses import replace

from nautilus_cli.kernels.limits import TRANSACTION_BYTES
from nautilus_cli.kernels.powers import power_divisor
from nautilus_cli.kernels.product.problem import Product
from nautilus_cli.kernels.product.schedule import Schedule
from nautilus_cli.targets.base import Target

CPU_REGISTER_BYTES = 32


def with_vectors(problem: Product, schedule: Schedule) -> Schedule:
    """Return the schedule with the longest vectors that divide what they run along, shorter where threads would be idle."""
    s = schedule
    along_a = s.tile_k if problem.a_k_last else s.tile_m
    along_b = s.tile_k if problem.b_k_last else s.tile_n
    return replace(
        s,
        vector_a=longest_vector(problem.a_run, along_a, s.tile_m * s.tile_k, s.threads, problem.a_bytes),
        vector_b=longest_vector(problem.b_run, along_b, s.tile_n * s.tile_k, s.threads, problem.b_bytes),
        vector_c=power_divisor(problem.n, min(s.fragment, s.thread_n)),
    )


def longest_vector(run: int, along: int, elements: int, threads: int, element_bytes: int) -> int:
    """Return how many elements of an operand a thread loads at once: fewer than could be where threads would be idle."""
    vector = power_divisor(run, min(TRANSACTION_BYTES // element_bytes, along))
    while vector > 4 and elements // vector < threads:
        vector //= 2
    return vector


def fragment_of(problem: Product, target: Target) -> int:
    """Return the widest read of shared memory: a vector register of the CPU in emulation, else one transaction."""
    return (CPU_REGISTER_BYTES if target.is_emulated else TRANSACTION_BYTES) // problem.sum_bytes

"""Which schedules of a product are possible, with the reason of each that is not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from nautilus_cli.ir.functions import maximum
from nautilus_cli.kernels.checks import thread_violations
from nautilus_cli.kernels.limits import MOST_REGISTERS, TRANSACTION_BYTES, WARP_THREADS
from nautilus_cli.kernels.powers import power_violations
from nautilus_cli.kernels.product.checks import launch_violations, result_violations, tile_violations
from nautilus_cli.kernels.product.problem import Product
from nautilus_cli.kernels.product.resources import registers, smem_bytes
from nautilus_cli.kernels.product.schedule import Schedule
from nautilus_cli.kernels.product.tiles import grid
from nautilus_cli.targets.base import Target

_MOST_STAGES = 4


def violations(problem: Product, schedule: Schedule, target: Target) -> tuple[str, ...]:
    """Return why this schedule cannot serve this problem on this target; empty where it can."""
    s = schedule
    if wrong := power_violations(s, ("stages", "blocks")):
        return wrong
    if s.thread_m > s.tile_m or s.thread_n > s.tile_n:
        return (f"a thread's tile of {s.thread_m}×{s.thread_n} is larger than the block's of {s.tile_m}×{s.tile_n}",)
    return tuple(
        chain(
            _thread_violations(s),
            tile_violations(problem, s, element_bytes=0),  # threads store what they have loaded, in as many transactions as it takes
            _epilogue_violations(problem, s),
            _room_violations(problem, s, target),
            launch_violations(grid(problem, s), maximum(problem.m, problem.n, problem.k) + max(s.tile_m, s.tile_n, s.tile_k)),
        )
    )


def _thread_violations(schedule: Schedule) -> Iterator[str]:
    """Yield why threads and stages cannot share out the work so."""
    s = schedule
    if s.stages > _MOST_STAGES:
        yield f"{s.stages} stages; at most {_MOST_STAGES} are written"
    if s.slices_k > s.tile_k:
        yield f"{s.slices_k} slices of a tile of {s.tile_k} steps leave some without work"
    yield from thread_violations(s.threads)


def _epilogue_violations(problem: Product, schedule: Schedule) -> Iterator[str]:
    """Yield why sums cannot become results so."""
    s = schedule
    if s.vector_c > min(s.fragment, s.thread_n):
        yield f"vector_c of {s.vector_c} is longer than a thread's {min(s.fragment, s.thread_n)} neighbours"
    else:
        yield from result_violations(problem.n, s.vector_c, is_paired=problem.is_paired)


def _room_violations(problem: Product, schedule: Schedule, target: Target) -> Iterator[str]:
    """Yield why a block, or a thread, has no room for it."""
    s = schedule
    if s.tile_k * problem.sum_bytes < TRANSACTION_BYTES:
        yield f"tile_k of {s.tile_k} leaves the second operand's tile misaligned"
    if smem_bytes(problem, s) > target.smem_bytes_block:
        yield f"{smem_bytes(problem, s)} bytes of shared memory; a block of {target.name} has {target.smem_bytes_block}"
    available = min(MOST_REGISTERS, target.registers_multiprocessor // (max(s.threads, WARP_THREADS) * s.blocks))
    if not target.is_emulated and registers(problem, s, fragments=1) > available:
        yield f"at least {registers(problem, s, fragments=1)} registers a thread; {available} are available"

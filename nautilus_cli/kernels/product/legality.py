"""Which schedules of a product are possible, with the reason of each that is not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from nautilus_cli.ir.functions import maximum
from nautilus_cli.kernels.limits import MOST_BLOCKS_X, MOST_BLOCKS_Y, MOST_REGISTERS, MOST_THREADS, TRANSACTION_BYTES, WARP_THREADS
from nautilus_cli.kernels.powers import power_violations
from nautilus_cli.kernels.product.problem import Product
from nautilus_cli.kernels.product.resources import grid, items, registers, smem_bytes
from nautilus_cli.kernels.product.schedule import Schedule
from nautilus_cli.targets.base import Target

_MOST_ITEMS = 64
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
            _thread_violations(s, target),
            _operand_violations(problem, s),
            _epilogue_violations(problem, s),
            _room_violations(problem, s, target),
            _launch_violations(problem, s),
        )
    )


def _thread_violations(schedule: Schedule, target: Target) -> Iterator[str]:
    """Yield why threads and stages cannot share out the work so."""
    s = schedule
    if s.stages > _MOST_STAGES:
        yield f"{s.stages} stages; at most {_MOST_STAGES} are written"
    if s.stages > 2 and not target.is_emulated and not target.has_async_copy:
        yield f"{s.stages} stages; {target.name} has no asynchronous copies"
    if s.slices_k > s.tile_k:
        yield f"{s.slices_k} slices of a tile of {s.tile_k} steps leave some without work"
    if s.threads > MOST_THREADS:
        yield f"{s.threads} threads a block; at most {MOST_THREADS} are possible"


def _operand_violations(problem: Product, schedule: Schedule) -> Iterator[str]:
    """Yield why threads cannot load the operands so."""
    s = schedule
    for name, outer, vector, k_last, run in (
        ("a", s.tile_m, s.vector_a, problem.a_k_last, problem.a_run),
        ("b", s.tile_n, s.vector_b, problem.b_k_last, problem.b_run),
    ):
        along = s.tile_k if k_last else outer
        if vector > along:
            yield f"vector_{name} of {vector} is longer than the tile, {along}"
        elif run % vector:
            yield f"vector_{name} of {vector} does not divide {run}, the extent that it runs along"
        elif items(outer, s, vector) > _MOST_ITEMS:
            yield f"a thread loads {items(outer, s, vector)} vectors of {name} a tile; at most {_MOST_ITEMS} are possible"


def _epilogue_violations(problem: Product, schedule: Schedule) -> Iterator[str]:
    """Yield why sums cannot become results so."""
    s = schedule
    if s.vector_c > min(s.fragment, s.thread_n):
        yield f"vector_c of {s.vector_c} is longer than a thread's {min(s.fragment, s.thread_n)} neighbours"
    elif problem.n % s.vector_c:
        yield f"vector_c of {s.vector_c} does not divide n = {problem.n}"
    elif problem.is_paired and s.vector_c < 2:
        yield "the epilogue takes one sum at a time; two make a result"


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


def _launch_violations(problem: Product, schedule: Schedule) -> Iterator[str]:
    """Yield why it cannot be launched."""
    s = schedule
    if grid(problem, s)[0] > MOST_BLOCKS_X or grid(problem, s)[2] > MOST_BLOCKS_Y:
        yield f"a grid of {grid(problem, s)} blocks is larger than a launch can be"
    if maximum(problem.m, problem.n, problem.k) + max(s.tile_m, s.tile_n, s.tile_k) > 2**31:
        yield "an extent is beyond 31 bits"

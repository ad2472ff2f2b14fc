"""Which schedules of a product by mma.sync are possible, with the reason of each that is not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from nautilus_cli.ir.functions import maximum
from nautilus_cli.kernels.checks import thread_violations
from nautilus_cli.kernels.limits import MOST_REGISTERS
from nautilus_cli.kernels.mma_product.problem import MmaProduct
from nautilus_cli.kernels.mma_product.resources import MMA_M, STEP_BYTES, finished_columns, grid, registers, smem_bytes
from nautilus_cli.kernels.mma_product.schedule import Schedule
from nautilus_cli.kernels.powers import power_violations
from nautilus_cli.kernels.product.checks import (
    cluster_violations,
    launch_violations,
    result_violations,
    tile_violations,
)
from nautilus_cli.targets.base import Target

_WIDE_WARP = 64 * 64  # sums of a warp beside which elements of 32 bits, four steps of them, spill in 255 registers (ptxas 13.0)
_WIDE_STEPS = 2


def violations(problem: MmaProduct, schedule: Schedule, target: Target) -> tuple[str, ...]:
    """Return why this schedule cannot serve this problem on this target; empty where it can."""
    s, shape = schedule, problem.shape
    if wrong := power_violations(s, ("stages",)):
        return wrong
    if s.warp_m > s.tile_m or s.warp_n > s.tile_n:
        return (f"a warp's tile of {s.warp_m}×{s.warp_n} is larger than the block's of {s.tile_m}×{s.tile_n}",)
    return tuple(
        chain(
            _warp_violations(problem, s, target),
            tile_violations(shape, s, element_bytes=problem.element_bytes),
            _epilogue_violations(problem, s),
            _room_violations(problem, s, target),
            launch_violations(grid(problem, s), maximum(shape.m, shape.n, shape.k) + max(s.tile_m, s.tile_n, s.tile_k)),
        )
    )


def _warp_violations(problem: MmaProduct, schedule: Schedule, target: Target) -> Iterator[str]:
    """Yield why warps and blocks cannot share out the work so."""
    s = schedule
    if s.warp_m < MMA_M or s.warp_n < MMA_M:
        yield f"a warp's tile of {s.warp_m}×{s.warp_n}; {MMA_M}×{MMA_M} is the least"
    if s.warp_n > 128:
        yield f"warp_n of {s.warp_n}; at most 128 columns are written"
    step = STEP_BYTES // problem.element_bytes
    if s.tile_k < step * s.slices_k:
        yield f"a tile of {s.tile_k} steps has no step of {step} for each of {s.slices_k} slices"
    yield from cluster_violations(s.cluster_k, target)
    if not 2 <= s.stages <= 8:
        yield f"{s.stages} stages; 2 to 8 are written"
    yield from thread_violations(s.threads)


def _epilogue_violations(problem: MmaProduct, schedule: Schedule) -> Iterator[str]:
    """Yield why sums cannot become results so."""
    s, shape = schedule, problem.shape
    if 8 * max(1, s.vector_c // 2) > s.warp_n or s.vector_c > 8:
        yield f"vector_c of {s.vector_c}; at most {min(8, s.warp_n // 4)} neighbours meet in a lane"
    else:
        yield from result_violations(shape.n, s.vector_c, is_paired=shape.is_paired)
    if problem.part_columns and (shape.n % problem.part_columns or finished_columns(s) % problem.part_columns):
        yield f"{finished_columns(s)} columns of a warp, and n = {shape.n}, are no whole parts of {problem.part_columns}"


def _room_violations(problem: MmaProduct, schedule: Schedule, target: Target) -> Iterator[str]:
    """Yield why a block, or a thread, has no room for it."""
    s = schedule
    if smem_bytes(problem, s) > target.smem_bytes_block:
        yield f"{smem_bytes(problem, s)} bytes of shared memory; a block of {target.name} has {target.smem_bytes_block}"
    available = min(MOST_REGISTERS, target.registers_multiprocessor // (s.threads * s.blocks))
    steps = s.tile_k * problem.element_bytes // STEP_BYTES // s.slices_k
    if not target.is_emulated and problem.element_bytes == 4 and s.warp_m * s.warp_n >= _WIDE_WARP and steps > _WIDE_STEPS:
        yield f"{steps} steps of a tile beside {s.warp_m}×{s.warp_n} sums; the compiler reads ahead for all of them, and spills"
    if not target.is_emulated and registers(problem, s, fragments=1) > available:
        yield f"at least {registers(problem, s, fragments=1)} registers a thread; {available} are available"

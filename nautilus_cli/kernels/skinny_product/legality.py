"""Which schedules of a product with few rows are possible, with the reason of each that is not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from nautilus_cli.ir.functions import maximum
from nautilus_cli.kernels.checks import thread_violations
from nautilus_cli.kernels.limits import (
    WARP_THREADS,
)
from nautilus_cli.kernels.powers import power_violations
from nautilus_cli.kernels.product.checks import (
    cluster_violations,
    launch_violations,
    result_violations,
    vector_violations,
)
from nautilus_cli.kernels.skinny_product.problem import SkinnyProduct
from nautilus_cli.kernels.skinny_product.resources import (
    MMA_LANES,
    MMA_ROWS,
    MMA_VECTOR,
    MOST_SUMS,
    available_registers,
    grid,
    registers,
    smem_bytes,
    step_depth,
    tiles,
)
from nautilus_cli.kernels.skinny_product.schedule import ANY_NUMBER, Schedule
from nautilus_cli.targets.base import Target


def violations(problem: SkinnyProduct, schedule: Schedule, target: Target) -> tuple[str, ...]:
    """Return why this schedule cannot serve this problem on this target; empty where it can."""
    s, shape = schedule, problem.shape
    if wrong := power_violations(s, ANY_NUMBER):
        return wrong
    if s.lanes_k > WARP_THREADS or s.warp_n > s.tile_n:
        return (f"a warp's {s.warp_n} columns with {s.lanes_k} lanes along k; a block has {s.tile_n}",)
    return tuple(
        chain(
            _warp_violations(problem, s, target),
            vector_violations("a", s.vector_a, shape.a_run, element_bytes=shape.a_bytes),
            vector_violations("b", s.vector_b, shape.b_run, element_bytes=shape.b_bytes),
            _epilogue_violations(problem, s),
            _room_violations(problem, s, target),
            launch_violations(grid(problem, s), maximum(shape.m + s.tile_m, shape.n + s.tile_n, shape.k + s.cluster_k * s.tile_k)),
        )
    )


def _warp_violations(problem: SkinnyProduct, schedule: Schedule, target: Target) -> Iterator[str]:
    """Yield why warps and blocks cannot share out the work so."""
    s = schedule
    if s.tensor_cores and not problem.may_use_tensor_cores:
        yield "tensor cores would round operands of f32"
    if s.tensor_cores:
        if s.tile_m < MMA_ROWS or s.thread_n < 2 or s.lanes_k != MMA_LANES or s.vector_b != MMA_VECTOR or not problem.shape.b_k_last:
            yield f"tensor cores take {MMA_ROWS} rows, 2 columns a thread and {MMA_LANES} lanes of {MMA_VECTOR} weights along k"
    elif s.thread_n * s.tile_m > MOST_SUMS:
        yield f"{s.thread_n * s.tile_m} sums a thread; at most {MOST_SUMS} are written"
    if not problem.shape.b_k_last and s.thread_n != s.vector_b:
        yield f"thread_n of {s.thread_n}; the columns of one load are {s.vector_b}"
    step = step_depth(problem, s)
    if s.tile_k % step:
        yield f"a tile of {s.tile_k} steps is no multiple of the {step} that a block has on their way"
    if s.tile_k % s.vector_a:
        yield f"vector_a of {s.vector_a} does not divide a tile of {s.tile_k} steps"
    yield from cluster_violations(s.cluster_k, target)
    if s.stages > 8:
        yield f"{s.stages} stages; at most 8 are written"
    if s.stages == 1 and tiles(problem, s) > 1:
        yield f"one stage for {tiles(problem, s)} tiles; one has to be all"
    yield from thread_violations(s.threads)


def _epilogue_violations(problem: SkinnyProduct, schedule: Schedule) -> Iterator[str]:
    """Yield why sums cannot become results so."""
    s = schedule
    if s.vector_c > min(s.tile_n, 8):
        yield f"vector_c of {s.vector_c}; at most {min(s.tile_n, 8)} are possible"
    else:
        yield from result_violations(problem.shape.n, s.vector_c, is_paired=problem.shape.is_paired)


def _room_violations(problem: SkinnyProduct, schedule: Schedule, target: Target) -> Iterator[str]:
    """Yield why a block, or a thread, has no room for it."""
    s = schedule
    if smem_bytes(s) > target.smem_bytes_block:
        yield f"{smem_bytes(s)} bytes of shared memory; a block of {target.name} has {target.smem_bytes_block}"
    available = available_registers(s, target)
    if not target.is_emulated and registers(problem, s, fewest=True) > available:
        yield f"at least {registers(problem, s, fewest=True)} registers a thread; {available} are available"

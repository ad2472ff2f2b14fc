"""Which schedules of a product with few rows are possible, with the reason of each that is not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from nautilus_cli.ir.functions import maximum
from nautilus_cli.kernels.limits import (
    MOST_BLOCKS_X,
    MOST_BLOCKS_Y,
    MOST_CLUSTER,
    MOST_THREADS,
    TRANSACTION_BYTES,
    WARP_THREADS,
)
from nautilus_cli.kernels.powers import power_violations
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
    s = schedule
    if wrong := power_violations(s, ANY_NUMBER):
        return wrong
    if s.lanes_k > WARP_THREADS or s.warp_n > s.tile_n:
        return (f"a warp's {s.warp_n} columns with {s.lanes_k} lanes along k; a block has {s.tile_n}",)
    return tuple(
        chain(
            _warp_violations(problem, s, target),
            _operand_violations(problem, s),
            _epilogue_violations(problem, s),
            _room_violations(problem, s, target),
            _launch_violations(problem, s, target),
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
    if s.cluster_k > MOST_CLUSTER or (s.cluster_k > 1 and not target.has_clusters):
        yield f"{s.cluster_k} blocks in a cluster; at most {MOST_CLUSTER if target.has_clusters else 1} are possible"
    if s.stages > 8:
        yield f"{s.stages} stages; at most 8 are written"
    if s.stages == 1 and tiles(problem, s) > 1:
        yield f"one stage for {tiles(problem, s)} tiles; one has to be all"
    if s.threads > MOST_THREADS:
        yield f"{s.threads} threads a block; at most {MOST_THREADS} are possible"


def _operand_violations(problem: SkinnyProduct, schedule: Schedule) -> Iterator[str]:
    """Yield why threads cannot load the operands so."""
    s = schedule
    for name, vector, run, storage in (
        ("a", s.vector_a, problem.shape.a_run, problem.shape.a_bytes),
        ("b", s.vector_b, problem.shape.b_run, problem.shape.b_bytes),
    ):
        if run % vector:
            yield f"vector_{name} of {vector} does not divide {run}, the extent that it runs along"
        elif vector * storage > TRANSACTION_BYTES:
            yield f"vector_{name} of {vector} is more than a transaction of {TRANSACTION_BYTES} bytes"


def _epilogue_violations(problem: SkinnyProduct, schedule: Schedule) -> Iterator[str]:
    """Yield why sums cannot become results so."""
    s = schedule
    if s.vector_c > min(s.tile_n, 8):
        yield f"vector_c of {s.vector_c}; at most {min(s.tile_n, 8)} are possible"
    elif problem.shape.n % s.vector_c:
        yield f"vector_c of {s.vector_c} does not divide n = {problem.shape.n}"
    elif problem.shape.is_paired and s.vector_c < 2:
        yield "the epilogue takes one sum at a time; two make a result"


def _room_violations(problem: SkinnyProduct, schedule: Schedule, target: Target) -> Iterator[str]:
    """Yield why a block, or a thread, has no room for it."""
    s = schedule
    if smem_bytes(s) > target.smem_bytes_block:
        yield f"{smem_bytes(s)} bytes of shared memory; a block of {target.name} has {target.smem_bytes_block}"
    available = available_registers(s, target)
    if not target.is_emulated and registers(problem, s, fewest=True) > available:
        yield f"at least {registers(problem, s, fewest=True)} registers a thread; {available} are available"


def _launch_violations(problem: SkinnyProduct, schedule: Schedule, target: Target) -> Iterator[str]:
    """Yield why it cannot be launched on a target."""
    s = schedule
    if grid(problem, s)[0] > MOST_BLOCKS_X or grid(problem, s)[2] > MOST_BLOCKS_Y:
        yield f"a grid of {grid(problem, s)} blocks is larger than a launch can be"
    if maximum(problem.shape.m + s.tile_m, problem.shape.n + s.tile_n, problem.shape.k + s.cluster_k * s.tile_k) > 2**31:
        yield "an extent is beyond 31 bits"
    if not target.is_emulated and not target.has_async_copy:
        yield f"{target.name} has no asynchronous copies"

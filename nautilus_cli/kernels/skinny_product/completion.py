"""What follows of a schedule once its threads and loads are chosen: the longest vectors, and A's rows in shared memory."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from nautilus_cli.ir.dims import is_symbolic, upper
from nautilus_cli.kernels.estimates import resident_blocks
from nautilus_cli.kernels.limits import TRANSACTION_BYTES, WARP_THREADS
from nautilus_cli.kernels.powers import power_divisor
from nautilus_cli.kernels.skinny_product.problem import SkinnyProduct
from nautilus_cli.kernels.skinny_product.resources import (
    MMA_ROWS,
    MOST_SUMS,
    available_registers,
    registers,
    row_bytes,
    smem_bytes,
    step_depth,
)
from nautilus_cli.kernels.skinny_product.schedule import Schedule
from nautilus_cli.targets.base import Target

_MOST_ROWS_BYTES = 48 * 1024
"""Of shared memory for A's rows where they are all there at once."""

_MOST_RING_BYTES = 96 * 1024
_STAGES = 3


def completed(problem: SkinnyProduct, schedule: Schedule, tile_k: int = 0) -> Schedule:
    """Return the schedule with the longest vectors, and with as much of A's rows in shared memory at once as there is room for.

    Where n is last, a thread's columns are those of a load, and rows as many as leave it few sums. The schedule's `tile_k` and `stages` do
    not matter.

    Args:
        problem: what the schedule is for.
        schedule: the rest of it.
        tile_k: least depth of a tile of A's rows, in a ring of stages; by default all of it in one, if there is room.
    """
    s = schedule
    vector_b = power_divisor(problem.shape.b_run, TRANSACTION_BYTES // problem.shape.b_bytes)
    if not problem.shape.b_k_last:
        tile_n = max(s.tile_n, vector_b * (WARP_THREADS // s.lanes_k))
        s = replace(s, thread_n=vector_b, tile_n=tile_n, tile_m=min(s.tile_m, MOST_SUMS // vector_b))
    s = replace(s, vector_b=vector_b, vector_c=power_divisor(problem.shape.n, min(s.tile_n, 4)))
    s = _with_rows(problem, s, problem.shape.k, tile_k)
    along = s.tile_k & -s.tile_k
    return replace(s, vector_a=power_divisor(problem.shape.a_run, min(TRANSACTION_BYTES // problem.shape.a_bytes, along)))


def for_all_sizes(problem: SkinnyProduct, schedule: Schedule, target: Target) -> Schedule:
    """Return the schedule, chosen for one depth, with rows in shared memory as the greatest needs them.

    Loops over an open depth take more registers where there are some, so the compiler is held to what so many blocks leave it as the
    estimate counts on.
    """
    if not is_symbolic(problem.shape.k):
        return schedule
    s = _with_rows(problem, schedule, upper(problem.shape.k))
    held = resident_blocks(target, threads=s.threads, registers=registers(problem, s), smem_bytes=smem_bytes(s), fewest=s.blocks)
    wanted = replace(s, blocks=max(s.blocks, held))
    is_enough = registers(problem, wanted, fewest=True) <= available_registers(wanted, target)
    return wanted if is_enough and not target.is_emulated else s


def with_all_rows(
    problem: SkinnyProduct, tensor_cores: bool, thread_n: int, lanes_k: int, loads: int, slices_k: int, groups: int, cluster_k: int
) -> Schedule:
    """Return a schedule whose tile has all rows where it can."""
    most = MMA_ROWS * 4 if tensor_cores else max(1, MOST_SUMS // thread_n)
    tile_m = min(most, max(MMA_ROWS if tensor_cores else 1, 1 << (problem.shape.m - 1).bit_length()))
    return completed(
        problem,
        Schedule(
            tile_m=tile_m,
            tile_n=groups * thread_n * (WARP_THREADS // lanes_k),
            tile_k=1,
            thread_n=thread_n,
            lanes_k=lanes_k,
            loads=loads,
            slices_k=slices_k,
            cluster_k=cluster_k,
            tensor_cores=tensor_cores,
        ),
    )


def _with_rows(problem: SkinnyProduct, schedule: Schedule, depth: int, tile_k: int = 0) -> Schedule:
    """Return the schedule with rows of A of some depth in shared memory: all of it in one tile, if there is room, or in a ring."""
    s = schedule
    step = step_depth(problem, s)
    share = ceil(max(1, depth) / s.cluster_k)
    row = s.tile_m * row_bytes(s)
    whole = ceil(share / step) * step
    if whole <= tile_k or (whole * row <= _MOST_ROWS_BYTES and not tile_k):
        return replace(s, tile_k=whole, stages=1)
    return replace(s, tile_k=ceil(max(1, tile_k or _MOST_RING_BYTES // _STAGES // row) / step) * step, stages=_STAGES)

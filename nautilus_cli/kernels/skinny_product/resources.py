"""What a block of a product with few rows takes: depth, shared memory and registers, as kernels/skinny_product.cuh shares them out."""

from __future__ import annotations

from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.limits import MOST_REGISTERS
from nautilus_cli.kernels.product import tiles as product_tiles
from nautilus_cli.kernels.skinny_product.problem import SkinnyProduct
from nautilus_cli.kernels.skinny_product.schedule import Schedule
from nautilus_cli.targets.base import Target

MMA_ROWS = 16
"""Rows of A that tensor cores multiply at once: two steps of eight."""

MMA_LANES = 4
"""Lanes of a warp that lie along the depth where tensor cores multiply."""

MMA_VECTOR = 8
"""Elements of a lane's load there: two steps of mma."""

SUM_BYTES = 4

MOST_SUMS = 64
"""Of a thread without tensor cores; more would not fit beside the weights on their way."""


def step_depth(problem: SkinnyProduct, schedule: Schedule) -> int:
    """Return the depth that all slices of a block have on its way."""
    s = schedule
    return s.slices_k * s.loads * s.lanes_k * (s.vector_b if problem.shape.b_k_last else 1)


def smem_bytes(schedule: Schedule) -> int:
    """Return the dynamic shared memory of a block: A's rows, or the slices' sums that take their place."""
    s = schedule
    rows = s.stages * s.tile_m * s.tile_k * row_bytes(s)
    pitch = s.tile_n if s.tile_n < 4 else s.tile_n + 4
    return max(rows, s.slices_k * s.tile_m * pitch * SUM_BYTES)


def row_bytes(schedule: Schedule) -> int:
    """Return the bytes of an element of A in shared memory: tensor cores take 16 bits, threads float."""
    return 2 if schedule.tensor_cores else 4


def registers(problem: SkinnyProduct, schedule: Schedule, *, fewest: bool = False) -> int:
    """Return about how many registers a thread takes: sums, weights on their way and in use, rows of A, and addresses.

    Args:
        problem: the product.
        schedule: its schedule.
        fewest: whether the compiler is held to as few as it needs.
    """
    s = schedule
    items = s.thread_n if problem.shape.b_k_last else 1
    held = s.loads * items * max(1, s.vector_b * problem.shape.b_bytes // 4)
    if s.tensor_cores:
        return s.thread_n * s.tile_m // 4 + (3 * held // 2 + 40 if fewest else 2 * held + 48)
    return s.thread_n * s.tile_m + held + max(8, s.vector_b) * items + (28 if fewest else 40)


def available_registers(schedule: Schedule, target: Target) -> int:
    """Return how many registers a thread may have."""
    s = schedule
    return min(MOST_REGISTERS, target.registers_multiprocessor // (s.threads * s.blocks) // 8 * 8)  # they come in eights


def grid(problem: SkinnyProduct, schedule: Schedule) -> tuple[int, int, int]:
    """Return the blocks along x (tiles, times those that share one), y and z (batches)."""
    return product_tiles.grid(problem.shape, schedule, cluster_k=schedule.cluster_k)


def geometry(problem: SkinnyProduct, schedule: Schedule) -> Geometry:
    """Return grid, threads and shared memory."""
    return Geometry(grid=grid(problem, schedule), threads=schedule.threads, smem_bytes=smem_bytes(schedule))


def tiles(problem: SkinnyProduct, schedule: Schedule) -> int:
    """Return the tiles of depth of a block."""
    return -(-problem.shape.k // (schedule.tile_k * schedule.cluster_k))

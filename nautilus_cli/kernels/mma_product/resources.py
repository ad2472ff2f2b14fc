"""What a block of a product by mma.sync takes: tiles, shared memory and registers, as kernels/mma_product.cuh shares them out."""

from __future__ import annotations

from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.limits import WARP_THREADS
from nautilus_cli.kernels.mma_product.problem import MmaProduct
from nautilus_cli.kernels.mma_product.schedule import Schedule
from nautilus_cli.kernels.product import tiles
from nautilus_cli.kernels.product.tiles import items

MMA_M = 16
"""Rows of a step of mma. Its columns go in pairs of steps, which are as many."""

STEP_BYTES = 32
"""Depth of a step of mma in bytes of either operand."""

SUM_BYTES = 4

_WORD_PADDING = 16
"""Bytes. Source: MmaWordLayout::kPitch of kernels/mma_word_tile.cuh; of rows of 16 bits whose vectors are of one element, brought by words
or not."""

_ROW_PADDING = 8
"""Floats. Source: ResultRows::kPitch of kernels/mma_result_rows.cuh."""

LEAST_COPY_BYTES = 4
"""Of a vector that is copied past registers."""

WORD_BYTES = 4


def smem_bytes(problem: MmaProduct, schedule: Schedule) -> int:
    """Return the dynamic shared memory of a block: the stages, or the sums that take their place, of slices or of 16 rows of each warp."""
    s = schedule
    stages = s.stages * ((s.tile_m + s.tile_n) * s.tile_k * problem.element_bytes + _padding_bytes(problem, s))
    sums = s.slices_k * s.tile_m * s.tile_n * SUM_BYTES if s.slices_k * s.cluster_k > 1 else 0
    rows = s.warps * MMA_M * (s.warp_n + _ROW_PADDING) * SUM_BYTES if finishes_by_rows(problem, s) else 0
    return max(stages, sums, rows)


def _padding_bytes(problem: MmaProduct, schedule: Schedule) -> int:
    """Return what rows of a stage that are brought by words have beside their elements."""
    s, shape = schedule, problem.shape
    operands = ((s.tile_m, s.vector_a, shape.a_k_last), (s.tile_n, s.vector_b, shape.b_k_last))
    return _WORD_PADDING * sum(outer for outer, vector, is_k_last in operands if comes_by_words(problem, vector, is_k_last=is_k_last))


def comes_by_words(problem: MmaProduct, vector: int, *, is_k_last: bool) -> bool:
    """Return whether an operand is brought by words where it is only loaded, as is_brought_by_words of kernels/mma_word_tile.cuh has it."""
    return vector == 1 and is_k_last and problem.element_bytes == WORD_BYTES // 2


def finishes_by_rows(problem: MmaProduct, schedule: Schedule) -> bool:
    """Return whether sums pass through shared memory, as kFinishesByRows of kernels/mma_result.cuh has it."""
    s = schedule
    return s.vector_c <= 4 and s.slices_k * s.cluster_k == 1 and not problem.part_columns and not problem.moment_parts


def registers(problem: MmaProduct, schedule: Schedule, fragments: int = 2) -> int:
    """Return about how many registers a thread takes: sums, sets of fragments, elements on their way, and addresses.

    Vectors of 4 bytes and more of which nothing is computed are taken to be copied past registers.

    Args:
        fragments: 2 where the compiler is free, 1 for the least that it needs.
    """
    s = schedule
    words = (s.warp_m + s.warp_n) // 4 * (fragments + (problem.terms > 1))
    operands = ((s.tile_m, s.vector_a, problem.shape.a_work > 0), (s.tile_n, s.vector_b, False))
    on_the_way = sum(
        items(outer, s, vector) * vector
        for outer, vector, is_computed in operands
        if is_computed or vector * problem.element_bytes < LEAST_COPY_BYTES
    )
    sums = s.warp_m * s.warp_n // WARP_THREADS * (2 if problem.terms > 1 else 1)  # those of a tile apart
    return sums + words + on_the_way + 40


def grid(problem: MmaProduct, schedule: Schedule) -> tuple[int, int, int]:
    """Return the blocks along x (tiles, times those that share one), y and z (batches)."""
    return tiles.grid(problem.shape, schedule, cluster_k=schedule.cluster_k)


def geometry(problem: MmaProduct, schedule: Schedule) -> Geometry:
    """Return grid, threads and shared memory."""
    return Geometry(grid=grid(problem, schedule), threads=schedule.threads, smem_bytes=smem_bytes(problem, schedule))


def finished_columns(schedule: Schedule) -> int:
    """Return how many neighbouring columns a warp finishes, as FinishShares of kernels/mma_result.cuh has it."""
    s = schedule
    rows, pairs = s.warp_m // MMA_M, s.warp_n // MMA_M
    shares = max(1, min(s.slices_k * s.cluster_k, rows * (pairs // max(1, s.vector_c // 4))))
    return max(1, pairs // (shares // min(rows, shares))) * MMA_M

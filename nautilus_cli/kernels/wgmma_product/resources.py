"""What a block of a product by wgmma takes: tiles, shared memory and registers, as kernels/wgmma_product.cuh shares them out."""

from __future__ import annotations

from dataclasses import replace

from nautilus_cli.ir.functions import minimum
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.boxes import ROW_BYTES
from nautilus_cli.kernels.wgmma_product.problem import Loaded, WgmmaProduct
from nautilus_cli.kernels.wgmma_product.schedule import WARPGROUP_THREADS, Schedule

WARPGROUP_ROWS = 64
"""Rows of one wgmma."""

STEP_BYTES = 32
"""Depth of one wgmma in bytes of either operand."""

SUM_BYTES = 4

SUM_OVERHEAD_REGISTERS = 48
"""Of a consumer's thread, beside its sums and what its epilogue loads."""

_BARRIER_BYTES = 16
_REGISTER_BYTES = 4
_SPLIT_OVERHEAD_REGISTERS = 40  # of two bands of rows
_SPLIT_BAND_REGISTERS = 24  # of each further one: three bands of 40 columns, 180 sums, spill in 240 registers where m is open (ptxas 13.0)
_SWAP_REGISTERS = 16  # of single results' addresses: 192 sums of a transposed product spill in 240 registers, and 128 in 232 where the
# epilogue loads four operands (ptxas 13.0)
_PAIR_REGISTERS = 8  # of two sums that make a result: 160 spill in 232 registers with a bias and a residual (ptxas 13.0)
_OTHER_READ_REGISTERS = 92  # of a producer's thread, beside what it reads of a computed A and its places
_FEW_COLUMNS = 96  # of which a thread holds two vectors a row
_INPUT_REGISTERS = 8  # of an operand's addresses, and of what is converted
_AHEAD_REGISTERS = 8  # of a chunk that is asked for ahead


def oriented(problem: WgmmaProduct, schedule: Schedule) -> WgmmaProduct:
    """Return the product as a schedule computes it: transposed where it swaps operands."""
    if not schedule.swaps:
        return problem
    p = problem
    return replace(p, m=p.n, n=p.m, a_k_last=p.b_k_last, b_k_last=p.a_k_last, result_bytes=0)


def stage_bytes(schedule: Schedule) -> int:
    """Return the shared memory of one stage, with its two barriers."""
    return (schedule.tile_m + schedule.tile_n) * ROW_BYTES + _BARRIER_BYTES


def smem_bytes(problem: WgmmaProduct, schedule: Schedule) -> int:
    """Return the dynamic shared memory of a block."""
    return schedule.stages * stage_bytes(schedule) + beside_stages_bytes(problem, schedule)


def beside_stages_bytes(problem: WgmmaProduct, schedule: Schedule) -> int:
    """Return the shared memory beside the ring.

    These are two boxes of each consumer's results; or others' sums of the columns that the block's parts of the depth finish, and their
    barrier; of floats' rests two tiles of A and three of B.
    """
    s = schedule
    results = s.consumers * 2 * WARPGROUP_ROWS * ROW_BYTES if s.stores_boxes else 0
    slices = s.parts // s.cluster_k
    received = slices * (s.parts - 1) * s.tile_m * finished_columns(s) * SUM_BYTES + _BARRIER_BYTES if s.parts > 1 else 0
    rests = (2 * s.tile_m + 3 * s.tile_n) * ROW_BYTES if problem.terms == 3 else 0
    return results + received + rests


def cluster_tiles(problem: WgmmaProduct, schedule: Schedule) -> int:
    """Return how many tiles of a whole cluster the result has."""
    s = schedule
    problem = oriented(problem, s)
    return -(-problem.m // (s.tile_m * s.cluster_m)) * -(-problem.n // (s.tile_n * s.cluster_n)) * problem.batch


def geometry(problem: WgmmaProduct, schedule: Schedule) -> Geometry:
    """Return a block for each tile, at most those that stay."""
    blocks = minimum(schedule.blocks, cluster_tiles(problem, schedule) * schedule.cluster)
    return Geometry(grid=(blocks, 1, 1), threads=schedule.threads, smem_bytes=smem_bytes(problem, schedule))


def consumer_registers(schedule: Schedule, *, loads_a: bool = False) -> int:
    """Return the registers of a consumer's thread, as kernels/wgmma_product.cuh shares them out."""
    s = schedule
    return min(240, (entry_registers(s) * (s.consumers + 1) - producer_registers(s, loads_a=loads_a)) // s.consumers // 8 * 8)


def producer_registers(schedule: Schedule, *, loads_a: bool = False) -> int:
    """Return the registers of a producer's thread: those that load and compute need more than the one that starts copies."""
    if loads_a:
        s = schedule
        sums = -(-(s.rows // WARPGROUP_ROWS * s.tile_n // 2 + SUM_OVERHEAD_REGISTERS) // 8) * 8
        return max(40, min(216, entry_registers(s) * (s.consumers + 1) - sums * s.consumers))
    return 32 if schedule.consumers == 3 else 40


def read_registers(problem: WgmmaProduct, loaded: Loaded, schedule: Schedule) -> tuple[int, int]:
    """Return registers of what a producer's thread reads of 64 rows of A, and of its places, as kernels/wgmma_loaded.cuh counts them."""
    items = max(1, ROW_BYTES // problem.element_bytes * WARPGROUP_ROWS // schedule.vector_a // WARPGROUP_THREADS)
    words = (loaded.streams - loaded.singles) * -(-schedule.vector_a * loaded.bytes // _REGISTER_BYTES)
    words += loaded.singles * schedule.vector_a * -(-loaded.bytes // _REGISTER_BYTES) + 4 * loaded.gathered
    return items * words + 4 * max(0, loaded.loads - loaded.streams), 2 * items


def reads_together(problem: WgmmaProduct, loaded: Loaded, schedule: Schedule) -> tuple[int, int]:
    """Return how many bands of 64 rows of A, and of how many tiles, are read together, as kernels/wgmma_loaded.cuh has it."""
    bands = schedule.tile_m // WARPGROUP_ROWS
    band, places = read_registers(problem, loaded, schedule)
    room = producer_registers(schedule, loads_a=True) - _OTHER_READ_REGISTERS - bands * places
    most = 16 if bands > 2 else max(16, min(96, room))
    held = max([b for b in range(1, bands + 1) if bands % b == 0 and b * band <= most], default=1)
    return held, 1 if held < bands else max(1, min(4, most // (held * band)))


def input_registers(problem: WgmmaProduct, schedule: Schedule) -> int:
    """Return the registers of what a consumer's thread loads for its results ahead of their sums, as kernels/wgmma_result.cuh holds it."""
    s, used = schedule, _INPUT_REGISTERS * problem.input_count
    if not used:
        return 0
    if s.stores_boxes and problem.result_bytes:
        columns = ROW_BYTES // problem.result_bytes * problem.sums  # of a box
        results = min(2, s.tile_n // columns) * columns // 8 * (2 // problem.sums)
        return -(-results * problem.input_bytes // _REGISTER_BYTES) + used
    of_chunk = -(-2 * max(2, s.vector_c) // problem.sums * problem.input_bytes // _REGISTER_BYTES) + used
    return of_chunk if finished_columns(s) > _FEW_COLUMNS else 2 * of_chunk + _AHEAD_REGISTERS


def sum_registers(problem: WgmmaProduct, schedule: Schedule) -> int:
    """Return the sums of a consumer's thread; those of two tiles apart, and their own, where an element is two numbers.

    Where parts of the depth meet, they are those that it finishes and as many of one band that others have sent.
    """
    s = schedule
    bands = s.rows // WARPGROUP_ROWS
    finished = (bands + 1) * finished_columns(s) // 2 if s.parts > 1 else 0
    return max(bands * s.tile_n // 2 * (3 if problem.terms == 3 else 1), finished)


def spare_registers(problem: WgmmaProduct, schedule: Schedule) -> int:
    """Return how many registers of a consumer's thread nothing needs; negative where there are too few."""
    needed = sum_registers(problem, schedule) + _overhead_registers(problem, schedule) + input_registers(problem, schedule)
    return consumer_registers(schedule, loads_a=problem.loaded_a is not None) - needed


def _overhead_registers(problem: WgmmaProduct, schedule: Schedule) -> int:
    """Return what a consumer's thread needs beside its sums and what its epilogue loads."""
    if problem.terms == 3:
        return _SPLIT_OVERHEAD_REGISTERS + _SPLIT_BAND_REGISTERS * max(0, schedule.rows // WARPGROUP_ROWS - 2)
    return SUM_OVERHEAD_REGISTERS + _SWAP_REGISTERS * schedule.swaps + _PAIR_REGISTERS * problem.is_paired


def entry_registers(schedule: Schedule) -> int:
    """Return the registers that a thread begins with: what a multiprocessor of 65536 has for it."""
    return min(240, 65536 // (schedule.threads * schedule.residents) // 8 * 8)


def lane_columns(vector_c: int) -> int:
    """Return how many columns lanes exchange so that each has a vector of them."""
    return 8 * max(1, vector_c // 2)


def _shares(schedule: Schedule) -> int:
    """Return how many parts of the depth finish a tile, each as many columns, as kernels/wgmma_parts.cuh has it."""
    groups = max(1, schedule.tile_n // lane_columns(schedule.vector_c))
    return max(shares for shares in range(1, min(groups, schedule.parts) + 1) if groups % shares == 0)


def finished_columns(schedule: Schedule) -> int:
    """Return how many neighbouring columns a warp finishes."""
    return schedule.tile_n // _shares(schedule)

"""The estimated time of a product with few rows, on a GPU and on the emulator."""

from __future__ import annotations

from math import ceil, prod

from nautilus_cli.ir.functions import indicator, maximum
from nautilus_cli.kernels.estimates import CYCLES_PER_US, THREAD_START_NS, resident_blocks, work_cycles
from nautilus_cli.kernels.limits import LINE_BYTES, SCHEDULERS, WARP_THREADS
from nautilus_cli.kernels.skinny_product.problem import SkinnyProduct
from nautilus_cli.kernels.skinny_product.resources import MMA_LANES, MMA_VECTOR, SUM_BYTES, grid, registers, smem_bytes, step_depth
from nautilus_cli.kernels.skinny_product.schedule import Schedule
from nautilus_cli.targets.base import Target

# Cost model of a GPU, in cycles of a multiprocessor: fitted to 174 schedules of 19 products on an H200, to 13 % (rms).
_START_CYCLES = 900
_BLOCK_CYCLES = 2180
_UNEVEN_BLOCKS = 0.5  # that the busiest multiprocessor has more, unless all places are taken at once: nine schedules of five GEMV
_STEP_LATENCY = 780  # of a block that waits for its next weights
_ROW_CYCLES = 117  # of a thread for a vector of A
_FETCH_INSTRUCTIONS = 36
_MEMORY_SHARE = 0.98
_L2_BYTES_PER_CYCLE = 80
_SHARED_BYTES_PER_CYCLE = 72
_SHORT_RUN_SHARE = 0.86  # of the bandwidth, where less than a line lies together
_HIDING = 2.4
_ACROSS_SHARE = 0.6  # of it, where n is last and a warp reads a few columns of many depths
_CLUSTER_CYCLES = 4000  # more than it gained wherever it was tried
_REMOTE_BYTES_PER_CYCLE = 6
_PARTS = 1 << 10
"""Of a cycle, in which rates of open sizes are counted."""

# Cost model of the emulator, in nanoseconds of one core.
_BARRIER_NS = 25
_WARP_CALL_NS = 1600  # a rendezvous of 32 lanes
_FETCH_NS = 12
_MULTIPLY_ADD_NS = 0.4
_EPILOGUE_NS = 5.0


def gpu_us(problem: SkinnyProduct, schedule: Schedule, target: Target) -> float:
    """Return the estimated time in microseconds, with programmatic edges.

    A multiprocessor's share of the weights takes it what is greatest: memory, L2, shared memory, the schedulers, or the time of one block
    alone times how often blocks follow each other; the others hide behind it in part.
    """
    s = schedule
    blocks = prod(grid(problem, s))
    each = ceil(blocks / target.multiprocessors)  # of a multiprocessor
    held = resident_blocks(target, threads=s.threads, registers=registers(problem, s), smem_bytes=smem_bytes(s), fewest=s.blocks)
    resident = max(1, min(held, each))  # of no rows there is no block
    depth = ceil(problem.shape.k / s.cluster_k)
    rates, _ = _cycles_of_depth(problem, s, target)
    in_step, finish = _cycles_of_block(problem, s)
    steps = ceil(depth / step_depth(problem, s))
    staged = s.tile_m * steps * step_depth(problem, s) / s.vector_a / s.threads * _ROW_CYCLES  # rows behind the last step are not brought
    staged += work_cycles(s.tile_m * depth, problem.shape.a_work)
    alone = _BLOCK_CYCLES + staged + steps * in_step + (steps - 1) * _STEP_LATENCY + finish
    busiest = each if each == held or steps < 2 else each + _UNEVEN_BLOCKS
    parts = (*(busiest * depth * rate for rate in rates), each / resident * alone)
    cycles: float = _START_CYCLES + sum(part**_HIDING for part in parts) ** (1 / _HIDING)
    return cycles / CYCLES_PER_US


def open_ns(problem: SkinnyProduct, schedule: Schedule, target: Target) -> int:
    """Return `gpu_us` in nanoseconds, as an expression where sizes are open: of whole cycles, and what hides adds a share.

    At 429 products of 16 bits of up to 16 rows, the schedule for which this is least takes 1.001 of the time of the best one by `gpu_us`
    (mean), at most 1.03.
    """
    s, shape = schedule, problem.shape
    each = -(-prod(grid(problem, s)) // target.multiprocessors)
    held = resident_blocks(target, threads=s.threads, registers=registers(problem, s), smem_bytes=smem_bytes(s), fewest=s.blocks)
    depth = -(-shape.k // s.cluster_k)
    rates, staged = _cycles_of_depth(problem, s, target)
    in_step, finish = _cycles_of_block(problem, s)
    step = step_depth(problem, s)
    alone = round(_BLOCK_CYCLES + finish - _STEP_LATENCY) + -(-depth // step) * round(staged * step + in_step + _STEP_LATENCY)
    latency = maximum(alone, each * alone // held)
    is_uneven = (1 - indicator(each - held, is_zero=True)) * indicator(depth - step, is_zero=False)
    moved = each * depth + depth * is_uneven * round(_UNEVEN_BLOCKS * _PARTS) // _PARTS
    greatest = maximum(moved * round(max(rates) * _PARTS) // _PARTS, latency)
    every = moved * round(sum(rates) * _PARTS) // _PARTS + latency
    return (_START_CYCLES + (17 * greatest + 3 * every) // 20) * 1000 // CYCLES_PER_US


def _cycles_of_depth(problem: SkinnyProduct, schedule: Schedule, target: Target) -> tuple[tuple[float, ...], float]:
    """Return what a unit of a block's depth takes a multiprocessor's memory, L2, schedulers and shared memory; and its threads, for A."""
    s, shape = schedule, problem.shape
    items = s.thread_n if shape.b_k_last else 1
    vectors = s.tile_n / s.vector_b / WARP_THREADS
    if s.tensor_cores:
        issue = vectors * (_FETCH_INSTRUCTIONS + s.tile_m / 8 * (2 + 4 / s.thread_n))
        shared = vectors * WARP_THREADS * 2 * s.vector_b * s.tile_m / s.thread_n / 4
    else:
        conversions = 1 if shape.b_bytes < SUM_BYTES else 0
        issue = vectors * (_FETCH_INSTRUCTIONS + s.vector_b * (conversions + s.tile_m) + s.tile_m * s.vector_b / 4 / items)
        shared = vectors * WARP_THREADS * 4 * s.vector_b * s.tile_m / (items if shape.b_k_last else s.vector_b)
    rows, weights = s.tile_m * shape.a_bytes, s.tile_n * shape.b_bytes
    rates = (weights / _bandwidth(problem, s, target), (weights + rows) / _L2_BYTES_PER_CYCLE)
    staged = s.tile_m / s.vector_a / s.threads * _ROW_CYCLES + work_cycles(s.tile_m, shape.a_work)
    return (*rates, issue / SCHEDULERS, shared / _SHARED_BYTES_PER_CYCLE), staged


def _cycles_of_block(problem: SkinnyProduct, schedule: Schedule) -> tuple[float, float]:
    """Return what a block alone takes for the multiply-adds of a step, and for its results."""
    s = schedule
    items = s.thread_n if problem.shape.b_k_last else 1
    in_step = 0.0 if s.tensor_cores else float(s.loads * items * s.vector_b * s.tile_m)
    sums = s.slices_k * s.tile_m * s.tile_n * SUM_BYTES
    finish = sums / _SHARED_BYTES_PER_CYCLE + s.tile_m * s.tile_n / s.vector_c / s.threads * s.slices_k * 4
    if s.cluster_k > 1:
        finish += _CLUSTER_CYCLES + sums / _REMOTE_BYTES_PER_CYCLE
    return in_step, finish


def _bandwidth(problem: SkinnyProduct, schedule: Schedule, target: Target) -> float:
    """Return the bytes of weights that memory gives a multiprocessor in a cycle."""
    s = schedule
    bandwidth = _MEMORY_SHARE * target.memory_bytes_per_us / CYCLES_PER_US / target.multiprocessors
    if problem.shape.b_k_last and s.lanes_k * s.vector_b * problem.shape.b_bytes < LINE_BYTES:
        bandwidth *= _SHORT_RUN_SHARE
    if not problem.shape.b_k_last:
        bandwidth *= _ACROSS_SHARE
    return bandwidth


def emulated_ns(problem: SkinnyProduct, schedule: Schedule) -> float:
    """Return the estimated time in nanoseconds of one core: threads, rendezvous, loads and arithmetic add up."""
    s = schedule
    blocks = prod(grid(problem, s))
    steps = ceil(problem.shape.k / step_depth(problem, s))
    items = s.thread_n if problem.shape.b_k_last else 1
    loads = steps * s.loads
    if s.tensor_cores:
        work = s.threads // WARP_THREADS * loads * (2 * _WARP_CALL_NS + s.warp_n * s.tile_m * MMA_LANES * MMA_VECTOR * 0.6)
    else:
        work = s.threads * loads * items * s.vector_b * s.tile_m * _MULTIPLY_ADD_NS
        work += s.threads // WARP_THREADS * _WARP_CALL_NS * s.lanes_k.bit_length()
    work += s.threads * loads * items * _FETCH_NS
    rows = s.tile_m * ceil(problem.shape.k / s.tile_k) * s.tile_k / s.vector_a * _FETCH_NS
    start = s.threads * (THREAD_START_NS + 3 * _BARRIER_NS)
    finish = s.tile_m * s.tile_n / s.vector_c * _EPILOGUE_NS
    return ceil(blocks / 2) * 2 * (start + work + rows + finish)

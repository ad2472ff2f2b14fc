"""The estimated time of a product by mma.sync, on a GPU and on the emulator."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from nautilus_cli.kernels.estimates import CYCLES_PER_US, THREAD_START_NS, resident_blocks, soft_max, work_cycles
from nautilus_cli.kernels.limits import LINE_BYTES, SCHEDULERS, WARP_THREADS
from nautilus_cli.kernels.mma_product.problem import MmaProduct
from nautilus_cli.kernels.mma_product.resources import (
    LEAST_COPY_BYTES,
    MMA_M,
    STEP_BYTES,
    SUM_BYTES,
    comes_by_words,
    grid,
    registers,
    smem_bytes,
)
from nautilus_cli.kernels.mma_product.schedule import Schedule
from nautilus_cli.kernels.product.tiles import items
from nautilus_cli.targets.base import Target

# Cost model of a GPU, in cycles of a multiprocessor: fitted to 220 schedules of 16-bit products on an H200, to 17 % (rms).
_START_CYCLES = 2380
_FINISH_CYCLES = 11
# Of products whose depth or columns vectors of 16 bytes do not divide: fitted to 204 times of attention's scores with a mask and of its
# contexts, at 33 to 381 tokens, known and open, with programmatic edges on an H200, to 15 % (rms); two to 14 schedules of each product.
# Of these, the one of least estimate is the best or within 11 % of it, 3 % in the mean, but at scores of 16×255: a quarter more.
_RAGGED_START_CYCLES = 880
_RAGGED_BLOCK_CYCLES = 310.0  # beside those of other blocks of a multiprocessor
_SHORT_INSTRUCTIONS = 22  # for each vector of results that goes by way of shared memory
_SHORT_TURN_CYCLES = 195  # of a thread, for each eight of them: it reads for the next ones ahead
_READS_AT_ONCE = 8
"""Such vectors. Source: kAtOnce of kernels/mma_result_rows.cuh."""
_LEAVING_CYCLES = 600  # of moments that are left of rows; these two are not fitted: an sm_90a takes wgmma
_TAKING_CYCLES = 1000
_BYTE_STEPS_PER_CYCLE = 1605  # multiply-adds a cycle times bytes of an element: 1400 for 16 bits, half of that for tf32
_WARP_STEP_CYCLES = 18.6  # one warp alone: an mma after the other
_MEMORY_LATENCY = 1640
_BARRIER_LATENCY = 66
_L2_BYTES_PER_CYCLE = 57
_SHARED_BYTES_PER_CYCLE = 124
_COPY_INSTRUCTIONS = 2
_COPY_CYCLES = 10  # of a thread that brings its vectors one after another
_COMPUTED_INSTRUCTIONS = 14
_COMPUTED_LATENCY = 600
_SHIFTED_INSTRUCTIONS = 12  # of a warp for 16 rows of a step: two reads and a shift for each of four registers
_SHORT_RUN_SHARE = 0.68  # of the bandwidth, where less than a line lies together
_HIDING = 12.0
_MEMORY_SHARE = 0.88  # of the bandwidth
_CLUSTER_CYCLES = 2060
_REMOTE_BYTES_PER_CYCLE = 12

# Cost model of the emulator, in nanoseconds of one core: fitted to products of 512³ on one CPU.
_WARP_STEP_NS = 4900  # three rendezvous of 32 lanes
_SUM_STEP_NS = 1.15
_VECTOR_NS = 25
_THREAD_TILE_NS = 45
_EPILOGUE_NS = 5.0


def gpu_us(problem: MmaProduct, schedule: Schedule, target: Target) -> float:
    """Return the estimated time in microseconds.

    A tile of the main loop takes a block the greatest of four, what tensor cores multiply, what warps read of shared memory and what L2
    delivers, and what its copies issue; and at least the latency of memory shared out over the stages on their way. Blocks that share a
    multiprocessor share all but the latency.
    """
    s, shape, copies = schedule, problem.shape, _Copies.of(problem, schedule)
    busy, latency = _tile_cycles(problem, s, copies, target)
    finish = _Finish.of(problem, s, copies)
    computing = _COMPUTED_LATENCY if shape.a_work else 0  # what is read comes after the products that it could hide behind

    def round_cycles(together: int) -> float:
        tiles = ceil(ceil(shape.k / s.tile_k) / s.cluster_k)
        loop = tiles * max(together * busy, latency) + together * finish.shared_cycles + (tiles - 1) * computing
        return loop + _MEMORY_LATENCY + finish.alone_cycles

    resident = resident_blocks(
        target, threads=s.threads, registers=registers(problem, s), smem_bytes=smem_bytes(problem, s), fewest=s.blocks
    )
    full, rest = divmod(grid(problem, s)[0] * shape.batch, target.multiprocessors * resident)
    cycles = full * round_cycles(resident)
    if rest:
        cycles += round_cycles(ceil(rest / target.multiprocessors))
    needed = shape.batch * shape.k * (shape.m * shape.a_bytes + shape.n * shape.b_bytes)
    start_us, memory_us = finish.start_cycles / CYCLES_PER_US, needed / (_MEMORY_SHARE * target.memory_bytes_per_us)
    return start_us + soft_max(cycles / CYCLES_PER_US, memory_us, _HIDING)


def _tile_cycles(problem: MmaProduct, schedule: Schedule, copies: _Copies, target: Target) -> tuple[float, float]:
    """Return how long a tile keeps a multiprocessor busy, and how long it takes a block that is alone there."""
    s, shape = schedule, problem.shape
    step = STEP_BYTES // problem.element_bytes
    steps = s.tile_k // step // s.slices_k
    products = s.tile_m * s.tile_n * s.tile_k * problem.terms
    tensor = products * problem.element_bytes / _BYTE_STEPS_PER_CYCLE
    reads = s.warps * steps * (s.warp_m + s.warp_n) * STEP_BYTES / _SHARED_BYTES_PER_CYCLE
    writes = (s.tile_m + s.tile_n) * s.tile_k * problem.element_bytes / _SHARED_BYTES_PER_CYCLE
    traffic = s.tile_k * (s.tile_m * shape.a_bytes + s.tile_n * shape.b_bytes) / _L2_BYTES_PER_CYCLE
    issue = copies.issue_cycles + work_cycles(s.tile_m * s.tile_k, shape.a_work)
    tiles_m, tiles_n = ceil(shape.m / s.tile_m), ceil(shape.n / s.tile_n)
    own = s.tile_k * (s.tile_m * shape.a_bytes / tiles_n + s.tile_n * shape.b_bytes / tiles_m)  # what comes from memory once
    share = _MEMORY_SHARE * target.memory_bytes_per_us / CYCLES_PER_US / target.multiprocessors
    if s.tile_k * problem.element_bytes < LINE_BYTES and shape.b_k_last:
        share *= _SHORT_RUN_SHARE
    busy = max(tensor, reads + writes, traffic, own / share) + issue
    alone = steps * s.warp_m * s.warp_n / (MMA_M * 8) * _WARP_STEP_CYCLES / 2 * problem.terms + _BARRIER_LATENCY
    alone += copies.alone_cycles
    return busy, max(alone, _MEMORY_LATENCY / (s.stages - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finish:
    """What begins and ends a block's work, beside its tiles.

    Attributes:
        start_cycles: of the launch.
        shared_cycles: of a block, in which it keeps the multiprocessor busy.
        alone_cycles: of a block, in which others may work.
    """

    start_cycles: float
    shared_cycles: float
    alone_cycles: float

    @classmethod
    def of(cls, problem: MmaProduct, schedule: Schedule, copies: _Copies) -> _Finish:
        """Return what a schedule's blocks do with their sums."""
        s = schedule
        is_short = s.vector_c <= 2 or (s.vector_c == 4 and problem.shape.n % 8 != 0)
        start, shared = (_RAGGED_START_CYCLES, _RAGGED_BLOCK_CYCLES) if is_short or copies.are_of_words else (_START_CYCLES, 0.0)
        alone = s.tile_m * s.tile_n / s.vector_c * 8 / WARP_THREADS / SCHEDULERS + _FINISH_CYCLES
        if is_short:
            shared += s.tile_m * s.tile_n / s.vector_c * _SHORT_INSTRUCTIONS / WARP_THREADS / SCHEDULERS
            turns = max(1.0, s.warp_m * s.warp_n / s.vector_c / WARP_THREADS / _READS_AT_ONCE)
            alone = _FINISH_CYCLES + turns * _SHORT_TURN_CYCLES
        alone += (_LEAVING_CYCLES if problem.part_columns else 0) + (_TAKING_CYCLES if problem.moment_parts else 0)
        if s.slices_k > 1:
            alone += 2 * _BARRIER_LATENCY + 2 * s.slices_k * s.tile_m * s.tile_n * SUM_BYTES / _SHARED_BYTES_PER_CYCLE
        if s.cluster_k > 1:
            moved = 2 * s.slices_k * s.tile_m * s.tile_n * SUM_BYTES
            alone += _CLUSTER_CYCLES + moved / _SHARED_BYTES_PER_CYCLE + moved / _REMOTE_BYTES_PER_CYCLE
        return cls(start_cycles=start, shared_cycles=shared, alone_cycles=alone)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copies:
    """What it takes a block to bring a tile of both operands, and its warps to shift words of them.

    Attributes:
        issue_cycles: of a multiprocessor that issues them.
        alone_cycles: of a thread that brings its vectors one after another.
        are_of_words: whether an operand comes by words.
    """

    issue_cycles: float
    alone_cycles: float
    are_of_words: bool

    @classmethod
    def of(cls, problem: MmaProduct, schedule: Schedule) -> _Copies:
        """Return the copies of a schedule."""
        s, shape, size = schedule, problem.shape, problem.element_bytes
        a_is_words = comes_by_words(problem, s.vector_a, is_k_last=shape.a_k_last) and not shape.a_work
        b_is_words = comes_by_words(problem, s.vector_b, is_k_last=shape.b_k_last)
        brought = ((s.tile_m, 2 if a_is_words else s.vector_a), (s.tile_n, 2 if b_is_words else s.vector_b))
        instructions = sum(
            outer * s.tile_k / vector * (_COPY_INSTRUCTIONS if vector * size >= LEAST_COPY_BYTES else _COMPUTED_INSTRUCTIONS)
            for outer, vector in brought
        )
        shifted = (s.warp_m if a_is_words else 0) + (s.warp_n if b_is_words else 0)
        steps = s.tile_k // (STEP_BYTES // size)
        shifts = steps * s.warps / s.slices_k * shifted / MMA_M * _SHIFTED_INSTRUCTIONS
        return cls(
            issue_cycles=(instructions / WARP_THREADS + shifts) / SCHEDULERS,
            alone_cycles=_COPY_CYCLES * sum(items(outer, s, vector) for outer, vector in brought),
            are_of_words=a_is_words or b_is_words,
        )


def emulated_ns(problem: MmaProduct, schedule: Schedule) -> float:
    """Return the estimated time in nanoseconds of one core: rendezvous, arithmetic, copies and epilogues add up."""
    s, shape = schedule, problem.shape
    blocks = grid(problem, s)[0] * shape.batch
    steps = s.tile_k // (STEP_BYTES // problem.element_bytes) // s.slices_k
    vectors = s.tile_k * (s.tile_m / s.vector_a + s.tile_n / s.vector_b)
    step = _WARP_STEP_NS + s.warp_m * s.warp_n * problem.terms * _SUM_STEP_NS
    tile = s.warps * steps * step + s.threads * _THREAD_TILE_NS + vectors * _VECTOR_NS
    block = s.threads * THREAD_START_NS + s.tile_m * s.tile_n / s.vector_c * _EPILOGUE_NS
    waves = ceil(blocks / 2) * 2  # two cores share the blocks
    return waves * (ceil(shape.k / s.tile_k) * tile + block)

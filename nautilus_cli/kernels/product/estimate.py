"""The estimated time of a product, on a GPU and on the emulator."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.kernels.estimates import CYCLES_PER_US, THREAD_START_NS, resident_blocks, work_cycles
from nautilus_cli.kernels.limits import LINE_BYTES, SCHEDULERS, WARP_THREADS
from nautilus_cli.kernels.product.problem import Product
from nautilus_cli.kernels.product.resources import registers, smem_bytes
from nautilus_cli.kernels.product.schedule import Schedule
from nautilus_cli.kernels.product.tiles import grid
from nautilus_cli.targets.base import Target

# Cost model of a GPU, in cycles of a multiprocessor: fitted to 400 schedules of 29 products and convolutions on an H200.
_START_CYCLES = 2200
_FINISH_CYCLES = 300
_READ_LATENCY = 400
_BARRIER_LATENCY = 120
_SHARED_LATENCY = 30
_STEP_LATENCY = 16
_L2_BYTES_PER_CYCLE = 22
_INSTRUCTIONS_PER_VECTOR = 6
_CYCLES_PER_LINE = 2.2
_CYCLES_PER_READ = 1.2
_OVERLAP = 0.5
_COPIED_OVERLAP = 0.05  # of copies, which go between multiply-adds
_INSTRUCTIONS_PER_COPY = 4
_INSTRUCTIONS_PER_CHECKED_COPY = 5  # of tiles that may run over the edge
_CYCLES_PER_COPY = 4  # of the memory pipe
_LINE_LANES = 8
_WEIGHTS_SHARE = 0.7  # of the lesser of what B takes from memory and all else: it did not hide with few rows, two blocks a multiprocessor
_PARTS = 1 << 10
"""Of a share, in which it is counted where sizes are open."""

# Cost model of the emulator, in nanoseconds of one core: fitted to products of 512³ on one CPU.
_THREAD_STEP_NS = 22
_VECTOR_NS = 1.5
_ELEMENT_NS = 0.25
_FLOPS_PER_NS = 110
_EPILOGUE_NS = 5.0


def gpu_us(problem: Product, schedule: Schedule, target: Target) -> float:
    """Return the estimated time in microseconds.

    A step of the main loop takes a block the greater of three: what its multiprocessor issues and moves, what L2 delivers, and the latency
    of one round trip. Blocks that share a multiprocessor share the first two. The elements of B come from memory, as weights do, while
    those of A lie in L2, where an earlier kernel has left them: a step's reads wait for memory first, which hides in part. The whole is at
    least the time to move all bytes once.
    """
    s = schedule
    is_whole = not (problem.m % s.tile_m or problem.n % s.tile_n or problem.k % s.tile_k)
    step_cycles, finish = _step_cycles(problem, s, is_whole=is_whole), _finish_cycles(problem, s)

    def round_cycles(together: int) -> float:
        return ceil(problem.k / s.tile_k) * step_cycles(together) + _READ_LATENCY + finish

    resident = _resident_blocks(problem, s, target)
    full, rest = divmod(grid(problem, s)[0] * problem.batch, target.multiprocessors * resident)
    cycles = full * round_cycles(resident)
    if rest:  # after a round, blocks go where several places become free at once
        cycles += round_cycles(resident if full else ceil(rest / target.multiprocessors))
    a_bytes = problem.batch * problem.m * problem.k * problem.a_bytes
    b_bytes = problem.batch * problem.n * problem.k * problem.b_bytes
    work, weights = cycles / CYCLES_PER_US, b_bytes / target.memory_bytes_per_us
    us = _START_CYCLES / CYCLES_PER_US + max(work, weights) + _WEIGHTS_SHARE * min(work, weights)
    return max(us, (a_bytes + b_bytes) / target.memory_bytes_per_us)


def open_ns(problem: Product, schedule: Schedule, target: Target) -> int:
    """Return `gpu_us` in nanoseconds, as an expression where sizes are open: of whole cycles, and all tiles are taken for whole ones."""
    s = schedule
    step_cycles = _step_cycles(problem, s, is_whole=True)
    resident = _resident_blocks(problem, s, target)
    blocks = grid(problem, s)[0] * problem.batch
    together = -(-blocks // target.multiprocessors)
    step = round(step_cycles(1))
    for number in range(2, resident + 1):
        more = round(step_cycles(number)) - round(step_cycles(number - 1))
        step += more * minimum(1, maximum(0, together - number + 1))
    rounds = -(-blocks // (target.multiprocessors * resident))
    finish = round(_READ_LATENCY + _finish_cycles(problem, s))
    work = rounds * (-(-problem.k // s.tile_k) * step + finish) * 1000 // CYCLES_PER_US
    bandwidth = round(target.memory_bytes_per_us)
    weights = problem.batch * problem.k * problem.n * problem.b_bytes * 1000 // bandwidth
    rows = problem.batch * problem.k * problem.m * problem.a_bytes * 1000 // bandwidth
    hidden = minimum(work, weights) * round(_WEIGHTS_SHARE * _PARTS) // _PARTS
    return maximum(_START_CYCLES * 1000 // CYCLES_PER_US + maximum(work, weights) + hidden, rows + weights)


def _resident_blocks(problem: Product, schedule: Schedule, target: Target) -> int:
    """Return how many blocks a multiprocessor holds."""
    s = schedule
    return resident_blocks(target, threads=s.threads, registers=registers(problem, s), smem_bytes=smem_bytes(problem, s), fewest=s.blocks)


def _step_cycles(problem: Product, schedule: Schedule, *, is_whole: bool) -> Callable[[int], float]:
    """Return what a step of the main loop takes some blocks that share a multiprocessor; copies are checked unless all tiles ARE whole."""
    s = schedule
    words = max(1, problem.sum_bytes // 4)
    warps = max(s.threads, WARP_THREADS) / WARP_THREADS
    steps_slice = s.tile_k // s.slices_k

    reads = ceil(s.thread_m / s.fragment) + ceil(s.thread_n / s.fragment)
    vectors = s.tile_k * (s.tile_m / s.vector_a + s.tile_n / s.vector_b)
    issue = warps * steps_slice * (s.thread_m * s.thread_n * words + reads + 1) / SCHEDULERS
    moved = warps * steps_slice * _wavefronts(s) * words * _CYCLES_PER_READ
    if s.stages > 2:
        copies = sum(s.tile_k * outer / (1 if last else 4) for outer, last in ((s.tile_m, problem.a_k_last), (s.tile_n, problem.b_k_last)))
        issue_loads = copies * (_INSTRUCTIONS_PER_COPY if is_whole else _INSTRUCTIONS_PER_CHECKED_COPY) / WARP_THREADS / SCHEDULERS
        moved += copies / WARP_THREADS * _CYCLES_PER_COPY
    else:
        issue_loads = vectors * _INSTRUCTIONS_PER_VECTOR / WARP_THREADS / SCHEDULERS
        moved += (
            s.tile_k * (s.tile_m + s.tile_n) * words / WARP_THREADS
            + _lines(s, s.tile_m, s.vector_a, problem.a_k_last, problem.a_bytes) * _CYCLES_PER_LINE
            + _lines(s, s.tile_n, s.vector_b, problem.b_k_last, problem.b_bytes) * _CYCLES_PER_LINE
        )
    issue_loads += work_cycles(s.tile_m * s.tile_k, problem.a_work)
    traffic = s.tile_k * (s.tile_m * problem.a_bytes + s.tile_n * problem.b_bytes) / _L2_BYTES_PER_CYCLE
    # Issue and memory pipe hide each other in part.
    overlap = _COPIED_OVERLAP if s.stages > 2 else _OVERLAP

    def busy(together: int) -> float:
        uneven = ceil(together * warps / SCHEDULERS) * SCHEDULERS / (together * warps)  # some schedulers have a warp more
        issued = (issue + issue_loads) * uneven
        return max(max(issued, moved) + overlap * min(issued, moved), traffic)

    # One block alone: the schedulers are uneven below four warps, and a thread waits for its own reads of shared memory.
    alone = max(issue * max(1.0, SCHEDULERS / warps), moved) + _STEP_LATENCY * steps_slice + _SHARED_LATENCY
    barriers = _BARRIER_LATENCY if s.stages >= 2 else 2 * _BARRIER_LATENCY + _SHARED_LATENCY
    latency = max(alone, _READ_LATENCY / max(1, s.stages - 1)) + issue_loads + barriers

    def together_cycles(together: int) -> float:
        return max(together * busy(together), latency)

    return together_cycles


def _finish_cycles(problem: Product, schedule: Schedule) -> float:
    """Return what a block takes for its results."""
    s, words = schedule, max(1, problem.sum_bytes // 4)
    finish = s.tile_m * s.tile_n / s.vector_c * 8 / WARP_THREADS / SCHEDULERS + _FINISH_CYCLES
    if s.slices_k > 1:
        finish += 2 * _BARRIER_LATENCY + s.slices_k * s.tile_m * s.tile_n * words * 2 / WARP_THREADS
    return finish


def _wavefronts(schedule: Schedule) -> float:
    """Return how many 128-byte accesses a warp's reads of one step of both tiles take: what differs between its lanes, in words."""
    s = schedule
    lanes_m = min(s.tile_m // s.thread_m, 4)
    lanes_n = min(s.tile_n // s.thread_n, WARP_THREADS // lanes_m)
    slices = min(s.slices_k, max(1, WARP_THREADS // (lanes_m * lanes_n)))
    return sum(
        max(ceil(own / s.fragment), slices * lanes * own / WARP_THREADS) for own, lanes in ((s.thread_m, lanes_m), (s.thread_n, lanes_n))
    )


def _lines(schedule: Schedule, outer: int, vector: int, is_k_last: bool, element_bytes: int) -> float:
    """Return how many cache lines the loads of one operand's tile touch, counted per warp."""
    requests = outer * schedule.tile_k / vector / WARP_THREADS
    run = min(schedule.tile_k // vector, _LINE_LANES) * vector if is_k_last else outer
    return requests * max(1.0, WARP_THREADS * vector * element_bytes / min(LINE_BYTES, run * element_bytes))


def emulated_ns(problem: Product, schedule: Schedule) -> float:
    """Return the estimated time in nanoseconds of one core: fiber switches, loads, arithmetic and epilogues add up."""
    s = schedule
    blocks = grid(problem, s)[0] * problem.batch
    vectors = s.tile_k * (s.tile_m / s.vector_a + s.tile_n / s.vector_b)
    elements = s.tile_k * (s.tile_m + s.tile_n)
    sums = min(8, max(1, s.thread_m) * max(1, s.thread_n // max(1, min(s.fragment, s.thread_n))))
    rate = _FLOPS_PER_NS * sums / 8 * min(1.0, min(s.fragment, s.thread_n) * problem.sum_bytes / 32) * 4 / problem.sum_bytes
    step = s.threads * _THREAD_STEP_NS + vectors * _VECTOR_NS + elements * _ELEMENT_NS + 2 * s.tile_m * s.tile_n * s.tile_k / rate
    block = s.threads * THREAD_START_NS + s.tile_m * s.tile_n / s.vector_c * _EPILOGUE_NS
    waves = ceil(blocks / 2) * 2  # two cores share the blocks
    return waves * (ceil(problem.k / s.tile_k) * step + block)

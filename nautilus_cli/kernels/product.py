"""The SIMT matrix product that gemm and conv share: schedule, legality, launch geometry and analytic ranking.

Its device side is `nautilus/kernels/product.cuh`. All numbers of a schedule but stages and blocks are powers of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import product as combinations
from math import ceil
from typing import Any

from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.estimates import CYCLES_PER_US, THREAD_START_NS, resident_blocks, work_cycles
from nautilus_cli.kernels.limits import (
    LINE_BYTES,
    MOST_BLOCKS_X,
    MOST_BLOCKS_Y,
    MOST_REGISTERS,
    MOST_THREADS,
    SCHEDULERS,
    TRANSACTION_BYTES,
    WARP_THREADS,
)
from nautilus_cli.kernels.powers import power_divisor, powers
from nautilus_cli.targets.base import Target

_CPU_REGISTER_BYTES = 32
_MOST_ITEMS = 64
_MOST_STAGES = 4

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
_TIGHT = 1.15
_LINE_LANES = 8

# Cost model of the emulator, in nanoseconds of one core: fitted to products of 512³ on one CPU.
_THREAD_STEP_NS = 22
_VECTOR_NS = 1.5
_ELEMENT_NS = 0.25
_FLOPS_PER_NS = 110
_EPILOGUE_NS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A batched product of an [m, k] and a [k, n] matrix, as the main loop sees it.

    Attributes:
        batch: number of products.
        m: rows of A and of the result.
        n: columns of B and of the result.
        k: length of the sums.
        a_k_last: whether vectors of A run along k, not m.
        b_k_last: whether vectors of B run along k, not n.
        a_run: elements along A's last coordinate that vectors must divide.
        b_run: the same of B.
        a_bytes: of a stored element of A.
        b_bytes: of a stored element of B.
        sum_bytes: of an accumulator.
        is_straight: whether both operands are only loaded, as the type of the sums, from places at fixed distances; only ranks schedules.
        a_work: what is computed of an element of A wherever it is loaded, in additions; only ranks schedules.
        is_paired: whether two neighbouring sums make one result, so that a thread needs both.
    """

    batch: int
    m: int
    n: int
    k: int
    a_k_last: bool
    b_k_last: bool
    a_run: int
    b_run: int
    a_bytes: int
    b_bytes: int
    sum_bytes: int
    is_straight: bool = False
    a_work: int = 0
    is_paired: bool = False


def product_of(problem: Any, *, is_straight: bool = False) -> Product:
    """Return a product of two matrices as the main loop sees it.

    Args:
        problem: that of a gemm family: its fields of these names, `a_storage`, `b_storage` and `accumulate`.
        is_straight: as `Product` has it.
    """
    return Product(
        batch=problem.batch,
        m=problem.m,
        n=problem.n,
        k=problem.k,
        a_k_last=problem.a_k_last,
        b_k_last=problem.b_k_last,
        a_run=problem.k if problem.a_k_last else problem.m,
        b_run=problem.k if problem.b_k_last else problem.n,
        a_bytes=problem.a_storage.bytes,
        b_bytes=problem.b_storage.bytes,
        sum_bytes=problem.accumulate.bytes,
        is_straight=is_straight,
        a_work=problem.a_work,
        is_paired=problem.is_paired,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How a product is cut into blocks and threads.

    Attributes:
        tile_m: rows of the result that a block computes.
        tile_n: columns of the result that a block computes.
        tile_k: steps of the sum that are in shared memory at once.
        thread_m: rows of a thread's register tile.
        thread_n: columns of a thread's register tile.
        slices_k: groups of threads that share out each tile's steps; their sums are added in order at the end.
        stages: tiles in shared memory: with 2, one fills while the other is read; with more, all but one are on their way, and operands
            that are only loaded are copied past registers.
        fragment: most neighbouring elements of a tile that a thread reads at once.
        vector_a: elements of A that a thread loads at once.
        vector_b: elements of B that a thread loads at once.
        vector_c: neighbouring results that the epilogue takes at once.
        group_m: tile rows that blocks run down before they move on along n.
        blocks: that a multiprocessor shall hold at once; the compiler keeps to the registers that leaves.
    """

    tile_m: int
    tile_n: int
    tile_k: int
    thread_m: int
    thread_n: int
    slices_k: int = 1
    stages: int = 2
    fragment: int = 4
    vector_a: int = 1
    vector_b: int = 1
    vector_c: int = 1
    group_m: int = 1
    blocks: int = 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return (self.tile_m // self.thread_m) * (self.tile_n // self.thread_n) * self.slices_k


def smem_bytes(problem: Product, schedule: Schedule) -> int:
    """Return the dynamic shared memory of a block: the tiles, or the slices' sums that take their place."""
    stage = schedule.tile_k * (schedule.tile_m + schedule.tile_n) * problem.sum_bytes
    if schedule.stages > 2:
        stage += schedule.tile_k * 2 * TRANSACTION_BYTES  # rows of copied tiles are padded
    sums = schedule.slices_k * schedule.tile_m * schedule.tile_n * problem.sum_bytes if schedule.slices_k > 1 else 0
    return max(schedule.stages * stage, sums)


def registers(problem: Product, schedule: Schedule, fragments: int = 2) -> int:
    """Return about how many registers a thread takes: sums, sets of fragments, vectors on their way, and addresses.

    Args:
        fragments: 2 where the compiler is free, 1 for the least that it needs.
    """
    words = max(1, problem.sum_bytes // 4)
    s = schedule
    on_the_way = _items(s.tile_m, s, s.vector_a) * s.vector_a + _items(s.tile_n, s, s.vector_b) * s.vector_b if s.stages <= 2 else 0
    return words * (s.thread_m * s.thread_n + fragments * (s.thread_m + s.thread_n) + on_the_way) + 32


def _items(outer: int, schedule: Schedule, vector: int) -> int:
    """Return how many vectors of an operand's tile a thread loads."""
    return max(1, outer * schedule.tile_k // vector // schedule.threads)


def grid(problem: Product, schedule: Schedule) -> tuple[int, int, int]:
    """Return the blocks along x (tiles), y and z (batches)."""
    tiles = -(-problem.m // schedule.tile_m) * -(-problem.n // schedule.tile_n)
    return tiles, minimum(problem.batch, MOST_BLOCKS_Y), -(-problem.batch // MOST_BLOCKS_Y)


def geometry(problem: Product, schedule: Schedule) -> Geometry:
    """Return grid, threads and shared memory. ResNet-50 took 652 µs with blocks that come early and 565 without (H200)."""
    return Geometry(grid=grid(problem, schedule), threads=schedule.threads, smem_bytes=smem_bytes(problem, schedule), starts_early=False)


def violations(problem: Product, schedule: Schedule, target: Target) -> tuple[str, ...]:
    """Return why this schedule cannot serve this problem on this target; empty where it can."""
    s = schedule
    for field in fields(s):
        value = getattr(s, field.name)
        if value < 1 or (value & (value - 1) and field.name not in ("stages", "blocks")):
            return (f"{field.name} is {value}; it must be a power of two",)
    if s.thread_m > s.tile_m or s.thread_n > s.tile_n:
        return (f"a thread's tile of {s.thread_m}×{s.thread_n} is larger than the block's of {s.tile_m}×{s.tile_n}",)
    reasons = []
    if s.stages > _MOST_STAGES:
        reasons.append(f"{s.stages} stages; at most {_MOST_STAGES} are written")
    if s.stages > 2 and not target.is_emulated and not target.has_async_copy:
        reasons.append(f"{s.stages} stages; {target.name} has no asynchronous copies")
    if s.slices_k > s.tile_k:
        reasons.append(f"{s.slices_k} slices of a tile of {s.tile_k} steps leave some without work")
    if s.threads > MOST_THREADS:
        reasons.append(f"{s.threads} threads a block; at most {MOST_THREADS} are possible")
    for name, outer, vector, k_last, run in (
        ("a", s.tile_m, s.vector_a, problem.a_k_last, problem.a_run),
        ("b", s.tile_n, s.vector_b, problem.b_k_last, problem.b_run),
    ):
        along = s.tile_k if k_last else outer
        if vector > along:
            reasons.append(f"vector_{name} of {vector} is longer than the tile, {along}")
        elif run % vector:
            reasons.append(f"vector_{name} of {vector} does not divide {run}, the extent that it runs along")
        elif _items(outer, s, vector) > _MOST_ITEMS:
            reasons.append(f"a thread loads {_items(outer, s, vector)} vectors of {name} a tile; at most {_MOST_ITEMS} are possible")
    if s.vector_c > min(s.fragment, s.thread_n):
        reasons.append(f"vector_c of {s.vector_c} is longer than a thread's {min(s.fragment, s.thread_n)} neighbours")
    elif problem.n % s.vector_c:
        reasons.append(f"vector_c of {s.vector_c} does not divide n = {problem.n}")
    elif problem.is_paired and s.vector_c < 2:
        reasons.append("the epilogue takes one sum at a time; two make a result")
    if s.tile_k * problem.sum_bytes < TRANSACTION_BYTES:
        reasons.append(f"tile_k of {s.tile_k} leaves the second operand's tile misaligned")
    if smem_bytes(problem, s) > target.smem_bytes_block:
        reasons.append(f"{smem_bytes(problem, s)} bytes of shared memory; a block of {target.name} has {target.smem_bytes_block}")
    available = min(MOST_REGISTERS, target.registers_multiprocessor // (max(s.threads, WARP_THREADS) * s.blocks))
    if not target.is_emulated and registers(problem, s, fragments=1) > available:
        reasons.append(f"at least {registers(problem, s, fragments=1)} registers a thread; {available} are available")
    if grid(problem, s)[0] > MOST_BLOCKS_X or grid(problem, s)[2] > MOST_BLOCKS_Y:
        reasons.append(f"a grid of {grid(problem, s)} blocks is larger than a launch can be")
    if maximum(problem.m, problem.n, problem.k) + max(s.tile_m, s.tile_n, s.tile_k) > 2**31:
        reasons.append("an extent is beyond 31 bits")
    return tuple(reasons)


def space(problem: Product) -> Mapping[str, tuple[int, ...]]:
    """Return the choices of each field; their product is the search space.

    Vectors are as long as the problem allows: a shorter one was never better.
    """
    return {
        "tile_m": tuple(t for t in (1, 2, 4, 8, 16, 32, 64, 128, 256) if t < 2 * max(1, problem.m)),
        "tile_n": (8, 16, 32, 64, 128, 256),
        "tile_k": (8, 16, 32, 64, 128, 256),
        "thread_m": (1, 2, 4, 8, 16),
        "thread_n": (1, 2, 4, 8, 16),
        "slices_k": (1, 2, 4, 8, 16),
        "stages": (1, 2, 3) if problem.is_straight else (1, 2),
        "group_m": (1, 8),
    }


def schedules(problem: Product, target: Target) -> Iterator[Schedule]:
    """Yield the whole search space, illegal points included."""
    choices = space(problem)
    for values in combinations(*choices.values()):
        yield with_vectors(problem, Schedule(**dict(zip(choices, values, strict=True)), fragment=_fragment(problem, target)))


def _fragment(problem: Product, target: Target) -> int:
    """Return the widest read of shared memory: a vector register of the CPU in emulation, else one transaction."""
    return (_CPU_REGISTER_BYTES if target.is_emulated else TRANSACTION_BYTES) // problem.sum_bytes


def with_vectors(problem: Product, schedule: Schedule) -> Schedule:
    """Return the schedule with the longest vectors that divide what they run along, shorter where threads would be idle."""
    s = schedule
    along_a = s.tile_k if problem.a_k_last else s.tile_m
    along_b = s.tile_k if problem.b_k_last else s.tile_n
    return replace(
        s,
        vector_a=_longest_vector(problem.a_run, along_a, s.tile_m * s.tile_k, s.threads, problem.a_bytes),
        vector_b=_longest_vector(problem.b_run, along_b, s.tile_n * s.tile_k, s.threads, problem.b_bytes),
        vector_c=power_divisor(problem.n, min(s.fragment, s.thread_n)),
    )


def _longest_vector(run: int, along: int, elements: int, threads: int, element_bytes: int) -> int:
    vector = power_divisor(run, min(TRANSACTION_BYTES // element_bytes, along))
    while vector > 4 and elements // vector < threads:
        vector //= 2
    return vector


@lru_cache(maxsize=4096)
def choose(problem: Product, target: Target) -> Schedule:
    """Return the legal schedule of least estimated time."""
    if target.is_emulated:
        ranked = sorted(_emulated_candidates(problem), key=lambda s: emulated_ns(problem, s))
    else:
        candidates = (*_gpu_candidates(problem), *_copying_candidates(problem))
        ranked = sorted(candidates, key=lambda s: gpu_us(problem, s, target) * _tightness(problem, s, target))
    fewest = 2 if problem.is_paired else 1
    small = Schedule(tile_m=1, tile_n=32, tile_k=8, thread_m=1, thread_n=fewest, stages=1)  # legal everywhere
    return next((s for s in ranked if not violations(problem, s, target)), with_vectors(problem, small))


def _tightness(problem: Product, schedule: Schedule, target: Target) -> float:
    """Return a factor of the time above 1 where the compiler has fewer registers than it would take, and may spill."""
    each = target.registers_multiprocessor // (max(schedule.threads, WARP_THREADS) * schedule.blocks)
    return _TIGHT if registers(problem, schedule) > min(MOST_REGISTERS, each) else 1.0


_LARGE_THREAD_TILES = ((8, 8), (8, 4), (4, 8), (4, 4), (2, 4))
_SMALL_THREAD_TILES = ((4, 4), (2, 4), (2, 8), (1, 8), (1, 4), (1, 2), (1, 1))
_EMULATED_THREAD_TILES = ((16, 16), (8, 16), (4, 16), (2, 32), (1, 64), (8, 8), (4, 8), (2, 8), (1, 8))
"""Register tiles that keep eight sums of a vector register each in flight, and smaller ones for narrow problems."""
_COPYING_THREAD_TILES = ((16, 8),)
_UNROLLED_SUMS = 1024
"""Multiply-adds of a thread that the device code unrolls."""
_MOST_CHECKED_COPIES = 16
"""Of a thread in a tile that may run over the edge: with more, what it knows of its rows does not fit its registers."""
_MOST_ASPECT = 8


def _gpu_candidates(problem: Product) -> Iterator[Schedule]:
    """Yield schedules that are worth an estimate: blocks of 64 to 512 threads, each of which loads 4 to 64 elements of a tile."""
    fragment = TRANSACTION_BYTES // problem.sum_bytes
    m_limit, n_limit, k_limit = 2 * max(1, problem.m), 2 * max(8, problem.n), 2 * max(8, problem.k)
    for thread_m, thread_n in _LARGE_THREAD_TILES if problem.m >= 16 else _SMALL_THREAD_TILES:
        for threads, slices_k in combinations((64, 128, 256, 512), (1, 2, 4, 8, 16)):
            group = threads // slices_k
            for threads_m in powers(1, group):
                tile_m, tile_n = thread_m * threads_m, thread_n * group // threads_m
                if tile_m >= m_limit or tile_n >= n_limit or tile_n < 8 or max(tile_m, tile_n) > 256:
                    continue
                if tile_m > _MOST_ASPECT * tile_n or (tile_n > _MOST_ASPECT * tile_m and 4 * tile_m < m_limit):
                    continue
                for tile_k in (8, 16, 32, 64, 128, 256):
                    elements = (tile_m + tile_n) * tile_k
                    if tile_k >= k_limit or tile_k < 4 * slices_k > 4 or not 4 * threads <= elements <= 64 * threads:
                        continue
                    yield _schedule(problem, tile_m, tile_n, tile_k, thread_m, thread_n, slices_k, fragment)


def _copying_candidates(problem: Product) -> Iterator[Schedule]:
    """Yield schedules that copy past registers, of tiles whose steps are all unrolled, so that copies go between them."""
    if not problem.is_straight:
        return
    for thread_m, thread_n in _COPYING_THREAD_TILES:
        for threads, slices_k in combinations((64, 128, 256), (1, 2, 4)):
            group = threads // slices_k
            for threads_m in powers(4, group // 4):
                tile_m, tile_n = thread_m * threads_m, thread_n * group // threads_m
                tile_k = _UNROLLED_SUMS // (thread_m * thread_n) * slices_k
                if (
                    tile_m >= 2 * problem.m
                    or tile_n >= 2 * problem.n
                    or tile_k >= 2 * problem.k
                    or max(tile_m, tile_n) > 2 * min(tile_m, tile_n)
                ):
                    continue
                is_whole = not (problem.m % tile_m or problem.n % tile_n or problem.k % tile_k)
                if not is_whole and (tile_m + tile_n) * tile_k > _MOST_CHECKED_COPIES * threads:
                    continue
                blocks = max(1, 256 // threads) if slices_k == 1 else 1
                found = _schedule(problem, tile_m, tile_n, tile_k, thread_m, thread_n, slices_k, TRANSACTION_BYTES // problem.sum_bytes)
                yield replace(found, stages=3, blocks=blocks)


def _emulated_candidates(problem: Product) -> Iterator[Schedule]:
    """Yield schedules of at most 128 threads, each of which is a fiber."""
    fragment = _CPU_REGISTER_BYTES // problem.sum_bytes
    tiles_m = powers(1, min(256, 2 * problem.m - 1))
    tiles_n = powers(8, max(8, min(256, 2 * problem.n - 1)))
    for thread_m, thread_n in _EMULATED_THREAD_TILES:
        for tile_m, tile_n in combinations(tiles_m, tiles_n):
            if 1 <= (tile_m // thread_m) * (tile_n // thread_n) <= 128:
                for tile_k in (16, 32, 64):
                    yield _schedule(problem, tile_m, tile_n, tile_k, thread_m, thread_n, 1, fragment)


def _schedule(
    problem: Product, tile_m: int, tile_n: int, tile_k: int, thread_m: int, thread_n: int, slices_k: int, fragment: int
) -> Schedule:
    """Return a double-buffered schedule with the longest vectors."""
    threads = (tile_m // thread_m) * (tile_n // thread_n) * slices_k
    along_a = tile_k if problem.a_k_last else tile_m
    along_b = tile_k if problem.b_k_last else tile_n
    return Schedule(
        tile_m=tile_m,
        tile_n=tile_n,
        tile_k=tile_k,
        thread_m=thread_m,
        thread_n=thread_n,
        slices_k=slices_k,
        fragment=fragment,
        vector_a=_longest_vector(problem.a_run, along_a, tile_m * tile_k, threads, problem.a_bytes),
        vector_b=_longest_vector(problem.b_run, along_b, tile_n * tile_k, threads, problem.b_bytes),
        vector_c=power_divisor(problem.n, min(fragment, thread_n)),
        group_m=8 if problem.m >= 16 * tile_m and problem.n >= 2 * tile_n else 1,
    )


def gpu_us(problem: Product, schedule: Schedule, target: Target) -> float:
    """Return the estimated time in microseconds.

    A step of the main loop takes a block the greater of three: what its multiprocessor issues and moves, what L2 delivers, and the latency
    of one round trip. Blocks that share a multiprocessor share the first two. The whole is at least the time to move all bytes once.
    """
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
        is_whole = not (problem.m % s.tile_m or problem.n % s.tile_n or problem.k % s.tile_k)
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
    finish = s.tile_m * s.tile_n / s.vector_c * 8 / WARP_THREADS / SCHEDULERS + _FINISH_CYCLES
    if s.slices_k > 1:
        finish += 2 * _BARRIER_LATENCY + s.slices_k * s.tile_m * s.tile_n * words * 2 / WARP_THREADS

    def round_cycles(together: int) -> float:
        return ceil(problem.k / s.tile_k) * max(together * busy(together), latency) + _READ_LATENCY + finish

    resident = resident_blocks(
        target, threads=s.threads, registers=registers(problem, s), smem_bytes=smem_bytes(problem, s), fewest=s.blocks
    )
    full, rest = divmod(grid(problem, s)[0] * problem.batch, target.multiprocessors * resident)
    cycles = _START_CYCLES + full * round_cycles(resident)
    if rest:  # after a round, blocks go where several places become free at once
        cycles += round_cycles(resident if full else ceil(rest / target.multiprocessors))
    a_bytes = problem.batch * problem.m * problem.k * problem.a_bytes
    b_bytes = problem.batch * problem.n * problem.k * problem.b_bytes
    return max(cycles / CYCLES_PER_US, (a_bytes + b_bytes) / target.memory_bytes_per_us)


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

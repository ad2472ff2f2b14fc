"""The matrix product on tensor cores by mma.sync: schedule, legality, launch geometry and analytic ranking.

Its device side is `nautilus/kernels/mma_product.cuh`. All numbers of a schedule but the stages are powers of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import product as combinations
from math import ceil, prod

from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.estimates import CYCLES_PER_US, THREAD_START_NS, resident_blocks, soft_max, work_cycles
from nautilus_cli.kernels.limits import (
    LINE_BYTES,
    MOST_BLOCKS_X,
    MOST_BLOCKS_Y,
    MOST_CLUSTER,
    MOST_REGISTERS,
    MOST_THREADS,
    SCHEDULERS,
    TRANSACTION_BYTES,
    WARP_THREADS,
)
from nautilus_cli.kernels.powers import power_divisor
from nautilus_cli.kernels.product import Product
from nautilus_cli.targets.base import Target

MMA_M = 16
"""Rows of a step of mma. Its columns go in pairs of steps, which are as many."""
STEP_BYTES = 32
"""Depth of a step of mma in bytes of either operand."""

_LEAST_COPY_BYTES = 4
_MOST_ITEMS = 64
_SUM_BYTES = 4

_MOST_ALONE = 1024
"""Results of a block of one warp. With 64×64, scores of 8×12 heads of 128 tokens took 17 µs where two warps took 7.5 (H200)."""

# Cost model of a GPU, in cycles of a multiprocessor: fitted to 220 schedules of 16-bit products on an H200, to 17 % (rms).
_START_CYCLES = 2380
_FINISH_CYCLES = 11
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How a product is cut into blocks and warps.

    Attributes:
        tile_m: rows of the result that a block computes.
        tile_n: columns of the result that a block computes.
        tile_k: steps of the sum in one stage of shared memory.
        warp_m: rows of a warp's register tile.
        warp_n: columns of a warp's register tile.
        slices_k: warps that share out each tile's depth; their sums are added in order at the end.
        stages: tiles in shared memory; all but one are on their way.
        vector_a: elements of A that a thread brings at once.
        vector_b: elements of B that a thread brings at once.
        vector_c: neighbouring results that the epilogue takes at once.
        group_m: tile rows that blocks run down before they move on along n.
        blocks: that a multiprocessor shall hold at once; the compiler keeps to the registers that leaves.
        cluster_k: blocks of a cluster that share out the depth; their sums are added in order at the end. From sm_90 on.
    """

    tile_m: int
    tile_n: int
    tile_k: int
    warp_m: int
    warp_n: int
    slices_k: int = 1
    stages: int = 3
    vector_a: int = 1
    vector_b: int = 1
    vector_c: int = 1
    group_m: int = 1
    blocks: int = 1
    cluster_k: int = 1

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return (self.tile_m // self.warp_m) * (self.tile_n // self.warp_n) * self.slices_k

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warps * WARP_THREADS


@dataclass(frozen=True, slots=True, kw_only=True)
class MmaProduct:
    """A product and what tensor cores are to do with it.

    Attributes:
        shape: extents and orientations; its `sum_bytes` are those of float.
        element_bytes: of an element that is multiplied: 2, or 4 for tf32.
        terms: products of tensor cores for each product of two elements.
        part_columns: neighbouring results of a row whose statistics are wanted, which the lanes of one warp have; 0 for none.
        moment_parts: parts of a row of A whose statistics are joined for the epilogue; 0 for none.
    """

    shape: Product
    element_bytes: int
    terms: int = 1
    part_columns: int = 0
    moment_parts: int = 0


def smem_bytes(problem: MmaProduct, schedule: Schedule) -> int:
    """Return the dynamic shared memory of a block: the stages, or the slices' sums that take their place."""
    s = schedule
    stages = s.stages * (s.tile_m + s.tile_n) * s.tile_k * problem.element_bytes
    sums = s.slices_k * s.tile_m * s.tile_n * _SUM_BYTES if s.slices_k * s.cluster_k > 1 else 0
    return max(stages, sums)


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
        _items(outer, s, vector) * vector
        for outer, vector, is_computed in operands
        if is_computed or vector * problem.element_bytes < _LEAST_COPY_BYTES
    )
    sums = s.warp_m * s.warp_n // WARP_THREADS * (2 if problem.terms > 1 else 1)  # those of a tile apart
    return sums + words + on_the_way + 40


def grid(problem: MmaProduct, schedule: Schedule) -> tuple[int, int, int]:
    """Return the blocks along x (tiles, times those that share one), y and z (batches)."""
    shape = problem.shape
    tiles = -(-shape.m // schedule.tile_m) * -(-shape.n // schedule.tile_n)
    return tiles * schedule.cluster_k, minimum(shape.batch, MOST_BLOCKS_Y), -(-shape.batch // MOST_BLOCKS_Y)


def geometry(problem: MmaProduct, schedule: Schedule) -> Geometry:
    """Return grid, threads and shared memory."""
    return Geometry(grid=grid(problem, schedule), threads=schedule.threads, smem_bytes=smem_bytes(problem, schedule))


def violations(problem: MmaProduct, schedule: Schedule, target: Target) -> tuple[str, ...]:
    """Return why this schedule cannot serve this problem on this target; empty where it can."""
    s, shape = schedule, problem.shape
    for field in fields(s):
        value = getattr(s, field.name)
        if value < 1 or (value & (value - 1) and field.name != "stages"):
            return (f"{field.name} is {value}; it must be a power of two",)
    if s.warp_m > s.tile_m or s.warp_n > s.tile_n:
        return (f"a warp's tile of {s.warp_m}×{s.warp_n} is larger than the block's of {s.tile_m}×{s.tile_n}",)
    reasons = []
    if s.warp_m < MMA_M or s.warp_n < MMA_M:
        reasons.append(f"a warp's tile of {s.warp_m}×{s.warp_n}; {MMA_M}×{MMA_M} is the least")
    if s.warp_n > 128:
        reasons.append(f"warp_n of {s.warp_n}; at most 128 columns are written")
    step = STEP_BYTES // problem.element_bytes
    if s.tile_k < step * s.slices_k:
        reasons.append(f"a tile of {s.tile_k} steps has no step of {step} for each of {s.slices_k} slices")
    if s.cluster_k > MOST_CLUSTER or (s.cluster_k > 1 and not target.has_clusters):
        reasons.append(f"{s.cluster_k} blocks in a cluster; at most {MOST_CLUSTER if target.has_clusters else 1} are possible")
    if not 2 <= s.stages <= 8:
        reasons.append(f"{s.stages} stages; 2 to 8 are written")
    if s.threads > MOST_THREADS:
        reasons.append(f"{s.threads} threads a block; at most {MOST_THREADS} are possible")
    for name, outer, vector, k_last, run in (
        ("a", s.tile_m, s.vector_a, shape.a_k_last, shape.a_run),
        ("b", s.tile_n, s.vector_b, shape.b_k_last, shape.b_run),
    ):
        along = s.tile_k if k_last else outer
        if vector > along:
            reasons.append(f"vector_{name} of {vector} is longer than the tile, {along}")
        elif run % vector:
            reasons.append(f"vector_{name} of {vector} does not divide {run}, the extent that it runs along")
        elif vector * problem.element_bytes > TRANSACTION_BYTES:
            reasons.append(f"vector_{name} of {vector} is more than a transaction of {TRANSACTION_BYTES} bytes")
        elif _items(outer, s, vector) > _MOST_ITEMS:
            reasons.append(f"a thread brings {_items(outer, s, vector)} vectors of {name} a tile; at most {_MOST_ITEMS} are possible")
    if 8 * max(1, s.vector_c // 2) > s.warp_n or s.vector_c > 8:
        reasons.append(f"vector_c of {s.vector_c}; at most {min(8, s.warp_n // 4)} neighbours meet in a lane")
    elif shape.n % s.vector_c:
        reasons.append(f"vector_c of {s.vector_c} does not divide n = {shape.n}")
    elif shape.is_paired and s.vector_c < 2:
        reasons.append("the epilogue takes one sum at a time; two make a result")
    if problem.part_columns and (shape.n % problem.part_columns or _finished_columns(s) % problem.part_columns):
        reasons.append(f"{_finished_columns(s)} columns of a warp, and n = {shape.n}, are no whole parts of {problem.part_columns}")
    if smem_bytes(problem, s) > target.smem_bytes_block:
        reasons.append(f"{smem_bytes(problem, s)} bytes of shared memory; a block of {target.name} has {target.smem_bytes_block}")
    available = min(MOST_REGISTERS, target.registers_multiprocessor // (s.threads * s.blocks))
    if not target.is_emulated and registers(problem, s, fragments=1) > available:
        reasons.append(f"at least {registers(problem, s, fragments=1)} registers a thread; {available} are available")
    if grid(problem, s)[0] > MOST_BLOCKS_X or grid(problem, s)[2] > MOST_BLOCKS_Y:
        reasons.append(f"a grid of {grid(problem, s)} blocks is larger than a launch can be")
    if maximum(shape.m, shape.n, shape.k) + max(s.tile_m, s.tile_n, s.tile_k) > 2**31:
        reasons.append("an extent is beyond 31 bits")
    if not target.is_emulated and not target.has_async_copy:
        reasons.append(f"{target.name} has no asynchronous copies")
    return tuple(reasons)


def _finished_columns(schedule: Schedule) -> int:
    """Return how many neighbouring columns a warp finishes, as FinishShares of kernels/mma_product.cuh has it."""
    s = schedule
    rows, pairs = s.warp_m // MMA_M, s.warp_n // MMA_M
    shares = max(1, min(s.slices_k * s.cluster_k, rows * (pairs // max(1, s.vector_c // 4))))
    return max(1, pairs // (shares // min(rows, shares))) * MMA_M


def _items(outer: int, schedule: Schedule, vector: int) -> int:
    """Return how many vectors of an operand's tile a thread brings."""
    return max(1, outer * schedule.tile_k // vector // schedule.threads)


def space(problem: MmaProduct) -> Mapping[str, tuple[int, ...]]:
    """Return the choices of each field; their product is the search space.

    Vectors are as long as the problem allows: a shorter one was never better.
    """
    shape, step = problem.shape, STEP_BYTES // problem.element_bytes
    return {
        "tile_m": tuple(t for t in (16, 32, 64, 128, 256) if t < 2 * max(16, shape.m)),
        "tile_n": tuple(t for t in (16, 32, 64, 128, 256) if t < 2 * max(16, shape.n)),
        "tile_k": tuple(step * n for n in (1, 2, 4, 8)),
        "warp_m": (16, 32, 64),
        "warp_n": (16, 32, 64),
        "slices_k": (1, 2, 4),
        "cluster_k": (1, 2, 4, 8),
        "stages": (2, 3, 4, 5, 6),
        "group_m": (1, 8),
    }


def schedules(problem: MmaProduct, target: Target) -> Iterator[Schedule]:  # noqa: ARG001 - as all rules have it
    """Yield the whole search space, illegal points included."""
    choices = space(problem)
    for values in combinations(*choices.values()):
        yield with_vectors(problem, Schedule(**dict(zip(choices, values, strict=True))))


def with_vectors(problem: MmaProduct, schedule: Schedule) -> Schedule:
    """Return the schedule with the longest vectors that divide what they run along."""
    s, shape = schedule, problem.shape
    most = TRANSACTION_BYTES // problem.element_bytes

    def longest(run: int, along: int, storage_bytes: int) -> int:
        return power_divisor(run, min(most, along, max(1, TRANSACTION_BYTES // storage_bytes)))

    return replace(
        s,
        vector_a=longest(shape.a_run, s.tile_k if shape.a_k_last else s.tile_m, shape.a_bytes),
        vector_b=longest(shape.b_run, s.tile_k if shape.b_k_last else s.tile_n, shape.b_bytes),
        vector_c=power_divisor(shape.n, min(8, s.warp_n // 4)),
    )


@lru_cache(maxsize=4096)
def choose(problem: MmaProduct, target: Target) -> Schedule:
    """Return the legal schedule of least estimated time."""
    found = list(candidates(problem, target))
    if target.is_emulated:
        ranked = sorted(found, key=lambda s: emulated_ns(problem, s))
    else:
        ranked = sorted(found, key=lambda s: gpu_us(problem, s, target))
    step = STEP_BYTES // problem.element_bytes
    columns = max(MMA_M, problem.part_columns)
    small = Schedule(tile_m=16, tile_n=columns, tile_k=step, warp_m=16, warp_n=columns, stages=2)  # legal everywhere
    return next(s for s in (*ranked, with_vectors(problem, small)) if not violations(problem, s, target))


def candidates(problem: MmaProduct, target: Target) -> Iterator[Schedule]:
    """Yield schedules that are worth an estimate: up to eight warps, of which none is alone in a large block."""
    shape, step = problem.shape, STEP_BYTES // problem.element_bytes
    m_limit, n_limit = 2 * max(MMA_M, shape.m), 2 * max(MMA_M, shape.n)
    for warp_m, warp_n in ((64, 64), (64, 32), (32, 64), (32, 32), (16, 64), (64, 16), (16, 32), (32, 16), (16, 16)):
        for warps_m, warps_n, slices_k in combinations((1, 2, 4), (1, 2, 4), (1, 2, 4)):
            tile_m, tile_n = warp_m * warps_m, warp_n * warps_n
            warps = warps_m * warps_n * slices_k
            if tile_m >= m_limit or tile_n >= n_limit or warps > 8 or (target.is_emulated and warps > 4):
                continue
            if warps == 1 and tile_m * tile_n > _MOST_ALONE and not target.is_emulated:
                continue
            for tile_k, stages in combinations((2 * step, 4 * step, 8 * step), (2,) if target.is_emulated else (3, 4, 6)):
                if tile_k < slices_k * step or tile_k > max(2 * shape.k, 2 * step):
                    continue
                group_m = 8 if shape.m >= 16 * tile_m and shape.n >= 2 * tile_n else 1
                schedule = Schedule(
                    tile_m=tile_m,
                    tile_n=tile_n,
                    tile_k=tile_k,
                    warp_m=warp_m,
                    warp_n=warp_n,
                    slices_k=slices_k,
                    stages=stages,
                    group_m=group_m,
                )
                schedule = with_vectors(problem, schedule)
                for cluster_k in _clusters(problem, schedule, target):
                    yield schedule if cluster_k == 1 else replace(schedule, cluster_k=cluster_k)


def _clusters(problem: MmaProduct, schedule: Schedule, target: Target) -> tuple[int, ...]:
    """Return how many blocks may share out the depth: several where the tiles leave multiprocessors idle."""
    blocks = prod(grid(problem, schedule))
    tiles = -(-problem.shape.k // schedule.tile_k)
    return tuple(c for c in (1, 2, 4, 8) if c == 1 or (target.has_clusters and 2 * c <= tiles and blocks * c < 3 * target.multiprocessors))


def gpu_us(problem: MmaProduct, schedule: Schedule, target: Target) -> float:
    """Return the estimated time in microseconds.

    A tile of the main loop takes a block the greatest of four, what tensor cores multiply, what warps read of shared memory and what L2
    delivers, and what its copies issue; and at least the latency of memory shared out over the stages on their way. Blocks that share a
    multiprocessor share all but the latency.
    """
    s, shape = schedule, problem.shape
    step = STEP_BYTES // problem.element_bytes
    steps = s.tile_k // step // s.slices_k
    products = s.tile_m * s.tile_n * s.tile_k * problem.terms
    tensor = products * problem.element_bytes / _BYTE_STEPS_PER_CYCLE
    reads = s.warps * steps * (s.warp_m + s.warp_n) * STEP_BYTES / _SHARED_BYTES_PER_CYCLE
    writes = (s.tile_m + s.tile_n) * s.tile_k * problem.element_bytes / _SHARED_BYTES_PER_CYCLE
    traffic = s.tile_k * (s.tile_m * shape.a_bytes + s.tile_n * shape.b_bytes) / _L2_BYTES_PER_CYCLE
    copies = sum(
        outer * s.tile_k / vector * (_COPY_INSTRUCTIONS if vector * problem.element_bytes >= _LEAST_COPY_BYTES else _COMPUTED_INSTRUCTIONS)
        for outer, vector in ((s.tile_m, s.vector_a), (s.tile_n, s.vector_b))
    )
    issue = copies / WARP_THREADS / SCHEDULERS + work_cycles(s.tile_m * s.tile_k, shape.a_work)
    tiles_m, tiles_n = ceil(shape.m / s.tile_m), ceil(shape.n / s.tile_n)
    own = s.tile_k * (s.tile_m * shape.a_bytes / tiles_n + s.tile_n * shape.b_bytes / tiles_m)  # what comes from memory once
    share = _MEMORY_SHARE * target.memory_bytes_per_us / CYCLES_PER_US / target.multiprocessors
    if s.tile_k * problem.element_bytes < LINE_BYTES and shape.b_k_last:
        share *= _SHORT_RUN_SHARE
    busy = max(tensor, reads + writes, traffic, own / share) + issue
    alone = steps * s.warp_m * s.warp_n / (MMA_M * 8) * _WARP_STEP_CYCLES / 2 * problem.terms + _BARRIER_LATENCY
    alone += _COPY_CYCLES * sum(_items(outer, s, vector) for outer, vector in ((s.tile_m, s.vector_a), (s.tile_n, s.vector_b)))
    latency = max(alone, _MEMORY_LATENCY / (s.stages - 1))
    finish = s.tile_m * s.tile_n / s.vector_c * 8 / WARP_THREADS / SCHEDULERS + _FINISH_CYCLES
    finish += (_LEAVING_CYCLES if problem.part_columns else 0) + (_TAKING_CYCLES if problem.moment_parts else 0)
    if s.slices_k > 1:
        finish += 2 * _BARRIER_LATENCY + 2 * s.slices_k * s.tile_m * s.tile_n * _SUM_BYTES / _SHARED_BYTES_PER_CYCLE

    if s.cluster_k > 1:
        moved = 2 * s.slices_k * s.tile_m * s.tile_n * _SUM_BYTES
        finish += _CLUSTER_CYCLES + moved / _SHARED_BYTES_PER_CYCLE + moved / _REMOTE_BYTES_PER_CYCLE

    computing = _COMPUTED_LATENCY if shape.a_work else 0  # what is read comes after the products that it could hide behind

    def round_cycles(together: int) -> float:
        tiles = ceil(ceil(shape.k / s.tile_k) / s.cluster_k)
        return tiles * max(together * busy, latency) + (tiles - 1) * computing + _MEMORY_LATENCY + finish

    resident = resident_blocks(
        target, threads=s.threads, registers=registers(problem, s), smem_bytes=smem_bytes(problem, s), fewest=s.blocks
    )
    full, rest = divmod(grid(problem, s)[0] * shape.batch, target.multiprocessors * resident)
    cycles = full * round_cycles(resident)
    if rest:
        cycles += round_cycles(ceil(rest / target.multiprocessors))
    needed = shape.batch * shape.k * (shape.m * shape.a_bytes + shape.n * shape.b_bytes)
    return _START_CYCLES / CYCLES_PER_US + soft_max(cycles / CYCLES_PER_US, needed / (_MEMORY_SHARE * target.memory_bytes_per_us), _HIDING)


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

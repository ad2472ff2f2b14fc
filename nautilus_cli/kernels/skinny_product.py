"""The product with few rows: schedule, legality, launch geometry and analytic ranking.

Its device side is `nautilus/kernels/skinny_product.cuh`. Most numbers of a schedule are powers of two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import product as combinations
from math import ceil, prod

from nautilus_cli.ir.dims import is_symbolic, upper
from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.estimates import CYCLES_PER_US, THREAD_START_NS, resident_blocks, work_cycles
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
from nautilus_cli.kernels.powers import power_at_most, power_divisor
from nautilus_cli.kernels.product import Product
from nautilus_cli.targets.base import Target

MMA_ROWS = 16
"""Rows of A that tensor cores multiply at once: two steps of eight."""
MMA_LANES = 4
"""Lanes of a warp that lie along the depth where tensor cores multiply."""
MMA_VECTOR = 8
"""Elements of a lane's load there: two steps of mma."""

_SUM_BYTES = 4
_MOST_SUMS = 64
"""Of a thread without tensor cores; more would not fit beside the weights on their way."""
_MOST_ROWS_BYTES = 48 * 1024
"""Of shared memory for A's rows where they are all there at once."""
_MOST_RING_BYTES = 96 * 1024
_STAGES = 3

# Cost model of a GPU, in cycles of a multiprocessor: fitted to 174 schedules of 19 products on an H200, to 13 % (rms).
_START_CYCLES = 900
_BLOCK_CYCLES = 2180
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How a product is cut into blocks, warps and loads.

    Attributes:
        tile_m: rows of A that a block multiplies, all by every warp.
        tile_n: columns of the result that a block computes.
        tile_k: depth of A's rows in one stage of shared memory; a multiple of what all slices have on their way.
        thread_n: columns of which a thread loads weights: of as many loads where k is last, else of one load.
        lanes_k: lanes of a warp side by side along the depth; the others have other columns.
        loads: of each column that a thread has on their way.
        slices_k: warps that share out the depth of their columns; their sums are added in order at the end.
        stages: tiles of A's rows in shared memory; 1 where one tile is all.
        vector_a: elements of A that a thread brings at once.
        vector_b: weights that a thread loads at once.
        vector_c: neighbouring results that the epilogue takes at once.
        cluster_k: blocks of a cluster that share out the depth; their sums are added in order at the end. From sm_90 on.
        tensor_cores: whether mma multiplies.
        early_trigger: whether the next kernel's blocks may come as soon as all of this one's run, and read their weights beside them.
        blocks: that a multiprocessor shall hold at once; the compiler keeps to the registers that leaves.
    """

    tile_m: int
    tile_n: int
    tile_k: int
    thread_n: int
    lanes_k: int
    loads: int
    slices_k: int = 1
    stages: int = 1
    vector_a: int = 1
    vector_b: int = 1
    vector_c: int = 1
    cluster_k: int = 1
    tensor_cores: bool = False
    early_trigger: bool = True
    blocks: int = 1

    @property
    def warp_n(self) -> int:
        """Columns of a warp."""
        return self.thread_n * (WARP_THREADS // self.lanes_k)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.tile_n // self.warp_n * self.slices_k * WARP_THREADS


_ANY_NUMBER = ("tile_k", "stages", "blocks")
"""Fields that need not be powers of two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkinnyProduct:
    """A product and whether tensor cores may multiply.

    Attributes:
        shape: extents and orientations; its `sum_bytes` are those of float.
        may_use_tensor_cores: whether operands are multiplied as 16-bit floats.
    """

    shape: Product
    may_use_tensor_cores: bool


def step_depth(problem: SkinnyProduct, schedule: Schedule) -> int:
    """Return the depth that all slices of a block have on its way."""
    s = schedule
    return s.slices_k * s.loads * s.lanes_k * (s.vector_b if problem.shape.b_k_last else 1)


def smem_bytes(schedule: Schedule) -> int:
    """Return the dynamic shared memory of a block: A's rows, or the slices' sums that take their place."""
    s = schedule
    rows = s.stages * s.tile_m * s.tile_k * _row_bytes(s)
    pitch = s.tile_n if s.tile_n < 4 else s.tile_n + 4
    return max(rows, s.slices_k * s.tile_m * pitch * _SUM_BYTES)


def _row_bytes(schedule: Schedule) -> int:
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


def grid(problem: SkinnyProduct, schedule: Schedule) -> tuple[int, int, int]:
    """Return the blocks along x (tiles, times those that share one), y and z (batches)."""
    tiles = -(-problem.shape.m // schedule.tile_m) * -(-problem.shape.n // schedule.tile_n)
    return tiles * schedule.cluster_k, minimum(problem.shape.batch, MOST_BLOCKS_Y), -(-problem.shape.batch // MOST_BLOCKS_Y)


def geometry(problem: SkinnyProduct, schedule: Schedule) -> Geometry:
    """Return grid, threads and shared memory."""
    return Geometry(grid=grid(problem, schedule), threads=schedule.threads, smem_bytes=smem_bytes(schedule))


def violations(problem: SkinnyProduct, schedule: Schedule, target: Target) -> tuple[str, ...]:
    """Return why this schedule cannot serve this problem on this target; empty where it can."""
    s = schedule
    for field in fields(s):
        value = getattr(s, field.name)
        if not isinstance(value, bool) and (value < 1 or (value & (value - 1) and field.name not in _ANY_NUMBER)):
            return (f"{field.name} is {value}; it must be a power of two",)
    if s.lanes_k > WARP_THREADS or s.warp_n > s.tile_n:
        return (f"a warp's {s.warp_n} columns with {s.lanes_k} lanes along k; a block has {s.tile_n}",)
    reasons = []
    if s.tensor_cores and not problem.may_use_tensor_cores:
        reasons.append("tensor cores would round operands of f32")
    if s.tensor_cores:
        if s.tile_m < MMA_ROWS or s.thread_n < 2 or s.lanes_k != MMA_LANES or s.vector_b != MMA_VECTOR or not problem.shape.b_k_last:
            reasons.append(f"tensor cores take {MMA_ROWS} rows, 2 columns a thread and {MMA_LANES} lanes of {MMA_VECTOR} weights along k")
    elif s.thread_n * s.tile_m > _MOST_SUMS:
        reasons.append(f"{s.thread_n * s.tile_m} sums a thread; at most {_MOST_SUMS} are written")
    if not problem.shape.b_k_last and s.thread_n != s.vector_b:
        reasons.append(f"thread_n of {s.thread_n}; the columns of one load are {s.vector_b}")
    step = step_depth(problem, s)
    if s.tile_k % step:
        reasons.append(f"a tile of {s.tile_k} steps is no multiple of the {step} that a block has on their way")
    if s.tile_k % s.vector_a:
        reasons.append(f"vector_a of {s.vector_a} does not divide a tile of {s.tile_k} steps")
    if s.cluster_k > MOST_CLUSTER or (s.cluster_k > 1 and not target.has_clusters):
        reasons.append(f"{s.cluster_k} blocks in a cluster; at most {MOST_CLUSTER if target.has_clusters else 1} are possible")
    if s.stages > 8:
        reasons.append(f"{s.stages} stages; at most 8 are written")
    if s.stages == 1 and _tiles(problem, s) > 1:
        reasons.append(f"one stage for {_tiles(problem, s)} tiles; one has to be all")
    if s.threads > MOST_THREADS:
        reasons.append(f"{s.threads} threads a block; at most {MOST_THREADS} are possible")
    for name, vector, run, storage in (
        ("a", s.vector_a, problem.shape.a_run, problem.shape.a_bytes),
        ("b", s.vector_b, problem.shape.b_run, problem.shape.b_bytes),
    ):
        if run % vector:
            reasons.append(f"vector_{name} of {vector} does not divide {run}, the extent that it runs along")
        elif vector * storage > TRANSACTION_BYTES:
            reasons.append(f"vector_{name} of {vector} is more than a transaction of {TRANSACTION_BYTES} bytes")
    if s.vector_c > min(s.tile_n, 8):
        reasons.append(f"vector_c of {s.vector_c}; at most {min(s.tile_n, 8)} are possible")
    elif problem.shape.n % s.vector_c:
        reasons.append(f"vector_c of {s.vector_c} does not divide n = {problem.shape.n}")
    elif problem.shape.is_paired and s.vector_c < 2:
        reasons.append("the epilogue takes one sum at a time; two make a result")
    if smem_bytes(s) > target.smem_bytes_block:
        reasons.append(f"{smem_bytes(s)} bytes of shared memory; a block of {target.name} has {target.smem_bytes_block}")
    available = _available_registers(s, target)
    if not target.is_emulated and registers(problem, s, fewest=True) > available:
        reasons.append(f"at least {registers(problem, s, fewest=True)} registers a thread; {available} are available")
    if grid(problem, s)[0] > MOST_BLOCKS_X or grid(problem, s)[2] > MOST_BLOCKS_Y:
        reasons.append(f"a grid of {grid(problem, s)} blocks is larger than a launch can be")
    if maximum(problem.shape.m + s.tile_m, problem.shape.n + s.tile_n, problem.shape.k + s.cluster_k * s.tile_k) > 2**31:
        reasons.append("an extent is beyond 31 bits")
    if not target.is_emulated and not target.has_async_copy:
        reasons.append(f"{target.name} has no asynchronous copies")
    return tuple(reasons)


def _tiles(problem: SkinnyProduct, schedule: Schedule) -> int:
    """Return the tiles of depth of a block."""
    return -(-problem.shape.k // (schedule.tile_k * schedule.cluster_k))


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
        s = replace(s, thread_n=vector_b, tile_n=tile_n, tile_m=min(s.tile_m, _MOST_SUMS // vector_b))
    s = replace(s, vector_b=vector_b, vector_c=power_divisor(problem.shape.n, min(s.tile_n, 4)))
    s = _with_rows(problem, s, problem.shape.k, tile_k)
    along = s.tile_k & -s.tile_k
    return replace(s, vector_a=power_divisor(problem.shape.a_run, min(TRANSACTION_BYTES // problem.shape.a_bytes, along)))


def _with_rows(problem: SkinnyProduct, schedule: Schedule, depth: int, tile_k: int = 0) -> Schedule:
    """Return the schedule with rows of A of some depth in shared memory: all of it in one tile, if there is room, or in a ring."""
    s = schedule
    step = step_depth(problem, s)
    share = ceil(max(1, depth) / s.cluster_k)
    row = s.tile_m * _row_bytes(s)
    whole = ceil(share / step) * step
    if whole <= tile_k or (whole * row <= _MOST_ROWS_BYTES and not tile_k):
        return replace(s, tile_k=whole, stages=1)
    return replace(s, tile_k=ceil(max(1, tile_k or _MOST_RING_BYTES // _STAGES // row) / step) * step, stages=_STAGES)


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
    is_enough = registers(problem, wanted, fewest=True) <= _available_registers(wanted, target)
    return wanted if is_enough and not target.is_emulated else s


def _available_registers(schedule: Schedule, target: Target) -> int:
    """Return how many registers a thread may have."""
    s = schedule
    return min(MOST_REGISTERS, target.registers_multiprocessor // (s.threads * s.blocks) // 8 * 8)  # they come in eights


def schedules(problem: SkinnyProduct, target: Target) -> Iterator[Schedule]:  # noqa: ARG001 - as all rules have it
    """Yield the whole search space, illegal points included."""
    for tensor_cores, thread_n, lanes_k, loads, slices_k, groups, cluster_k in combinations(
        (False, True) if problem.may_use_tensor_cores else (False,),
        (1, 2, 4, 8),
        (4, 8, 16, 32),
        (1, 2, 4, 8),
        (1, 2, 4, 8, 16),
        (1, 2, 4, 8),
        (1, 2, 4, 8),
    ):
        if tensor_cores and (lanes_k != MMA_LANES or thread_n not in (2, 4)):
            continue
        yield _schedule(problem, tensor_cores, thread_n, lanes_k, loads, slices_k, groups, cluster_k)


def _schedule(
    problem: SkinnyProduct, tensor_cores: bool, thread_n: int, lanes_k: int, loads: int, slices_k: int, groups: int, cluster_k: int
) -> Schedule:
    """Return a schedule whose tile has all rows where it can."""
    most = MMA_ROWS * 4 if tensor_cores else max(1, _MOST_SUMS // thread_n)
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


@lru_cache(maxsize=4096)
def choose(problem: SkinnyProduct, target: Target) -> Schedule:
    """Return the legal schedule of least estimated time."""
    found = list(candidates(problem, target))
    if target.is_emulated:
        ranked = sorted(found, key=lambda s: emulated_ns(problem, s))
    else:
        ranked = sorted(found, key=lambda s: gpu_us(problem, s, target))
    small = _schedule(problem, False, 2 if problem.shape.is_paired else 1, WARP_THREADS, 1, 1, 1, 1)  # legal everywhere
    return next((s for s in ranked if not violations(problem, s, target)), small)


def candidates(problem: SkinnyProduct, target: Target) -> Iterator[Schedule]:
    """Yield schedules that are worth an estimate: two to eight warps, sixteen on tensor cores, none idle along a short depth."""
    vector_b = power_divisor(problem.shape.b_run, TRANSACTION_BYTES // problem.shape.b_bytes)
    fewest, most = (1, 4) if target.is_emulated else (2, 16)
    ways: list[tuple[bool, tuple[int, ...], tuple[int, ...]]] = [(False, (1, 2, 4, 8), (4, 8, 16, 32))]
    if problem.shape.b_k_last:
        lanes = min(WARP_THREADS, max(4, power_at_most(problem.shape.k // vector_b)))
        ways = [(False, (1, 2, 4, 8), (lanes,))]
        if problem.may_use_tensor_cores and problem.shape.m > 1 and vector_b == MMA_VECTOR:
            ways.append((True, (2, 4), (MMA_LANES,)))
    for tensor_cores, columns, lanes_along in ways:
        for thread_n, lanes_k, loads, slices_k, groups in combinations(columns, lanes_along, (1, 2, 4, 8), (1, 2, 4, 8), (1, 2, 4, 8, 16)):
            if not fewest <= slices_k * groups <= (most if tensor_cores else most // 2) or thread_n * loads > (16 if tensor_cores else 8):
                continue
            found = _schedule(problem, tensor_cores, thread_n, lanes_k, loads, slices_k, groups, 1)
            if slices_k * loads > 1 and step_depth(problem, found) >= 2 * problem.shape.k:
                continue
            yield found
            if not tensor_cores:  # the compiler takes what it is given; held to less, more blocks fit
                blocks = target.registers_multiprocessor // (found.threads * (-(-registers(problem, found, fewest=True) // 8) * 8))
                if blocks > 1:
                    yield replace(found, blocks=min(blocks, target.threads_multiprocessor // found.threads))


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
    staged = s.tile_m * ceil(depth / s.tile_k) * s.tile_k / s.vector_a / s.threads * _ROW_CYCLES
    staged += work_cycles(s.tile_m * depth, problem.shape.a_work)
    steps = ceil(depth / step_depth(problem, s))
    alone = _BLOCK_CYCLES + staged + steps * in_step + (steps - 1) * _STEP_LATENCY + finish
    parts = (*(each * depth * rate for rate in rates), each / resident * alone)
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
    alone = round(_BLOCK_CYCLES + finish - _STEP_LATENCY) + -(-depth // s.tile_k) * round(staged * s.tile_k)
    alone += -(-depth // step_depth(problem, s)) * round(in_step + _STEP_LATENCY)
    latency = maximum(alone, each * alone // held)
    moved = each * depth
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
        conversions = 1 if shape.b_bytes < _SUM_BYTES else 0
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
    sums = s.slices_k * s.tile_m * s.tile_n * _SUM_BYTES
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

"""The matrix product on tensor cores by wgmma: schedule, legality, launch geometry and analytic ranking.

Its device side is `nautilus/kernels/wgmma_product.cuh`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import product as combinations
from math import ceil, sqrt
from typing import Any

from nautilus_cli.ir.dims import is_symbolic, lower, upper
from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.boxes import ALIGNMENT_BYTES, MOST_BOX, ROW_BYTES
from nautilus_cli.kernels.limits import WARP_THREADS
from nautilus_cli.kernels.mma_product import soft_max
from nautilus_cli.kernels.product import work_cycles
from nautilus_cli.targets.base import Target

WARPGROUP_THREADS = 128
WARPGROUP_ROWS = 64
STEP_BYTES = 32
"""Depth of one wgmma in bytes of either operand."""

_BARRIER_BYTES = 16
_SYSTEM_SMEM_BYTES = 1024
_SUM_OVERHEAD_REGISTERS = 48
_SPLIT_OVERHEAD_REGISTERS = 40
_STEP_REGISTERS = 26  # beside the sums of one wgmma, all of which one instruction names
_MOST_TILES = 2**31 - 1
_MOST_STAGES = 16
_SUM_BYTES = 4
_SWITCHES = ("swaps", "ping_pong", "slices_depth", "stores_boxes", "early_trigger")
_WARPGROUPS = (  # rows of a tile, consumers, and how else than by rows these share the work
    (64, 1, ""),
    (128, 1, ""),
    (128, 2, ""),
    (256, 2, ""),
    (192, 3, ""),
    (64, 2, "ping_pong"),
    (128, 2, "ping_pong"),
)
_DEPTH_CLUSTERS = (2, 3, 4, 6)
_TILES_N = (16, 32, 64, 96, 128, 160, 192, 208, 224, 256)

# Cost model of a GPU, in cycles of a multiprocessor, of launches with programmatic edges: fitted to 700 schedules of products of 16 bits
# and of tf32 on an H200, to 10 % (rms).
_CYCLES_PER_US = 1700
_START_CYCLES = 767
_SHARING_CYCLES = 1100  # of clusters that share operands
_PART_CYCLES = 274  # for each block that shares the depth with another
_TENSOR_SLOWDOWN = 1.32  # of the clock, under the power limit, and of tensor cores that wait
_STEP_CYCLES = 249  # from one stage to the next, at least
_RING_CYCLES = 700  # until a stage has been filled again
_SHARED_BYTES_PER_CYCLE = 128
_L2_BYTES_PER_CYCLE = 76.7
_NARROW_SLOWDOWN = 1.12  # of tiles of less than 128 rows or columns that are taken in turns, or shared: six products, 1.07 to 1.23
_PART_BYTES_PER_CYCLE = 25.2
_FINISH_CYCLES = 1572
_FINISHED_PER_CYCLE = 4.55  # results, by the epilogue of one warpgroup, one by one
_BOX_FINISH_CYCLES = 1970
_BOXED_PER_CYCLE = 38.9
_LOAD_INSTRUCTIONS = 8  # of an element of a computed A: with the others fitted to 63 schedules, to 12 % (rms)
_LOAD_LATENCY = 1600
_SCHEDULERS = 4
_FEW_ROWS = 48
_FEW_ROWS_SLOWDOWN = 0.3  # of what is missing to these: eight products of 16 to 32 rows, 0.0 to 0.5
_MEMORY_SHARE = 0.85  # of the bandwidth
_HIDING = 2.7

# Cost model of the emulator, in nanoseconds of one core: fitted to products of 512³ on one CPU.
_SUM_STEP_NS = 1.2
_STAGE_NS = 9000
_THREAD_START_NS = 150
_EPILOGUE_NS = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How a product is cut into tiles and warpgroups.

    Attributes:
        tile_m: rows of the result that a block computes at once.
        tile_n: columns of the result that a block computes at once.
        swaps: whether the transposed product is computed, so that columns of the result are the rows of an instruction, of which it has 64;
            tile_m, and what else speaks of rows, are then columns.
        consumers: warpgroups that multiply, 1 to 3; one more brings the tiles.
        ping_pong: whether each consumer has a tile of its own and they take turns; else they share the rows of one.
        slices_depth: whether consumers share out the depth of a tile, not its rows; their sums are added in order at the end.
        stages: tiles of 128 bytes of depth in shared memory.
        vector_a: elements that a thread loads at once of an A that is computed.
        cluster_m: blocks, side by side along m, that share the tiles of B.
        cluster_n: blocks, side by side along n, that share the tiles of A.
        cluster_k: blocks that share out the depth of one tile; their sums are added in order at the end.
        group_m: rows of clusters' tiles that are run down before they move on along n.
        vector_c: neighbouring results that the epilogue takes at once.
        stores_boxes: whether results leave through shared memory, as boxes of 64 rows of 128 bytes that bulk copies take.
        early_trigger: whether the next kernel's blocks may come as soon as all of this one's run, and bring a constant B beside them.
        residents: blocks that a multiprocessor holds at once, of this kernel, or of this one and the next.
        blocks: blocks that stay and walk over the tiles.
    """

    tile_m: int
    tile_n: int
    consumers: int
    swaps: bool = False
    ping_pong: bool = False
    slices_depth: bool = False
    stages: int = 4
    vector_a: int = 1
    cluster_m: int = 1
    cluster_n: int = 1
    cluster_k: int = 1
    group_m: int = 1
    vector_c: int = 1
    stores_boxes: bool = False
    early_trigger: bool = False
    residents: int = 1
    blocks: int = 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return (self.consumers + 1) * WARPGROUP_THREADS

    @property
    def cluster(self) -> int:
        """Blocks of a cluster."""
        return self.cluster_m * self.cluster_n * self.cluster_k

    @property
    def rows(self) -> int:
        """Rows of a tile that one consumer multiplies."""
        return self.tile_m if self.ping_pong or self.slices_depth else self.tile_m // self.consumers

    @property
    def parts(self) -> int:
        """Parts of a tile's depth whose sums are added at the end."""
        return self.cluster_k * (self.consumers if self.slices_depth else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """An operand that threads load and compute.

    Attributes:
        bytes: of a stored element.
        streams: loads that differ from element to element.
        loads: all of them.
        work: what is computed of an element, in additions.
    """

    bytes: int
    streams: int
    loads: int
    work: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WgmmaProduct:
    """A product as the main loop sees it.

    Attributes:
        batch: number of products.
        m: rows of A and of the result.
        n: columns of B and of the result.
        k: length of the sums.
        a_k_last: whether k is A's last coordinate.
        b_k_last: whether k is B's last coordinate.
        element_bytes: of an element that is multiplied: 2, or 4 for tf32.
        result_bytes: of an element of the result, where boxes of it can be stored; else 0.
        terms: products of tensor cores for each product of two elements.
        loaded_a: how threads load and compute A; None where bulk copies bring it.
        is_paired: whether two neighbouring sums make one result, so that a thread needs both.
        part_columns: neighbouring results of a row whose statistics are wanted, which the lanes of one warp have; 0 for none.
    """

    batch: int
    m: int
    n: int
    k: int
    a_k_last: bool
    b_k_last: bool
    element_bytes: int
    result_bytes: int = 0
    terms: int = 1
    loaded_a: Loaded | None = None
    is_paired: bool = False
    part_columns: int = 0

    @property
    def sums(self) -> int:
        """Sums of a result."""
        return 2 if self.is_paired else 1


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
    return schedule.stages * stage_bytes(schedule) + _beside_stages(problem, schedule)


def _beside_stages(problem: WgmmaProduct, schedule: Schedule) -> int:
    """Return the shared memory beside the ring: two boxes of each consumer's results; of floats' rests two tiles of A and three of B."""
    s = schedule
    results = s.consumers * 2 * WARPGROUP_ROWS * ROW_BYTES if s.stores_boxes else 0
    rests = (2 * s.tile_m + 3 * s.tile_n) * ROW_BYTES if problem.terms == 3 else 0
    return results + rests


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
        sums = -(-(s.rows // WARPGROUP_ROWS * s.tile_n // 2 + _SUM_OVERHEAD_REGISTERS) // 8) * 8
        return max(40, min(216, entry_registers(s) * (s.consumers + 1) - sums * s.consumers))
    return 32 if schedule.consumers == 3 else 40


def entry_registers(schedule: Schedule) -> int:
    """Return the registers that a thread begins with: what a multiprocessor of 65536 has for it."""
    return min(240, 65536 // (schedule.threads * schedule.residents) // 8 * 8)


def violations(problem: WgmmaProduct, schedule: Schedule, target: Target) -> tuple[str, ...]:
    """Return why this schedule cannot serve this problem on this target; empty where it can."""
    s = schedule
    if any(getattr(s, field.name) < 1 for field in fields(s) if field.name not in _SWITCHES):
        return ("a number is less than 1",)
    if not target.has_wgmma:
        return (f"{target.name} has no wgmma",)
    reasons = []
    if s.consumers > 3:
        reasons.append(f"{s.consumers} consumers; at most 3 are written")
    elif s.ping_pong and s.consumers < 2:
        reasons.append("one consumer cannot take turns")
    if s.slices_depth and (s.ping_pong or s.consumers < 2):
        reasons.append("consumers that take turns, or one alone, do not share out the depth")
    if s.rows < s.tile_m and s.tile_m % (WARPGROUP_ROWS * s.consumers):
        reasons.append(f"tile_m of {s.tile_m} is no multiple of {WARPGROUP_ROWS} rows for each of {s.consumers} consumers")
    elif s.tile_m % WARPGROUP_ROWS or s.tile_m > MOST_BOX:
        reasons.append(f"tile_m of {s.tile_m}; multiples of {WARPGROUP_ROWS} up to {MOST_BOX} are written")
    if s.tile_n % 8 or s.tile_n > MOST_BOX:
        reasons.append(f"tile_n of {s.tile_n}; multiples of 8 up to {MOST_BOX} are written")
    if s.cluster_m > 1 and s.cluster_n > 1:
        reasons.append("a cluster shares one operand, not both")
    elif s.parts > 1 and s.cluster_m * s.cluster_n > 1:
        reasons.append("blocks share operands, or parts of the depth, not both")
    elif s.cluster > 8:
        reasons.append(f"{s.cluster} blocks in a cluster; at most 8 are possible")
    wide = ROW_BYTES // problem.element_bytes
    seen = oriented(problem, s)
    for name, tile, share, k_last in (("m", s.tile_m, s.cluster_n, seen.a_k_last), ("n", s.tile_n, s.cluster_m, seen.b_k_last)):
        part = 8 if k_last else wide
        if tile % (share * part):
            reasons.append(f"tile_{name} of {tile} is no multiple of {part} for each of {share} blocks")
    if s.parts > 1:
        reasons += _part_violations(problem, s)
    if s.blocks % s.cluster:
        reasons.append(f"{s.blocks} blocks are no whole clusters of {s.cluster}")
    if s.vector_c not in (1, 2, 4, 8) or s.tile_n % (8 * max(1, s.vector_c // 2)):
        reasons.append(f"vector_c of {s.vector_c}: a power of two up to 8 of which 8 × {max(1, s.vector_c // 2)} columns make whole groups")
    elif s.swaps and (s.vector_c > 1 or s.stores_boxes):
        reasons.append("neighbouring sums of a transposed product are no neighbouring results")
    elif problem.n % s.vector_c:
        reasons.append(f"vector_c of {s.vector_c} does not divide n = {problem.n}")
    elif problem.is_paired and s.vector_c < 2:
        reasons.append("the epilogue takes one sum at a time; two make a result")
    if problem.part_columns and (problem.n % problem.part_columns or _finished_columns(s) % problem.part_columns):
        reasons.append(f"{_finished_columns(s)} columns of a tile, and n = {problem.n}, are no whole parts of {problem.part_columns}")
    if not 2 <= s.stages <= _MOST_STAGES:
        reasons.append(f"{s.stages} stages; 2 to {_MOST_STAGES} are written")
    if s.swaps and (problem.is_paired or problem.part_columns or problem.loaded_a is not None):
        reasons.append("operands do not change places where one is computed, or columns of the result belong together")
    if s.stores_boxes and not problem.result_bytes:
        reasons.append("the result is no tensor that boxes can be stored in")
    elif s.stores_boxes and s.tile_n // problem.sums * problem.result_bytes % ROW_BYTES:
        reasons.append(f"tile_n of {s.tile_n} is no whole boxes of {ROW_BYTES} bytes")
    smem = smem_bytes(problem, s)
    if smem > target.smem_bytes_block or s.residents * (smem + _SYSTEM_SMEM_BYTES) > target.smem_bytes_multiprocessor:
        reasons.append(f"{s.residents} × {smem} bytes of shared memory; a multiprocessor has {target.smem_bytes_multiprocessor}")
    if s.residents * s.threads > target.threads_multiprocessor:
        reasons.append(f"{s.residents} × {s.threads} threads; a multiprocessor has {target.threads_multiprocessor}")
    if problem.terms == 3 and s.ping_pong:
        reasons.append("consumers in turns do not share what tf32 leaves of floats")
    sums = s.rows // WARPGROUP_ROWS * s.tile_n // 2 * (3 if problem.terms == 3 else 1)  # those of two tiles apart
    overhead = _SPLIT_OVERHEAD_REGISTERS if problem.terms == 3 else _SUM_OVERHEAD_REGISTERS
    available = consumer_registers(s, loads_a=problem.loaded_a is not None)
    if not target.is_emulated and sums + overhead > available:
        reasons.append(f"{sums} sums in {available} registers")
    if problem.loaded_a is not None:
        reasons += _loaded_violations(problem, s)
    if not target.is_emulated and s.tile_n // 2 + _STEP_REGISTERS > entry_registers(s):
        reasons.append(f"{s.tile_n // 2} sums of one step in the {entry_registers(s)} registers that a thread begins with")
    if sums > 256:
        reasons.append(f"{sums} sums a thread")
    if target.is_emulated and s.cluster > 1:
        reasons.append("the emulator has clusters of one block")
    if problem.k < 1:
        reasons.append("no steps of the sum")
    if min(lower(problem.batch), lower(problem.m), lower(problem.n)) < 1:
        reasons.append("a result that is empty, or may be")
    if cluster_tiles(problem, s) + s.blocks > _MOST_TILES or maximum(problem.m, problem.n, problem.k) + 4096 > 2**31:
        reasons.append("more tiles or a longer extent than 31 bits count")
    return tuple(reasons)


def _loaded_violations(problem: WgmmaProduct, schedule: Schedule) -> Iterator[str]:
    """Yield why threads cannot load A so."""
    s, run = schedule, problem.k if problem.a_k_last else problem.m
    if s.cluster_n > 1:
        yield "blocks do not share what each computes of A"
    if s.vector_a & (s.vector_a - 1) or s.vector_a * problem.element_bytes > ALIGNMENT_BYTES:
        yield f"vector_a of {s.vector_a}; powers of two up to {ALIGNMENT_BYTES} bytes are written"
    elif run % s.vector_a:
        yield f"vector_a of {s.vector_a} does not divide {run}, the extent that it runs along"


def _part_violations(problem: WgmmaProduct, schedule: Schedule) -> Iterator[str]:
    """Yield why the depth cannot be shared out so."""
    s = schedule
    steps = -(-problem.k * problem.element_bytes // ROW_BYTES)
    if problem.terms == 3:
        yield "the depth of floats as two numbers is not shared out"
    if s.stores_boxes:
        yield "parts of the depth do not store boxes"
    if s.blocks < cluster_tiles(problem, s) * s.cluster:
        yield f"{s.blocks} blocks; parts of the depth are of one tile each, {cluster_tiles(problem, s) * s.cluster} in all"
    if not is_symbolic(steps) and (s.cluster_k - 1) * ceil(steps / s.cluster_k) >= steps:  # of an open depth some may have none
        yield f"{steps} steps of depth are none for some of {s.cluster_k} blocks"
    if s.parts * s.rows * s.tile_n * _SUM_BYTES // s.cluster_k * (1 if s.slices_depth else s.consumers) > s.stages * stage_bytes(s):
        yield "the sums do not fit where the ring is"


def _lane_columns(vector_c: int) -> int:
    """Return how many columns lanes exchange so that each has a vector of them."""
    return 8 * max(1, vector_c // 2)


def _shares(schedule: Schedule) -> int:
    """Return how many parts of the depth finish a tile, each as many columns, as kernels/wgmma_parts.cuh has it."""
    groups = max(1, schedule.tile_n // _lane_columns(schedule.vector_c))
    return max(shares for shares in range(1, min(groups, schedule.parts) + 1) if groups % shares == 0)


def _finished_columns(schedule: Schedule) -> int:
    """Return how many neighbouring columns a warp finishes."""
    return schedule.tile_n // _shares(schedule)


def space(problem: WgmmaProduct) -> Mapping[str, tuple[int, ...]]:
    """Return the choices of each searched field; their product is the search space."""
    may_swap = _may_swap(problem)
    return {
        "swaps": (0, 1) if may_swap else (0,),
        "tile_m": tuple(t for t in (64, 128, 192, 256) if t < 2 * max(64, problem.n if may_swap else problem.m)),
        "tile_n": tuple(t for t in _TILES_N if t < 2 * max(16, problem.n)),
        "consumers": (1, 2, 3),
        "ping_pong": (0, 1),
        "slices_depth": (0, 1),
        "early_trigger": (0, 1) if may_swap else (0,),
        "residents": (1, 2) if may_swap else (1,),
        "cluster_m": (1, 2),
        "cluster_n": (1, 2),
        "cluster_k": (1, *_DEPTH_CLUSTERS),
        "stores_boxes": (0, 1) if problem.result_bytes else (0,),
        "group_m": (1, 8),
    }


def _may_swap(problem: WgmmaProduct) -> bool:
    """Whether fewer rows than an instruction has make a product worth transposing."""
    return upper(problem.m) <= WARPGROUP_ROWS and not problem.is_paired and not problem.part_columns and problem.loaded_a is None


def schedules(problem: WgmmaProduct, target: Target) -> Iterator[Schedule]:
    """Yield the whole search space, illegal points included."""
    choices = space(problem)
    for values in combinations(*choices.values()):
        point: dict[str, Any] = dict(zip(choices, values, strict=True))
        point |= {name: bool(point[name]) for name in _SWITCHES}
        yield completed(problem, Schedule(**point), target)


def completed(problem: WgmmaProduct, schedule: Schedule, target: Target) -> Schedule:
    """Return the schedule with as many stages as fit, the widest vectors, and as many blocks as stay."""
    s = schedule
    vectors = [v for v in ((1,) if s.swaps else (8, 4, 2, 1)) if not (problem.n % v or s.tile_n % _lane_columns(v))]
    # What each part of the depth finishes takes a vector's columns: rather shorter ones than parts that finish nothing.
    whole = [v for v in vectors if not s.tile_n % (_lane_columns(v) * s.parts)]
    vector = max(2 if problem.is_paired else 1, (whole or vectors or [1])[0])
    vector_a = 1
    if problem.loaded_a is not None:
        run = problem.k if problem.a_k_last else problem.m
        vector_a = ALIGNMENT_BYTES // max(problem.element_bytes, problem.loaded_a.bytes)
        while run % vector_a:
            vector_a //= 2
    all_blocks = cluster_tiles(problem, s) * s.cluster
    resident = target.resident_clusters(s.cluster) * s.residents * s.cluster
    return replace(
        s,
        stages=_stages(problem, s, target),
        vector_a=vector_a,
        vector_c=vector,
        blocks=all_blocks if s.parts > 1 else max(s.cluster, min(resident, all_blocks)),
    )


def _stages(problem: WgmmaProduct, schedule: Schedule, target: Target) -> int:
    """Return how many stages fit, at most those that a block's share of the depth has: the barriers of each take time."""
    s = schedule
    available = min(target.smem_bytes_block, target.smem_bytes_multiprocessor // s.residents - _SYSTEM_SMEM_BYTES) - _beside_stages(
        problem, s
    )
    wide = ROW_BYTES // problem.element_bytes
    return max(2, min(_MOST_STAGES, available // stage_bytes(s), -(-problem.k // (wide * s.cluster_k))))


def staying(problem: WgmmaProduct, schedule: Schedule, target: Target) -> Schedule:
    """Return the schedule with as many stages as the greatest depth takes, and as many blocks: of fewer tiles, fewer are launched."""
    s = replace(schedule, stages=_stages(replace(problem, k=upper(problem.k)), schedule, target))
    resident = max(s.cluster, target.resident_clusters(s.cluster) * s.residents * s.cluster)
    return replace(s, blocks=upper(cluster_tiles(problem, s) * s.cluster) if s.parts > 1 else resident)


@lru_cache(maxsize=4096)
def choose(problem: WgmmaProduct, target: Target) -> Schedule:
    """Return the legal schedule of least estimated time."""
    candidates = list(_candidates(problem, target))
    if target.is_emulated:
        ranked = sorted(candidates, key=lambda s: emulated_ns(problem, s))
    else:
        ranked = sorted(candidates, key=lambda s: gpu_us(problem, s, target))
    small = completed(problem, Schedule(tile_m=64, tile_n=64, consumers=1), target)  # legal wherever one is
    return next((s for s in ranked if not violations(problem, s, target)), small)


def _candidates(problem: WgmmaProduct, target: Target) -> Iterator[Schedule]:
    """Yield schedules that are worth an estimate, legal or not."""
    for schedule in (*_tilings(problem), *(() if target.is_emulated else _swapped(problem))):
        for shared in _shared(problem, schedule, target):
            found = replace(shared, early_trigger=_leaves_room(problem, shared, target))
            yield completed(problem, found, target)
            has_boxes = bool(problem.result_bytes) and not found.swaps and found.parts == 1
            if has_boxes and schedule.tile_n // problem.sums * problem.result_bytes % ROW_BYTES == 0:
                yield completed(problem, replace(found, stores_boxes=True), target)


def _swapped(problem: WgmmaProduct) -> Iterator[Schedule]:
    """Yield the transposed product of few rows: an instruction has 64 rows of weights, and as many columns as there are rows of A."""
    if _may_swap(problem):
        tile_n = -(-upper(problem.m) // 8) * 8 if problem.a_k_last else ROW_BYTES // problem.element_bytes
        yield Schedule(tile_m=WARPGROUP_ROWS, tile_n=tile_n, consumers=1, swaps=True, group_m=8)


def _leaves_room(problem: WgmmaProduct, schedule: Schedule, target: Target) -> bool:
    """Whether blocks of the next kernel gain by coming early: on an H200 2 to 5 % of products of one tile a block, and no others."""
    s = schedule
    return s.cluster == 1 and not (s.ping_pong or target.is_emulated) and cluster_tiles(problem, s) <= target.multiprocessors


def _shared(problem: WgmmaProduct, schedule: Schedule, target: Target) -> Iterator[Schedule]:
    """Yield a schedule, and with clusters that share operands or, of few tiles, the depth."""
    yield schedule
    if target.is_emulated:
        return
    yield replace(schedule, cluster_m=2)
    yield replace(schedule, cluster_n=2)
    if not schedule.ping_pong and problem.terms == 1:
        tiles = cluster_tiles(problem, schedule)
        yield from (replace(schedule, cluster_k=blocks) for blocks in _DEPTH_CLUSTERS if tiles <= target.resident_clusters(blocks))


def _tilings(problem: WgmmaProduct) -> Iterator[Schedule]:
    """Yield ways to share out the results among warpgroups."""
    wide = ROW_BYTES // problem.element_bytes
    for tile_m, consumers, switch in _WARPGROUPS:
        if tile_m >= 2 * max(64, problem.m) or (problem.terms == 3 and switch):
            continue
        for tile_n in _TILES_N:
            if tile_n < 2 * max(16, problem.n) and (problem.b_k_last or tile_n % wide == 0):
                schedule = Schedule(tile_m=tile_m, tile_n=tile_n, consumers=consumers, group_m=8)
                yield replace(schedule, **{switch: True}) if switch else schedule


def gpu_us(problem: WgmmaProduct, schedule: Schedule, target: Target) -> float:
    """Return the estimated time in microseconds.

    A step of the ring takes a block what tensor cores multiply, or read of shared memory, what L2 delivers, and the latency of a stage
    shared out over all of them, which hide each other but for a part; and a least number of cycles. Epilogues add up, or in ping-pong hide
    behind the next tile. All hides what comes from memory.
    """
    s = schedule
    hidden = soft_max(_traffic_cycles(s), _RING_CYCLES / s.stages, _HIDING)
    step = max(_STEP_CYCLES, soft_max(_tensor_cycles(problem, s), hidden, _HIDING), _loading_cycles(problem, s))
    if min(s.tile_m, s.tile_n) < 2 * WARPGROUP_ROWS and (s.ping_pong or s.cluster > s.cluster_k):
        step *= _NARROW_SLOWDOWN
    if problem.terms == 3:
        step += 2 * (s.tile_m + s.tile_n) * ROW_BYTES / _SHARED_BYTES_PER_CYCLE  # rests are written, and read once more
    main = step * ceil(ceil(problem.k * problem.element_bytes / ROW_BYTES) / s.cluster_k)
    finish = _finish_cycles(s)
    at_once = target.resident_clusters(s.cluster) * s.residents
    tiles = ceil(cluster_tiles(problem, s) / min(at_once, s.blocks // s.cluster))
    if s.ping_pong:
        cycles = tiles * max(main, (main + finish) / s.consumers) + finish
    else:
        cycles = tiles * (main + finish)
    moved = problem.element_bytes * problem.batch * problem.k * (problem.m + problem.n)
    cycles *= 1 + _FEW_ROWS_SLOWDOWN * max(0, 1 - oriented(problem, s).m / _FEW_ROWS)
    start = _START_CYCLES + _PART_CYCLES * (s.cluster_k - 1) + (_SHARING_CYCLES if s.cluster > s.cluster_k else 0)
    return start / _CYCLES_PER_US + soft_max(cycles / _CYCLES_PER_US, moved / (_MEMORY_SHARE * target.memory_bytes_per_us), _HIDING)


def _tensor_cycles(problem: WgmmaProduct, schedule: Schedule) -> float:
    """Return how long tensor cores take for a step of a block, or for reading what they multiply."""
    s = schedule
    products = s.tile_m // WARPGROUP_ROWS * ROW_BYTES // STEP_BYTES * problem.terms
    read = (WARPGROUP_ROWS + s.tile_n) * STEP_BYTES / _SHARED_BYTES_PER_CYCLE
    return _TENSOR_SLOWDOWN * products * max(s.tile_n / 2, read) * s.residents


def _loading_cycles(problem: WgmmaProduct, schedule: Schedule) -> float:
    """Return how long a warpgroup takes to load, compute and write A's part of a step; 0 where bulk copies bring it.

    The time until what it reads comes is shared by the tiles whose reads are under way together, as kernels/wgmma_loaded.cuh has it.
    """
    loaded = problem.loaded_a
    if loaded is None:
        return 0.0
    s, words = schedule, problem.element_bytes / 4
    bands = s.tile_m // WARPGROUP_ROWS
    band = ROW_BYTES // problem.element_bytes // 2 * loaded.streams * loaded.bytes / 4 + 4 * max(0, loaded.loads - loaded.streams)
    most = 16 if bands > 2 else max(16, min(96, producer_registers(s, loads_a=True) - 96))
    held = max([b for b in range(1, bands + 1) if bands % b == 0 and b * band <= most], default=1)
    ahead = 1 if held < bands else max(1, min(4, int(most // (held * band))))
    elements = s.tile_m * ROW_BYTES / problem.element_bytes
    issue = elements * (_LOAD_INSTRUCTIONS * loaded.streams * 2 * words + 1) / WARP_THREADS / _SCHEDULERS
    vectors = max(1.0, ALIGNMENT_BYTES / problem.element_bytes / s.vector_a / 2)  # elements one by one take more instructions
    return (_LOAD_LATENCY * (bands // held) / ahead + issue * vectors + work_cycles(elements, loaded.work)) * s.residents


def _traffic_cycles(schedule: Schedule) -> float:
    """Return how long L2 takes to deliver a step of a block."""
    s = schedule
    return ROW_BYTES * (s.tile_m / s.cluster_n + s.tile_n / s.cluster_m) / _L2_BYTES_PER_CYCLE * s.residents


def _finish_cycles(schedule: Schedule) -> float:
    """Return how long the sums of a tile take to become results."""
    s = schedule
    results = s.tile_m * s.tile_n / (1 if s.ping_pong else s.consumers)
    if s.stores_boxes:
        return _BOX_FINISH_CYCLES + results / _BOXED_PER_CYCLE
    parts = 2 * s.tile_m * s.tile_n * _SUM_BYTES / _PART_BYTES_PER_CYCLE if s.parts > 1 else 0.0
    return _FINISH_CYCLES + results / s.cluster_k / (_FINISHED_PER_CYCLE * sqrt(s.vector_c)) + parts


def emulated_ns(problem: WgmmaProduct, schedule: Schedule) -> float:
    """Return the estimated time in nanoseconds of one core: rendezvous, arithmetic and epilogues add up."""
    s = schedule
    steps = ceil(problem.k * problem.element_bytes / ROW_BYTES)
    tile = steps * (s.consumers * _STAGE_NS + s.tile_m * s.tile_n * 4 * _SUM_STEP_NS) + s.tile_m * s.tile_n * _EPILOGUE_NS / s.vector_c
    tiles = ceil(cluster_tiles(problem, s) / s.blocks) * min(s.blocks, 2)
    return tiles * tile + s.blocks * s.threads * _THREAD_START_NS

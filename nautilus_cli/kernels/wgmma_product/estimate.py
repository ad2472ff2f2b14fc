"""The estimated time of a product by wgmma, on a GPU and on the emulator."""

from __future__ import annotations

from math import ceil, sqrt

from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.kernels.boxes import ALIGNMENT_BYTES, ROW_BYTES
from nautilus_cli.kernels.estimates import THREAD_START_NS, soft_max, work_cycles
from nautilus_cli.kernels.limits import SCHEDULERS, WARP_THREADS
from nautilus_cli.kernels.wgmma_product.problem import WgmmaProduct
from nautilus_cli.kernels.wgmma_product.resources import STEP_BYTES, SUM_BYTES, WARPGROUP_ROWS, cluster_tiles, oriented, reads_together
from nautilus_cli.kernels.wgmma_product.schedule import Schedule
from nautilus_cli.targets.base import Target

# Cost model of a GPU, in cycles of a multiprocessor, of launches with programmatic edges: fitted to 700 schedules of products of 16 bits
# and of tf32 on an H200, to 10 % (rms).
_CYCLES_PER_US = 1700  # with tensor cores under the power limit
_START_CYCLES = 767
_SHARING_CYCLES = 500  # of clusters that share operands: with _PART_BYTES_PER_CYCLE 220 schedules of 16 small products
_HIDDEN_START_CYCLES = 400  # of a grid that leaves half of the multiprocessors to the next one: 273 schedules of 17 products
_THIRD_CONSUMER_CYCLES = 300  # of 512 threads, which take all registers: eight schedules of five products
_OPEN_CYCLES = 100  # more where sizes are open, unless half of the multiprocessors are left: 15 schedules of 12 products
_PART_CYCLES = 274  # for each block that shares the depth with another
_TENSOR_SLOWDOWN = 1.32  # of the clock, under the power limit, and of tensor cores that wait
_STEP_CYCLES = 249  # from one stage to the next, at least
_RING_CYCLES = 700  # until a stage has been filled again
_SHARED_BYTES_PER_CYCLE = 128
_L2_BYTES_PER_CYCLE = 76.7
_NARROW_SLOWDOWN = 1.12  # of tiles of less than 128 rows or columns that are taken in turns, or shared: six products, 1.07 to 1.23
_PART_BYTES_PER_CYCLE = 35
_FINISH_CYCLES = 1572
_FINISHED_PER_CYCLE = 4.55  # results, by the epilogue of one warpgroup, one by one
_BOX_FINISH_CYCLES = 1970
_BOXED_PER_CYCLE = 38.9
_SUMMARISED_PER_CYCLE = 7  # results, of which moments are left, by one warpgroup: with the next four 35 schedules, to 9 % (rms)
_LEAVING_CYCLES = 250
_TAKING_CYCLES = 750
_ROWS_CYCLES = 350  # for each 64 rows more of a tile
_BANDS_CYCLES = 600  # for each 64 rows more of a consumer
_LOAD_INSTRUCTIONS = 8  # of an element of a computed A: with the others fitted to 63 schedules, to 12 % (rms)
_LOAD_LATENCY = 1600
_FEW_ROWS = 48
_FEW_ROWS_SLOWDOWN = 0.3  # of what is missing to these: eight products of 16 to 32 rows, 0.0 to 0.5
_MEMORY_SHARE = 0.85  # of the bandwidth
_SWAPPED_TILES_SLOWDOWN = 0.06  # of a transposed product that has several tiles of rows: four products, -0.03 to 0.17
_SPARE_COLUMNS_SLOWDOWN = 0.05  # of the share of a tile's columns that has no rows: 16×4096×4096
_UNSHARED_SLOWDOWN = 0.05  # of sums of three terms whose blocks share no operand: with the next seven schedules of 4096³
_FEW_STAGES_SLOWDOWN = 0.05  # of those that have fewer than four
_HIDING = 2.7

_PARTS = 1 << 10
"""Of a time, in which shares of it are counted where sizes are open."""

# Cost model of the emulator, in nanoseconds of one core: fitted to products of 512³ on one CPU.
_SUM_STEP_NS = 1.2
_STAGE_NS = 9000
_EPILOGUE_NS = 6.0


def gpu_us(problem: WgmmaProduct, schedule: Schedule, target: Target) -> float:
    """Return the estimated time in microseconds.

    A step of the ring takes a block what tensor cores multiply, or read of shared memory, what L2 delivers, and the latency of a stage
    shared out over all of them, which hide each other but for a part; and a least number of cycles. Epilogues add up, or in ping-pong hide
    behind the next tile. All hides what comes from memory.
    """
    s = schedule
    main = _step_cycles(problem, s) * ceil(ceil(problem.k * problem.element_bytes / ROW_BYTES) / s.cluster_k)
    finish = _finish_cycles(s) + _moment_cycles(problem, s)
    main += _interfering_cycles(problem, s)
    at_once = target.resident_clusters(s.cluster) * s.residents
    tiles = ceil(cluster_tiles(problem, s) / min(at_once, s.blocks // s.cluster))
    if s.ping_pong:
        cycles = tiles * max(main, (main + finish) / s.consumers) + finish
    else:
        cycles = tiles * (main + finish)
    moved = problem.element_bytes * problem.batch * problem.k * (problem.m + problem.n)
    cycles *= 1 + _FEW_ROWS_SLOWDOWN * max(0, 1 - oriented(problem, s).m / _FEW_ROWS)
    spent, moving = cycles / _CYCLES_PER_US, moved / (_MEMORY_SHARE * target.memory_bytes_per_us)
    start = _start_cycles(s) - _HIDDEN_START_CYCLES * _leaves_half(problem, s, target)
    return start / _CYCLES_PER_US + soft_max(spent, moving, _HIDING) * (1 + _swapped_parts(problem, s) / _PARTS)


def open_ns(problem: WgmmaProduct, schedule: Schedule, target: Target) -> int:
    """Return `gpu_us` in nanoseconds, as an expression where sizes are open: of whole cycles, and what hides adds a share.

    At 3146 products of 16 bits, the kernel for which this is least takes at most 1.009 of the time of the best one by `gpu_us`.
    """
    s = schedule
    stages = -(-problem.k * problem.element_bytes // ROW_BYTES)
    main = -(-stages // s.cluster_k) * round(_step_cycles(problem, s)) + round(_interfering_cycles(problem, s))
    finish = round(_finish_cycles(s) + _moment_cycles(problem, s))
    tiles = -(-cluster_tiles(problem, s) // min(target.resident_clusters(s.cluster) * s.residents, s.blocks // s.cluster))
    cycles = tiles * maximum(main, (main + finish) // s.consumers) + finish if s.ping_pong else tiles * (main + finish)
    cycles += cycles * maximum(0, _FEW_ROWS - oriented(problem, s).m) * round(1000 * _FEW_ROWS_SLOWDOWN / _FEW_ROWS) // 1000
    moved = problem.element_bytes * problem.batch * problem.k * (problem.m + problem.n)
    moved = moved * 1000 // round(_MEMORY_SHARE * target.memory_bytes_per_us)
    spent = cycles * 1000 // _CYCLES_PER_US
    hidden = round(1000 * (_HIDDEN_START_CYCLES + _OPEN_CYCLES) / _CYCLES_PER_US) * _leaves_half(problem, s, target)
    start = round(1000 * (_start_cycles(s) + _OPEN_CYCLES) / _CYCLES_PER_US) - hidden
    took = maximum(spent, moved) + minimum(spent, moved) // 4
    return start + took + took * _swapped_parts(problem, s) // _PARTS


def _step_cycles(problem: WgmmaProduct, schedule: Schedule) -> float:
    """Return how long a block takes for a step of the ring."""
    s = schedule
    hidden = soft_max(_traffic_cycles(s), _RING_CYCLES / s.stages, _HIDING)
    step = max(_STEP_CYCLES, soft_max(_tensor_cycles(problem, s), hidden, _HIDING), _loading_cycles(problem, s))
    if min(s.tile_m, s.tile_n) < 2 * WARPGROUP_ROWS and (s.ping_pong or s.cluster > s.cluster_k):
        step *= _NARROW_SLOWDOWN
    if problem.terms == 3:
        step += 2 * (s.tile_m + s.tile_n) * ROW_BYTES / _SHARED_BYTES_PER_CYCLE  # rests are written, and read once more
        step *= 1 + _UNSHARED_SLOWDOWN * (s.cluster == 1) + _FEW_STAGES_SLOWDOWN * (s.stages < 4)
    return step


def _start_cycles(schedule: Schedule) -> float:
    """Return how long a kernel takes before its first step and after its last one."""
    s = schedule
    more = _PART_CYCLES * (s.cluster_k - 1) + _THIRD_CONSUMER_CYCLES * (s.consumers > 2)
    return _START_CYCLES + more + (_SHARING_CYCLES if s.cluster > s.cluster_k else 0)


def _swapped_parts(problem: WgmmaProduct, schedule: Schedule) -> int:
    """Return how much longer a transposed product takes than one whose tile is as wide as there are rows, in parts of its time."""
    s = schedule
    if not s.swaps:
        return 0
    spare = maximum(0, s.tile_n - -(-problem.m // 8) * 8) * round(_SPARE_COLUMNS_SLOWDOWN * _PARTS) // s.tile_n
    return spare + round(_SWAPPED_TILES_SLOWDOWN * _PARTS) * maximum(0, minimum(1, problem.m - s.tile_n))


def _leaves_half(problem: WgmmaProduct, schedule: Schedule, target: Target) -> int:
    """Return 1 where half of the multiprocessors have no block, so that as large a grid may start there meanwhile, else 0."""
    blocks = cluster_tiles(problem, schedule) * schedule.cluster
    return maximum(0, minimum(1, target.multiprocessors // 2 + 1 - blocks))


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
    held, ahead = reads_together(problem, loaded, s)
    elements = s.tile_m * ROW_BYTES / problem.element_bytes
    issue = elements * (_LOAD_INSTRUCTIONS * loaded.streams * 2 * words + 1) / WARP_THREADS / SCHEDULERS
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
    parts = 2 * s.tile_m * s.tile_n * SUM_BYTES / _PART_BYTES_PER_CYCLE if s.parts > 1 else 0.0
    return _FINISH_CYCLES + results / s.cluster_k / (_FINISHED_PER_CYCLE * sqrt(s.vector_c)) + parts


def _moment_cycles(problem: WgmmaProduct, schedule: Schedule) -> float:
    """Return how much longer a tile is finished for moments that it leaves of its rows, and for those of A's rows that it takes."""
    s = schedule
    left = s.tile_m * s.tile_n / (1 if s.ping_pong else s.consumers) / s.cluster_k / _SUMMARISED_PER_CYCLE + _LEAVING_CYCLES
    taken = 0.0 if s.ping_pong else _taking_cycles(s)
    return (left if problem.part_columns else 0.0) + (taken if problem.moment_parts else 0.0)


def _interfering_cycles(problem: WgmmaProduct, schedule: Schedule) -> float:
    """Return how much longer the products of one consumer take while another takes moments of A's rows, in ping-pong."""
    return _taking_cycles(schedule) if schedule.ping_pong and problem.moment_parts else 0.0


def _taking_cycles(schedule: Schedule) -> float:
    """Return how long the moments of a tile's rows take: the more, the more rows a block has, and a thread."""
    s = schedule
    return _TAKING_CYCLES + _ROWS_CYCLES * (s.tile_m / WARPGROUP_ROWS - 1) + _BANDS_CYCLES * (s.rows / WARPGROUP_ROWS - 1)


def emulated_ns(problem: WgmmaProduct, schedule: Schedule) -> float:
    """Return the estimated time in nanoseconds of one core: rendezvous, arithmetic and epilogues add up."""
    s = schedule
    steps = ceil(problem.k * problem.element_bytes / ROW_BYTES)
    tile = steps * (s.consumers * _STAGE_NS + s.tile_m * s.tile_n * 4 * _SUM_STEP_NS) + s.tile_m * s.tile_n * _EPILOGUE_NS / s.vector_c
    tiles = ceil(cluster_tiles(problem, s) / s.blocks) * min(s.blocks, 2)
    return tiles * tile + s.blocks * s.threads * THREAD_START_NS

"""The choice of a schedule of a product by wgmma: by estimate, among those that are worth one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from nautilus_cli.ir.dims import upper
from nautilus_cli.kernels.boxes import ROW_BYTES
from nautilus_cli.kernels.ranking import fastest
from nautilus_cli.kernels.wgmma_product.completion import completed
from nautilus_cli.kernels.wgmma_product.estimate import emulated_ns, gpu_us
from nautilus_cli.kernels.wgmma_product.legality import violations
from nautilus_cli.kernels.wgmma_product.problem import WgmmaProduct
from nautilus_cli.kernels.wgmma_product.resources import WARPGROUP_ROWS, cluster_tiles
from nautilus_cli.kernels.wgmma_product.schedule import Schedule
from nautilus_cli.kernels.wgmma_product.search_space import DEPTH_CLUSTERS, TILES_N, may_swap
from nautilus_cli.targets.base import Target

_WARPGROUPS = (  # rows of a tile, consumers, and how else than by rows these share the work
    (64, 1, ""),
    (128, 1, ""),
    (128, 2, ""),
    (256, 2, ""),
    (192, 3, ""),
    (64, 2, "ping_pong"),
    (128, 2, "ping_pong"),
)


@lru_cache(maxsize=4096)
def choose(problem: WgmmaProduct, target: Target) -> Schedule:
    """Return the legal schedule of least estimated time."""
    small = completed(problem, Schedule(tile_m=64, tile_n=64, consumers=1), target)  # legal wherever one is
    return fastest(
        candidates(problem, target),
        lambda s: emulated_ns(problem, s) if target.is_emulated else gpu_us(problem, s, target),
        lambda s: violations(problem, s, target),
        otherwise=small,
    )


def candidates(problem: WgmmaProduct, target: Target) -> Iterator[Schedule]:
    """Yield schedules that are worth an estimate, legal or not.

    Transposed products are none of them on the emulator, though they run there: what they save in sums they cost in rendezvous. Of 16 rows
    they took as long, of 32 rows 1.3 to 2.2 times as long (16×1024×1024 and 32×768×768 on one CPU).
    """
    for schedule in (*_tilings(problem), *(() if target.is_emulated else _swapped(problem))):
        for shared in _shared(problem, schedule, target):
            found = replace(shared, early_trigger=_leaves_room(problem, shared, target))
            yield completed(problem, found, target)
            has_boxes = bool(problem.result_bytes) and not found.swaps and found.parts == 1
            if has_boxes and schedule.tile_n // problem.sums * problem.result_bytes % ROW_BYTES == 0:
                yield completed(problem, replace(found, stores_boxes=True), target)


def _swapped(problem: WgmmaProduct) -> Iterator[Schedule]:
    """Yield the transposed product of few rows: an instruction has 64 rows of weights, and as many columns as there are rows of A."""
    if may_swap(problem):
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
        yield from (replace(schedule, cluster_k=blocks) for blocks in DEPTH_CLUSTERS if tiles <= target.resident_clusters(blocks))


def _tilings(problem: WgmmaProduct) -> Iterator[Schedule]:
    """Yield ways to share out the results among warpgroups."""
    wide = ROW_BYTES // problem.element_bytes
    for tile_m, consumers, switch in _WARPGROUPS:
        if tile_m >= 2 * max(64, problem.m) or (problem.terms == 3 and switch):
            continue
        for tile_n in TILES_N:
            if tile_n < 2 * max(16, problem.n) and (problem.b_k_last or tile_n % wide == 0):
                schedule = Schedule(tile_m=tile_m, tile_n=tile_n, consumers=consumers, group_m=8)
                yield replace(schedule, **{switch: True}) if switch else schedule

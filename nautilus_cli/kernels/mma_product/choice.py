"""The choice of a schedule of a product by mma.sync: by estimate, among those that are worth one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product as combinations
from math import prod

from nautilus_cli.kernels.mma_product.completion import with_vectors
from nautilus_cli.kernels.mma_product.estimate import emulated_ns, gpu_us
from nautilus_cli.kernels.mma_product.legality import violations
from nautilus_cli.kernels.mma_product.problem import MmaProduct
from nautilus_cli.kernels.mma_product.resources import MMA_M, STEP_BYTES, grid
from nautilus_cli.kernels.mma_product.schedule import Schedule
from nautilus_cli.kernels.ranking import fastest
from nautilus_cli.targets.base import Target

_MOST_ALONE = 1024
"""Results of a block of one warp. With 64×64, scores of 8×12 heads of 128 tokens took 17 µs where two warps took 7.5 (H200)."""


@lru_cache(maxsize=4096)
def choose(problem: MmaProduct, target: Target) -> Schedule:
    """Return the legal schedule of least estimated time."""
    step = STEP_BYTES // problem.element_bytes
    columns = max(MMA_M, problem.part_columns)
    small = Schedule(tile_m=16, tile_n=columns, tile_k=step, warp_m=16, warp_n=columns, stages=2)  # legal everywhere
    return fastest(
        candidates(problem, target),
        lambda s: emulated_ns(problem, s) if target.is_emulated else gpu_us(problem, s, target),
        lambda s: violations(problem, s, target),
        otherwise=with_vectors(problem, small),
    )


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

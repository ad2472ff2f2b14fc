"""What follows of a schedule once its tile, its warpgroups and its cluster are chosen: stages, vectors and blocks."""

from __future__ import annotations

from dataclasses import replace

from nautilus_cli.ir.dims import upper
from nautilus_cli.kernels.boxes import ALIGNMENT_BYTES, ROW_BYTES
from nautilus_cli.kernels.limits import SYSTEM_SMEM_BYTES
from nautilus_cli.kernels.wgmma_product.legality import MOST_STAGES
from nautilus_cli.kernels.wgmma_product.problem import WgmmaProduct
from nautilus_cli.kernels.wgmma_product.resources import beside_stages_bytes, cluster_tiles, lane_columns, stage_bytes
from nautilus_cli.kernels.wgmma_product.schedule import Schedule
from nautilus_cli.targets.base import Target


def completed(problem: WgmmaProduct, schedule: Schedule, target: Target) -> Schedule:
    """Return the schedule with as many stages as fit, the widest vectors, and as many blocks as stay."""
    s = schedule
    vectors = [v for v in ((1,) if s.swaps else (8, 4, 2, 1)) if not (problem.n % v or s.tile_n % lane_columns(v))]
    # What each part of the depth finishes takes a vector's columns: rather shorter ones than parts that finish nothing.
    whole = [v for v in vectors if not s.tile_n % (lane_columns(v) * s.parts)]
    vector = max(2 if problem.is_paired else 1, (whole or vectors or [1])[0])
    vector_a = 1
    if problem.loaded_a is not None:
        run = problem.k if problem.a_k_last else problem.m
        vector_a = ALIGNMENT_BYTES // max(problem.element_bytes, problem.loaded_a.bytes)
        while run % vector_a:
            vector_a //= 2
    all_blocks = cluster_tiles(problem, s) * s.cluster
    resident = target.resident_clusters(s.cluster) * s.residents * s.cluster
    s = replace(s, vector_a=vector_a, vector_c=vector)
    return replace(
        s,
        stages=_stages(problem, s, target),
        blocks=all_blocks if s.parts > 1 else max(s.cluster, min(resident, all_blocks)),
    )


def _stages(problem: WgmmaProduct, schedule: Schedule, target: Target) -> int:
    """Return how many stages fit, at most those that a block's share of the depth has: the barriers of each take time."""
    s = schedule
    available = min(target.smem_bytes_block, target.smem_bytes_multiprocessor // s.residents - SYSTEM_SMEM_BYTES)
    available -= beside_stages_bytes(problem, s)
    wide = ROW_BYTES // problem.element_bytes
    return max(2, min(MOST_STAGES, available // stage_bytes(s), -(-problem.k // (wide * s.cluster_k))))


def for_all_sizes(problem: WgmmaProduct, schedule: Schedule, target: Target) -> Schedule:
    """Return the schedule with as many stages as the greatest depth takes, and as many blocks: of fewer tiles, fewer are launched."""
    s = replace(schedule, stages=_stages(replace(problem, k=upper(problem.k)), schedule, target))
    resident = max(s.cluster, target.resident_clusters(s.cluster) * s.residents * s.cluster)
    return replace(s, blocks=upper(cluster_tiles(problem, s) * s.cluster) if s.parts > 1 else resident)

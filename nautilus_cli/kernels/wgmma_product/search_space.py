"""The search space of schedules of a product by wgmma."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product as combinations
from typing import Any

from nautilus_cli.ir.dims import upper
from nautilus_cli.kernels.wgmma_product.completion import completed
from nautilus_cli.kernels.wgmma_product.problem import WgmmaProduct
from nautilus_cli.kernels.wgmma_product.resources import WARPGROUP_ROWS
from nautilus_cli.kernels.wgmma_product.schedule import SWITCHES, Schedule
from nautilus_cli.targets.base import Target

DEPTH_CLUSTERS = (2, 3, 4, 6)
TILES_N = (16, 32, 64, 96, 128, 160, 192, 208, 224, 256)


def space(problem: WgmmaProduct) -> Mapping[str, tuple[int, ...]]:
    """Return the choices of each searched field; their product is the search space."""
    swaps = may_swap(problem)
    return {
        "swaps": (0, 1) if swaps else (0,),
        "tile_m": tuple(t for t in (64, 128, 192, 256) if t < 2 * max(64, problem.n if swaps else problem.m)),
        "tile_n": tuple(t for t in TILES_N if t < 2 * max(16, problem.n)),
        "consumers": (1, 2, 3),
        "ping_pong": (0, 1),
        "slices_depth": (0, 1),
        "early_trigger": (0, 1) if swaps else (0,),
        "residents": (1, 2) if swaps else (1,),
        "cluster_m": (1, 2),
        "cluster_n": (1, 2),
        "cluster_k": (1, *DEPTH_CLUSTERS),
        "stores_boxes": (0, 1) if problem.result_bytes else (0,),
        "group_m": (1, 8),
    }


def may_swap(problem: WgmmaProduct) -> bool:
    """Whether fewer rows than an instruction has make a product worth transposing."""
    is_plain = not (problem.is_paired or problem.part_columns or problem.moment_parts or problem.loaded_a is not None)
    return is_plain and upper(problem.m) <= WARPGROUP_ROWS


def schedules(problem: WgmmaProduct, target: Target) -> Iterator[Schedule]:
    """Yield the whole search space, illegal points included."""
    choices = space(problem)
    for values in combinations(*choices.values()):
        point: dict[str, Any] = dict(zip(choices, values, strict=True))
        point |= {name: bool(point[name]) for name in SWITCHES}
        yield completed(problem, Schedule(**point), target)

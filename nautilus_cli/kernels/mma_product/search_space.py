"""The search space of schedules of a product by mma.sync."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product as combinations

from nautilus_cli.kernels.mma_product.completion import with_vectors
from nautilus_cli.kernels.mma_product.problem import MmaProduct
from nautilus_cli.kernels.mma_product.resources import STEP_BYTES
from nautilus_cli.kernels.mma_product.schedule import Schedule
from nautilus_cli.targets.base import Target


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

"""The search space of schedules of a product."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product as combinations

from nautilus_cli.kernels.product.completion import fragment_of, with_vectors
from nautilus_cli.kernels.product.problem import Product
from nautilus_cli.kernels.product.schedule import Schedule
from nautilus_cli.targets.base import Target


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
        yield with_vectors(problem, Schedule(**dict(zip(choices, values, strict=True)), fragment=fragment_of(problem, target)))

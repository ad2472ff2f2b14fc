"""The search space of schedules of a product with few rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as combinations

from nautilus_cli.kernels.skinny_product.completion import with_all_rows
from nautilus_cli.kernels.skinny_product.problem import SkinnyProduct
from nautilus_cli.kernels.skinny_product.resources import MMA_LANES
from nautilus_cli.kernels.skinny_product.schedule import Schedule
from nautilus_cli.targets.base import Target


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
        yield with_all_rows(problem, tensor_cores, thread_n, lanes_k, loads, slices_k, groups, cluster_k)

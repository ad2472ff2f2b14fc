"""What the schedules of all products without bulk copies are held to alike: gemm, gemm_mma and gemm_skinny."""

from __future__ import annotations

from collections.abc import Iterator

from nautilus_cli.kernels.checks import grid_violations
from nautilus_cli.kernels.limits import MOST_CLUSTER, TRANSACTION_BYTES
from nautilus_cli.kernels.product.problem import Product
from nautilus_cli.kernels.product.tiles import Tiling, items
from nautilus_cli.targets.base import Target

_MOST_ITEMS = 64


def cluster_violations(cluster_k: int, target: Target) -> Iterator[str]:
    """Yield why so many blocks cannot share out the depth."""
    if cluster_k > MOST_CLUSTER or (cluster_k > 1 and not target.has_clusters):
        yield f"{cluster_k} blocks in a cluster; at most {MOST_CLUSTER if target.has_clusters else 1} are possible"


def tile_violations(shape: Product, schedule: Tiling, *, element_bytes: int) -> Iterator[str]:
    """Yield why threads cannot bring the operands' tiles in such vectors.

    Args:
        shape: the product.
        schedule: its tiles and vectors.
        element_bytes: of what a transaction carries, which a vector may not exceed; 0 where vectors are as many transactions as they need.
    """
    s = schedule
    for name, outer, vector, k_last, run in (
        ("a", s.tile_m, s.vector_a, shape.a_k_last, shape.a_run),
        ("b", s.tile_n, s.vector_b, shape.b_k_last, shape.b_run),
    ):
        along = s.tile_k if k_last else outer
        if vector > along:
            yield f"vector_{name} of {vector} is longer than the tile, {along}"
        elif found := list(vector_violations(name, vector, run, element_bytes=element_bytes)):
            yield from found
        elif items(outer, s, vector) > _MOST_ITEMS:
            yield f"a thread brings {items(outer, s, vector)} vectors of {name} a tile; at most {_MOST_ITEMS} are possible"


def vector_violations(name: str, vector: int, run: int, *, element_bytes: int) -> Iterator[str]:
    """Yield why an operand cannot be brought in such vectors, along an extent of RUN elements."""
    if run % vector:
        yield f"vector_{name} of {vector} does not divide {run}, the extent that it runs along"
    elif vector * element_bytes > TRANSACTION_BYTES:
        yield f"vector_{name} of {vector} is more than a transaction of {TRANSACTION_BYTES} bytes"


def result_violations(n: int, vector_c: int, *, is_paired: bool) -> Iterator[str]:
    """Yield why so many neighbouring sums cannot become results together."""
    if n % vector_c:
        yield f"vector_c of {vector_c} does not divide n = {n}"
    elif is_paired and vector_c < 2:
        yield "the epilogue takes one sum at a time; two make a result"


def launch_violations(grid: tuple[int, int, int], reach: int) -> Iterator[str]:
    """Yield why so many blocks, which reach to some coordinate, cannot be launched."""
    yield from grid_violations(grid)
    if reach > 2**31:
        yield "an extent is beyond 31 bits"

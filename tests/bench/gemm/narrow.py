"""Sets of products with few rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nautilus_cli.kernels import skinny_product
from nautilus_cli.targets.registry import target
from tests.bench.gemm.choice import untuned
from tests.bench.gemm.jobs import Product, request

Wanted = Iterator[tuple[Product, str, str, Any]]

VECTORS = ((1, 2048, 2048), (1, 8192, 2048), (1, 2048, 8192), (1, 128256, 2048))
ROWS = ((16, 4096, 4096), (64, 4096, 4096))


def skinny(product: Product, **fields: Any) -> tuple[Product, str, str, Any]:
    """Return a job of gemm_skinny; vectors, tile_k and stages are completed. `groups` of warps stand for tile_n."""
    problem = request(product, "gemm_skinny", target("sm_90a")).problem.product
    groups = fields.pop("groups")
    tile_k = fields.pop("tile_k", 0)
    label = " ".join(f"{_SHORT.get(name, name)}{int(value)}" for name, value in {"groups": groups, **fields}.items())
    schedule = skinny_product.Schedule(
        tile_k=1, tile_n=groups * fields["thread_n"] * (32 // fields["lanes_k"]), **{"tile_m": product.m, **fields}
    )
    return product, label + (f" k{tile_k}" if tile_k else ""), "gemm_skinny", skinny_product.completed(problem, schedule, tile_k)


_SHORT = {
    "groups": "g",
    "thread_n": "n",
    "lanes_k": "l",
    "loads": "x",
    "slices_k": "s",
    "cluster_k": "c",
    "tensor_cores": "mma",
    "early_trigger": "early",
    "tile_m": "m",
    "blocks": "b",
}


def skinny_vectors() -> Wanted:
    """One row: warps a block, loads on their way, and how the depth is shared out."""
    fields: tuple[tuple[int, ...], ...] = (
        (2, 4, 2, 4, 2),
        (2, 4, 2, 4, 3),
        (2, 4, 1, 4, 4),
        (4, 4, 2, 2, 2),
        (4, 2, 4, 2, 3),
        (4, 2, 4, 2, 4),
        (8, 2, 4, 1, 3),
        (8, 2, 2, 1, 4),
        (1, 4, 2, 8, 3),
        (2, 2, 2, 4, 4),
        (1, 2, 4, 4, 6),
        (4, 2, 2, 2, 6),
        (4, 4, 4, 1, 4),
        (2, 4, 4, 2, 3),
    )
    for m, n, k in VECTORS:
        p = Product(m=m, n=n, k=k)
        for groups, thread_n, loads, slices_k, blocks in fields:
            yield skinny(p, groups=groups, thread_n=thread_n, lanes_k=32, loads=loads, slices_k=slices_k, blocks=blocks)
        yield skinny(p, groups=2, thread_n=4, lanes_k=32, loads=2, slices_k=4, early_trigger=False, blocks=3)
        yield skinny(p, groups=4, thread_n=2, lanes_k=32, loads=4, slices_k=2, early_trigger=False, blocks=4)
        yield p, "mma chosen", "gemm_mma", None


def skinny_rows() -> Wanted:
    """Several rows, on tensor cores: columns a block, slices of the depth within it and over a cluster."""
    for m, n, k in ROWS:
        p = Product(m=m, n=n, k=k)
        for groups, thread_n, loads, slices_k, cluster_k in (
            (1, 4, 4, 8, 1),
            (1, 4, 2, 8, 1),
            (2, 2, 4, 8, 1),
            (2, 2, 4, 4, 1),
            (2, 4, 4, 4, 2),
            (2, 4, 4, 4, 1),
            (4, 4, 4, 2, 4),
            (4, 4, 2, 2, 4),
            (4, 2, 4, 2, 2),
            (4, 4, 4, 4, 4),
            (8, 2, 4, 1, 4),
            (8, 4, 4, 1, 8),
        ):
            yield skinny(
                p, groups=groups, thread_n=thread_n, lanes_k=4, loads=loads, slices_k=slices_k, cluster_k=cluster_k, tensor_cores=True
            )
        yield skinny(p, groups=4, thread_n=2, lanes_k=4, loads=4, slices_k=2, cluster_k=2, tensor_cores=True, early_trigger=False)
        yield skinny(p, groups=4, thread_n=2, lanes_k=4, loads=4, slices_k=2, cluster_k=2, tensor_cores=True, blocks=2)
        yield skinny(p, groups=4, thread_n=2, lanes_k=4, loads=2, slices_k=2, cluster_k=2, tensor_cores=True, blocks=2)
        yield skinny(p, groups=4, thread_n=4, lanes_k=4, loads=2, slices_k=2, cluster_k=4, tensor_cores=True, tile_k=1024)
        yield skinny(p, groups=4, thread_n=2, lanes_k=4, loads=4, slices_k=2, cluster_k=4, tensor_cores=True, tile_k=1024)
        yield skinny(p, groups=8, thread_n=2, lanes_k=4, loads=4, slices_k=2, cluster_k=4, tensor_cores=True, tile_k=1024)
        yield skinny(p, groups=8, thread_n=2, lanes_k=4, loads=4, slices_k=1, cluster_k=4, tensor_cores=True, tile_k=1024)
        if m == 16:
            yield skinny(p, groups=2, thread_n=2, lanes_k=4, loads=4, slices_k=4, tensor_cores=True, tile_k=4096)
            yield skinny(p, groups=1, thread_n=2, lanes_k=4, loads=4, slices_k=8, tensor_cores=True, tile_k=4096)
            yield skinny(p, groups=1, thread_n=2, lanes_k=4, loads=8, slices_k=4, tensor_cores=True, tile_k=4096)
            yield skinny(p, groups=1, thread_n=4, lanes_k=4, loads=2, slices_k=8, tensor_cores=True, tile_k=4096)
        yield p, "mma chosen", "gemm_mma", None


def skinny_fit() -> Wanted:
    """A spread of schedules on a spread of products, to which the ranking is fitted."""
    for m, n, k, dtype in (
        (1, 768, 768, "fp16"),
        (1, 4096, 14336, "fp16"),
        (1, 1024, 1024, "fp16"),
        (1, 2048, 8192, "fp16"),
        (2, 8192, 2048, "fp16"),
        (4, 2048, 2048, "fp16"),
        (8, 8192, 2048, "fp16"),
        (1, 2048, 2048, "fp32"),
        (4, 4096, 4096, "fp32"),
        (16, 3072, 768, "fp32"),
        (1, 1000, 2048, "fp32"),
    ):
        p = Product(m=m, n=n, k=k, dtype=dtype)
        rows = 1 << (m - 1).bit_length()
        for groups, thread_n, loads, slices_k in (
            (2, 2, 2, 4),
            (4, 2, 2, 2),
            (2, 4, 2, 4),
            (1, 2, 2, 8),
            (8, 2, 2, 1),
            (8, 4, 1, 1),
            (4, 1, 4, 2),
            (2, 2, 1, 2),
        ):
            yield skinny(p, groups=groups, thread_n=thread_n, lanes_k=32, loads=loads, slices_k=slices_k, tile_m=rows)
        if m > 1 and dtype == "fp16":
            for groups, thread_n, loads, slices_k in (
                (1, 2, 4, 4),
                (2, 2, 4, 4),
                (1, 2, 2, 8),
                (1, 4, 2, 8),
                (2, 4, 2, 4),
                (4, 2, 4, 1),
                (2, 2, 4, 8),
            ):
                yield skinny(p, groups=groups, thread_n=thread_n, lanes_k=4, loads=loads, slices_k=slices_k, tensor_cores=True, tile_m=16)
        yield p, "other", "gemm" if dtype == "fp32" else "gemm_mma", None
    for m, n, k in ((1, 1024, 1024), (1, 2048, 8192), (4, 2048, 2048)):
        p = Product(m=m, n=n, k=k, b_k_last=False)
        for groups, loads, slices_k, lanes in ((2, 4, 4, 4), (4, 4, 2, 8), (1, 8, 8, 4), (1, 4, 8, 8), (1, 8, 8, 16), (8, 4, 1, 16)):
            yield skinny(p, groups=groups, thread_n=8, lanes_k=lanes, loads=loads, slices_k=slices_k, tile_m=1 << (m - 1).bit_length())
        yield p, "other", "gemm_mma", None


BEST: dict[tuple[int, int, int], tuple[dict[str, Any], ...]] = {
    (1, 2048, 2048): ({"groups": 2, "thread_n": 2, "loads": 2, "slices_k": 4, "blocks": 4},),
    (1, 8192, 2048): ({"groups": 8, "thread_n": 2, "loads": 2, "slices_k": 1, "blocks": 4},),
    (1, 2048, 8192): (
        {"groups": 2, "thread_n": 4, "loads": 2, "slices_k": 4},
        {"groups": 2, "thread_n": 2, "loads": 2, "slices_k": 4, "blocks": 4},
    ),
    (1, 128256, 2048): ({"groups": 8, "thread_n": 2, "loads": 4, "slices_k": 1, "blocks": 2},),
}
"""Schedules that were the best of a problem, or near it, in a run on an H200."""


def skinny_untuned() -> Wanted:
    """What compilations choose, what the family would, and the best of what was tried."""
    for m, n, k in (*VECTORS, (1, 768, 3072), (2, 8192, 2048), (4, 2048, 2048), (8, 4096, 4096), *ROWS, (32, 4096, 4096)):
        p = Product(m=m, n=n, k=k)
        yield untuned(p)
        yield p, "gemm_skinny", "gemm_skinny", None
        for fields in BEST.get((m, n, k), ()):
            yield skinny(p, lanes_k=32, **fields)
        if (m, n, k) == (16, 4096, 4096):
            yield skinny(p, groups=2, thread_n=2, lanes_k=4, loads=4, slices_k=8, tensor_cores=True)
        yield p, "gemm_mma", "gemm_mma", None
    for m, n, k in ((1, 2048, 2048), (1, 8192, 2048), (4, 4096, 4096), (16, 3072, 768)):
        p = Product(m=m, n=n, k=k, dtype="fp32")
        yield untuned(p)
        yield p, "gemm_skinny", "gemm_skinny", None
        yield p, "gemm", "gemm", None
    yield untuned(Product(m=1, n=8192, k=2048, dtype="bf16"))


def races() -> Wanted:
    """Small products whose kernels a race checker gets through: every way in which warps of gemm_skinny share memory."""
    p = Product(m=3, n=64, k=1024)
    yield skinny(p, groups=2, thread_n=4, lanes_k=32, loads=1, slices_k=2, tile_m=4)
    yield skinny(p, groups=1, thread_n=2, lanes_k=8, loads=2, slices_k=4, tile_m=4)
    yield skinny(p, groups=1, thread_n=2, lanes_k=32, loads=1, slices_k=2, tile_m=4, tile_k=512)
    yield skinny(p, groups=2, thread_n=2, lanes_k=32, loads=1, slices_k=2, tile_m=4, cluster_k=2)
    yield skinny(Product(m=3, n=64, k=256, b_k_last=False), groups=1, thread_n=8, lanes_k=16, loads=4, slices_k=2, tile_m=4)
    yield skinny(Product(m=3, n=64, k=512, dtype="fp32"), groups=2, thread_n=4, lanes_k=32, loads=1, slices_k=2, tile_m=4)
    p = Product(m=20, n=64, k=1024)
    yield skinny(p, groups=2, thread_n=2, lanes_k=4, loads=2, slices_k=2, tile_m=32, tensor_cores=True)
    yield skinny(p, groups=1, thread_n=4, lanes_k=4, loads=2, slices_k=4, tile_m=32, tensor_cores=True, tile_k=256)
    yield skinny(p, groups=2, thread_n=2, lanes_k=4, loads=2, slices_k=2, tile_m=32, tensor_cores=True, cluster_k=4)

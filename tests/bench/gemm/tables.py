"""Sets that docs/performance.md quotes: what compilations choose, beside what was found to be the best."""

from __future__ import annotations

from typing import Any

from tests.bench.gemm import narrow, simt, symbolic
from tests.bench.gemm.choice import untuned
from tests.bench.gemm.jobs import Product
from tests.bench.gemm.schedules import LARGE, NARROW, SMALL, Wanted, best, labelled, wgmma

TABLE: tuple[tuple[Product, int], ...] = (
    *((Product(m=m, n=n, k=k, dtype=dtype), 10 if m > 2048 else 14) for dtype in ("fp16", "bf16") for m, n, k in LARGE),
    *((Product(m=m, n=n, k=k), 12) for m, n, k in SMALL),
    *((Product(m=m, n=4096, k=4096), 16) for m in (16, 64)),
    *((Product(m=4096, n=n, k=k, dtype="tf32"), 8) for n, k in ((4096, 4096), (3072, 768))),
)
"""Products beside cuBLAS, each with how many schedules a spread of them has."""

FOUND: dict[tuple[int, int, int], tuple[dict[str, Any], ...]] = {
    (1024, 1024, 1024): (
        {"tile_m": 128, "tile_n": 64, "consumers": 1, "group_m": 8},
        {"tile_m": 128, "tile_n": 64, "consumers": 2, "group_m": 8},
        {"tile_m": 128, "tile_n": 64, "consumers": 2, "group_m": 8, "early_trigger": True},
    ),
    (2048, 2048, 2048): (
        {"tile_m": 128, "tile_n": 128, "consumers": 2, "ping_pong": True, "group_m": 8, "stores_boxes": True},
        {"tile_m": 128, "tile_n": 128, "consumers": 2, "ping_pong": True, "cluster_m": 2, "group_m": 8, "stores_boxes": True},
    ),
    (4096, 4096, 4096): (
        {"tile_m": 128, "tile_n": 128, "consumers": 2, "ping_pong": True, "cluster_m": 2, "group_m": 8, "stores_boxes": True},
    ),
    (8192, 8192, 8192): (
        {"tile_m": 128, "tile_n": 192, "consumers": 2, "cluster_m": 2, "group_m": 8, "stores_boxes": True},
        {"tile_m": 128, "tile_n": 128, "consumers": 2, "ping_pong": True, "cluster_m": 2, "group_m": 8, "stores_boxes": True},
    ),
    (4096, 3072, 768): (
        {"tile_m": 128, "tile_n": 128, "consumers": 2, "ping_pong": True, "group_m": 8, "stores_boxes": True},
        {"tile_m": 128, "tile_n": 128, "consumers": 2, "ping_pong": True, "cluster_m": 2, "group_m": 8, "stores_boxes": True},
    ),
    (4096, 768, 3072): (
        {"tile_m": 128, "tile_n": 192, "consumers": 2, "cluster_m": 2, "group_m": 8, "stores_boxes": True},
        {"tile_m": 256, "tile_n": 96, "consumers": 2, "group_m": 8, "early_trigger": True},
    ),
    (128, 768, 768): (
        {"tile_m": 64, "tile_n": 64, "consumers": 1, "cluster_k": 2, "group_m": 8},
        {"tile_m": 64, "tile_n": 32, "consumers": 1, "cluster_k": 2, "group_m": 8},
    ),
    (128, 3072, 768): (
        {"tile_m": 64, "tile_n": 64, "consumers": 1, "group_m": 8, "early_trigger": True},
        {"tile_m": 64, "tile_n": 64, "consumers": 1, "cluster_m": 2, "group_m": 8, "early_trigger": True},
        {"tile_m": 64, "tile_n": 96, "consumers": 1, "group_m": 8, "early_trigger": True},
    ),
    (128, 768, 3072): (
        {"tile_m": 64, "tile_n": 128, "consumers": 1, "cluster_k": 4, "group_m": 8},
        {"tile_m": 64, "tile_n": 64, "consumers": 1, "cluster_k": 4, "group_m": 8},
        {"tile_m": 128, "tile_n": 32, "consumers": 2, "cluster_k": 4, "group_m": 8},
    ),
    (512, 3072, 768): (
        {"tile_m": 128, "tile_n": 96, "consumers": 2, "group_m": 8},
        {"tile_m": 128, "tile_n": 96, "consumers": 1, "group_m": 8},
        {"tile_m": 128, "tile_n": 96, "consumers": 2, "cluster_m": 2, "group_m": 8, "early_trigger": True},
    ),
    (197, 768, 768): (
        {"tile_m": 64, "tile_n": 64, "consumers": 1, "group_m": 8},
        {"tile_m": 64, "tile_n": 64, "consumers": 1, "cluster_k": 2, "group_m": 8},
        {"tile_m": 64, "tile_n": 64, "consumers": 1, "group_m": 8, "early_trigger": True},
    ),
    (49, 512, 2048): (
        {"tile_m": 64, "tile_n": 32, "consumers": 1, "cluster_k": 4, "group_m": 8},
        {"tile_m": 64, "tile_n": 64, "consumers": 1, "cluster_k": 4, "group_m": 8},
    ),
    (196, 1024, 256): (
        {"tile_m": 64, "tile_n": 32, "consumers": 1, "group_m": 8},
        {"tile_m": 64, "tile_n": 64, "consumers": 1, "group_m": 8},
        {"tile_m": 64, "tile_n": 64, "consumers": 1, "group_m": 8, "early_trigger": True},
    ),
    (3136, 512, 128): (
        {"tile_m": 128, "tile_n": 128, "consumers": 2, "group_m": 8},
        {"tile_m": 128, "tile_n": 128, "consumers": 2, "group_m": 8, "early_trigger": True},
    ),
    (64, 4096, 4096): (
        {"tile_m": 64, "tile_n": 64, "consumers": 1, "cluster_k": 2, "group_m": 8},
        {"tile_m": 64, "tile_n": 128, "consumers": 1, "cluster_k": 2, "group_m": 8},
        {"tile_m": 64, "tile_n": 128, "consumers": 1, "cluster_k": 3, "group_m": 8},
        {"tile_m": 64, "tile_n": 128, "consumers": 1, "cluster_k": 4, "group_m": 8},
    ),
    (16, 4096, 4096): (
        {"tile_m": 64, "tile_n": 128, "consumers": 1, "cluster_k": 2, "group_m": 8},
        {"tile_m": 64, "tile_n": 16, "consumers": 1, "swaps": True, "cluster_k": 2, "group_m": 8},
    ),
}
"""Schedules that were the best of a problem, or near it, in a run on an H200."""


def final() -> Wanted:
    """The table of products: what is chosen without a trial, the ranking's next choices, and what other runs have found."""
    for p, _ in (*TABLE, *((Product(m=m, n=n, k=k, dtype="3xtf32"), 0) for m, n, k in ((4096, 4096, 4096), (1024, 1024, 1024)))):
        yield untuned(p)
        yield from best("gemm_wgmma", p, 4)
        for fields in FOUND.get((p.m, p.n, p.k), ()) if p.dtype != "3xtf32" else ():
            yield wgmma(p, labelled(fields), **fields)
    for m, n, k in LARGE:
        for epilogue in ("bias", "gelu"):
            p = Product(m=m, n=n, k=k, epilogue=epilogue)
            for fields in FOUND[m, n, k]:
                yield wgmma(p, f"{epilogue} {labelled(fields)}", **fields)


def fp32_modes() -> Wanted:
    """The rows of `final` in fp32 on tensor cores."""
    return (found for found in final() if "tf32" in found[0].dtype)


def few_rows() -> Wanted:
    """Few rows by the transposed product: tiles of weights, how the depth is shared out, and when the next kernel may come."""
    for m in (8, 16, 32, 48, 64):
        p = Product(m=m, n=4096, k=4096)
        for tile_m, consumers in ((64, 1), (128, 1), (128, 2)):
            for cluster_k in (1, 2, 3):
                fields = {"tile_m": tile_m, "tile_n": m, "consumers": consumers, "swaps": True, "cluster_k": cluster_k, "group_m": 8}
                yield wgmma(p, labelled(fields), **fields)
        fields = {"tile_m": 64, "tile_n": m, "consumers": 1, "swaps": True, "cluster_k": 2, "group_m": 8}
        yield wgmma(p, f"{labelled(fields)} early", **fields, early_trigger=True)
        yield wgmma(p, f"{labelled(fields)} slices", **{**fields, "consumers": 2, "slices_depth": True})
        yield p, "skinny", "gemm_skinny", None


def open_sizes() -> Wanted:
    """The table of products with known and with open dimensions: by one schedule, and as compilations choose; the nearest to 5 % first."""
    wanted: list[tuple[Product, str, str, Any]] = []
    for m, n, k in (*SMALL, LARGE[0]):
        wanted.append(wgmma(Product(m=m, n=n, k=k), "same", **FOUND[m, n, k][0]))
    for m, n, k in NARROW[:4]:
        (best, *_) = narrow.BEST[m, n, k]
        wanted.append(_named(narrow.skinny(Product(m=m, n=n, k=k), lanes_k=32, **best)))
    few = {"groups": 2, "thread_n": 2, "lanes_k": 4, "loads": 4, "slices_k": 8, "tensor_cores": True}
    wanted.append(_named(narrow.skinny(Product(m=16, n=4096, k=4096), **few)))
    wanted.append(wgmma(Product(m=64, n=4096, k=4096), "same", **FOUND[64, 4096, 4096][0]))
    wanted += [_named(found) for found in simt.best()]
    for m, n, k in (*LARGE[1:3], *LARGE[4:], LARGE[3]):
        wanted.append(wgmma(Product(m=m, n=n, k=k), "same", **FOUND[m, n, k][0]))
    for n, k in ((3072, 768), (4096, 4096)):
        wanted.append(wgmma(Product(m=4096, n=n, k=k, dtype="tf32"), "same", **FOUND[4096, n, k][0]))
    three = {"tile_m": 128, "tile_n": 128, "consumers": 2, "cluster_m": 2, "group_m": 8}
    wanted.append(wgmma(Product(m=4096, n=4096, k=4096, dtype="3xtf32"), "same", **three))
    for m, n, k in LARGE[:3]:
        wanted.append(wgmma(Product(m=m, n=n, k=k, dtype="bf16"), "same", **FOUND[m, n, k][0]))
    yield from symbolic.compared(wanted)


def _named(found: tuple[Product, str, str, Any]) -> tuple[Product, str, str, Any]:
    """Return a job with a name that does not say its schedule."""
    return found[0], "same", *found[2:]

"""Sets of many schedules for a product: where the best ones lie, and what rankings are fitted to."""

from __future__ import annotations

from dataclasses import asdict
from math import log2
from typing import Any

from nautilus_cli.kernels.registry import family
from nautilus_cli.targets.registry import target
from tests.bench.gemm.jobs import Product, request
from tests.bench.gemm.schedules import LARGE, MODULES, Wanted, labelled, mma, telling, wgmma
from tests.bench.gemm.tables import TABLE


def fit() -> Wanted:
    """A spread of schedules on a spread of products, to which the rankings are fitted."""
    wgmma_fields: tuple[dict[str, Any], ...] = (
        {"tile_m": 64, "tile_n": 32, "consumers": 1},
        {"tile_m": 64, "tile_n": 64, "consumers": 1},
        {"tile_m": 64, "tile_n": 96, "consumers": 1},
        {"tile_m": 64, "tile_n": 128, "consumers": 1},
        {"tile_m": 64, "tile_n": 128, "consumers": 1, "cluster_m": 2},
        {"tile_m": 128, "tile_n": 64, "consumers": 2},
        {"tile_m": 128, "tile_n": 128, "consumers": 2},
        {"tile_m": 128, "tile_n": 128, "consumers": 2, "cluster_m": 2},
        {"tile_m": 128, "tile_n": 128, "consumers": 2, "ping_pong": True},
        {"tile_m": 128, "tile_n": 192, "consumers": 2, "cluster_m": 2},
        {"tile_m": 128, "tile_n": 256, "consumers": 2, "cluster_m": 2},
        {"tile_m": 64, "tile_n": 256, "consumers": 2, "ping_pong": True},
    )
    mma_fields: tuple[dict[str, Any], ...] = (
        {"tile_m": 32, "tile_n": 32, "tile_k": 64, "warp_m": 16, "warp_n": 32, "stages": 6},
        {"tile_m": 64, "tile_n": 64, "tile_k": 64, "warp_m": 32, "warp_n": 32, "stages": 4},
        {"tile_m": 64, "tile_n": 128, "tile_k": 32, "warp_m": 32, "warp_n": 64, "stages": 4},
        {"tile_m": 128, "tile_n": 128, "tile_k": 32, "warp_m": 64, "warp_n": 64, "stages": 4},
        {"tile_m": 64, "tile_n": 64, "tile_k": 64, "warp_m": 32, "warp_n": 32, "stages": 4, "cluster_k": 2},
        {"tile_m": 64, "tile_n": 64, "tile_k": 64, "warp_m": 32, "warp_n": 32, "stages": 4, "cluster_k": 4},
        {"tile_m": 64, "tile_n": 64, "tile_k": 64, "warp_m": 32, "warp_n": 32, "stages": 4, "cluster_k": 8},
        {"tile_m": 32, "tile_n": 64, "tile_k": 64, "warp_m": 32, "warp_n": 32, "slices_k": 2, "stages": 4, "cluster_k": 2},
    )
    for m, n, k in ((128, 3072, 768), (512, 3072, 768), (1024, 1024, 1024), (2048, 2048, 2048), (4096, 768, 3072)):
        p = Product(m=m, n=n, k=k)
        for fields in wgmma_fields:
            yield wgmma(p, labelled(fields), group_m=8, **fields)
        for fields in mma_fields:
            if fields.get("cluster_k", 1) == 1 or m < 1024:
                yield mma(p, labelled(fields), **fields)
    for m, n, k in ((128, 768, 768), (128, 768, 3072), (197, 768, 768), (49, 512, 2048), (196, 1024, 256), (3136, 512, 128)):
        p = Product(m=m, n=n, k=k)
        for fields in (wgmma_fields[0], wgmma_fields[1], wgmma_fields[3], wgmma_fields[6]):
            yield wgmma(p, labelled(fields), group_m=8, **fields)
        for fields in mma_fields:
            yield mma(p, labelled(fields), **fields)
    narrow: tuple[dict[str, Any], ...] = (
        {"tile_m": 16, "tile_n": 64, "tile_k": 64, "warp_m": 16, "warp_n": 16, "stages": 6},
        {"tile_m": 16, "tile_n": 64, "tile_k": 128, "warp_m": 16, "warp_n": 16, "stages": 4, "cluster_k": 2},
        {"tile_m": 16, "tile_n": 64, "tile_k": 128, "warp_m": 16, "warp_n": 32, "slices_k": 2, "stages": 4, "cluster_k": 2},
        {"tile_m": 16, "tile_n": 32, "tile_k": 128, "warp_m": 16, "warp_n": 32, "slices_k": 4, "stages": 4, "cluster_k": 1},
        {"tile_m": 16, "tile_n": 64, "tile_k": 128, "warp_m": 16, "warp_n": 64, "slices_k": 4, "stages": 4, "cluster_k": 4},
        {"tile_m": 16, "tile_n": 128, "tile_k": 128, "warp_m": 16, "warp_n": 32, "stages": 4, "cluster_k": 4},
    )
    for m, n, k in ((1, 2048, 2048), (1, 8192, 2048), (1, 2048, 8192), (1, 128256, 2048), (16, 4096, 4096), (64, 4096, 4096)):
        p = Product(m=m, n=n, k=k)
        for fields in narrow:
            yield mma(p, labelled(fields), **{**fields, "tile_m": max(16, min(64, m))})
        if m == 64:
            for fields in (wgmma_fields[0], wgmma_fields[1], mma_fields[4]):
                yield (wgmma if "consumers" in fields else mma)(p, labelled(fields), **fields)


def large() -> Wanted:
    """What large products gain from clusters, turns and the order of tiles."""
    for m, n, k in ((4096, 4096, 4096), (8192, 8192, 8192), (4096, 3072, 768)):
        p = Product(m=m, n=n, k=k)
        yield wgmma(p, "128x256 c2x1 g4", tile_m=128, tile_n=256, consumers=2, cluster_m=2, group_m=4)
        yield wgmma(p, "128x256 c2x1 g8", tile_m=128, tile_n=256, consumers=2, cluster_m=2, group_m=8)
        yield wgmma(p, "128x256 c1x2 g8", tile_m=128, tile_n=256, consumers=2, cluster_n=2, group_m=8)
        yield wgmma(p, "128x256 g8", tile_m=128, tile_n=256, consumers=2, group_m=8)
        yield wgmma(p, "256x128 c1x2", tile_m=256, tile_n=128, consumers=2, cluster_n=2, group_m=8)
        yield wgmma(p, "256x128 c2x1", tile_m=256, tile_n=128, consumers=2, cluster_m=2, group_m=4)
        yield wgmma(p, "128x192 c2x1", tile_m=128, tile_n=192, consumers=2, cluster_m=2, group_m=8)
        yield wgmma(p, "256x160 c1x2", tile_m=256, tile_n=160, consumers=2, cluster_n=2, group_m=8)
        yield wgmma(p, "pp 128x128 c2x1", tile_m=128, tile_n=128, consumers=2, ping_pong=True, cluster_m=2, group_m=8)
        yield wgmma(p, "pp 128x160 c2x1", tile_m=128, tile_n=160, consumers=2, ping_pong=True, cluster_m=2, group_m=8)
        yield wgmma(p, "pp 64x256 c2x1", tile_m=64, tile_n=256, consumers=2, ping_pong=True, cluster_m=2, group_m=8)


def direct_and_boxed(*each: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    return tuple({**fields, "stores_boxes": boxed} for fields in each for boxed in (False, True))


EPILOGUE_FIELDS = direct_and_boxed(
    {"tile_m": 128, "tile_n": 256, "consumers": 2, "cluster_m": 2, "group_m": 8},
    {"tile_m": 128, "tile_n": 192, "consumers": 2, "cluster_m": 2, "group_m": 8},
    {"tile_m": 128, "tile_n": 128, "consumers": 2, "ping_pong": True, "cluster_m": 2, "group_m": 8},
    {"tile_m": 64, "tile_n": 256, "consumers": 2, "ping_pong": True, "cluster_m": 2, "group_m": 8},
)
_SMALL_EPILOGUE_FIELDS = direct_and_boxed(
    {"tile_m": 128, "tile_n": 64, "consumers": 2, "group_m": 8},
    {"tile_m": 128, "tile_n": 64, "consumers": 1, "group_m": 8},
    {"tile_m": 64, "tile_n": 128, "consumers": 1, "group_m": 8},
)


def epilogues() -> Wanted:
    """What bias and GELU cost: the same schedules with each."""
    for m, n, k in LARGE:
        for epilogue in ("plain", "bias", "gelu"):
            p = Product(m=m, n=n, k=k, epilogue=epilogue)
            for fields in EPILOGUE_FIELDS if m > 1024 else _SMALL_EPILOGUE_FIELDS:
                yield wgmma(p, f"{epilogue} {labelled(fields)}", **fields)


def table() -> Wanted:
    """The table of products that must keep up with cuBLAS: of each a spread of the schedules that the rankings find near the best."""
    for p, count in TABLE:
        yield from _spread(p, count)
        if p.m >= 2048:
            for fields in (*EPILOGUE_FIELDS, {**EPILOGUE_FIELDS[4], "cluster_m": 1}, {**EPILOGUE_FIELDS[5], "cluster_m": 1}):
                yield wgmma(p, labelled(fields), **fields)
        elif p.m < 1024:
            yield from _shared_out(p)


def _shared_out(product: Product) -> Wanted:
    """Yield products of few tiles with their depth shared out, or an operand."""
    for tile_n in (32, 64, 96, 128):
        tiles = -(-product.m // 64) * -(-product.n // tile_n)
        for share in ({}, {"cluster_n": 2}, *({"cluster_k": blocks} for blocks in (2, 3, 4, 6))):
            blocks = tiles * share.get("cluster_k", 1)
            if 40 <= blocks <= 264 and -(-product.k // 64) >= 2 * share.get("cluster_k", 1):
                fields = {"tile_m": 64, "tile_n": tile_n, "consumers": 1, "group_m": 8, **share}
                yield wgmma(product, labelled(fields), **fields)


def _spread(product: Product, count: int) -> Wanted:
    """Yield what lowering would choose, and schedules of both families whose estimates are at most twice that, those that differ most."""
    sm_90a = target("sm_90a")
    found: list[tuple[float, str, Any]] = []
    for kind, module in MODULES.items():
        if kind == "gemm_mma" and product.m > 512:
            continue
        problem = request(product, kind, sm_90a).problem
        for schedule in module.candidates(problem.product, sm_90a):
            if not family(kind).violations(problem, schedule, sm_90a):
                found.append((module.gpu_us(problem.product, schedule, sm_90a), kind, schedule))
    found.sort(key=lambda item: item[0])
    near = [item for item in found if item[0] <= 2 * found[0][0]]
    kept = near[:1]
    while len(kept) < min(count, len(near)):
        kept.append(max(near, key=lambda item: min(_difference(item, other) for other in kept) / (item[0] / found[0][0]) ** 4))
    for number, (estimate, kind, schedule) in enumerate(kept):
        yield product, f"{number} {kind} {estimate:.1f} {labelled(telling(schedule))}", kind, schedule


def _difference(one: tuple[float, str, Any], other: tuple[float, str, Any]) -> float:
    """Return how much two schedules differ: the sum over their fields of the logarithms' differences, some for another family."""
    if one[1] != other[1]:
        return 4.0
    mine, theirs = asdict(one[2]), asdict(other[2])
    return sum(abs(log2(1 + mine[name]) - log2(1 + theirs[name])) for name in mine)


_SPLIT_FIELDS = (
    *direct_and_boxed({"tile_m": 128, "tile_n": 128, "consumers": 2, "cluster_m": 2, "group_m": 8}),
    {"tile_m": 128, "tile_n": 128, "consumers": 2, "group_m": 8},
    {"tile_m": 128, "tile_n": 96, "consumers": 2, "cluster_m": 2, "group_m": 8},
    {"tile_m": 128, "tile_n": 64, "consumers": 2, "group_m": 8},
    {"tile_m": 64, "tile_n": 128, "consumers": 1, "group_m": 8},
    {"tile_m": 64, "tile_n": 96, "consumers": 1, "group_m": 8},
)


def single() -> Wanted:
    """Products of fp32: in fp32, as tf32, and as sums of two of tf32."""
    for m, n, k in ((4096, 4096, 4096), (1024, 1024, 1024), (512, 3072, 768)):
        yield Product(m=m, n=n, k=k, dtype="fp32"), "ffma", "gemm", None
        p = Product(m=m, n=n, k=k, dtype="3xtf32")
        for fields in _SPLIT_FIELDS:
            yield wgmma(p, labelled(fields), **fields)
        yield p, "3xtf32 chosen", "gemm_mma", None
        yield mma(p, "3xtf32 128x128x16", tile_m=128, tile_n=128, tile_k=16, warp_m=64, warp_n=32, stages=4, group_m=8)
        yield mma(p, "3xtf32 64x64x32", tile_m=64, tile_n=64, tile_k=32, warp_m=32, warp_n=32, stages=4, group_m=8)
        p = Product(m=m, n=n, k=k, dtype="tf32")
        yield p, "tf32 chosen", "gemm_wgmma", None


def variants() -> Wanted:
    """Types, layouts and epilogues at 4096³."""
    fields = {"tile_m": 128, "tile_n": 256, "consumers": 2, "cluster_m": 2, "group_m": 8}
    for p in (
        Product(m=4096, n=4096, k=4096, dtype="bf16"),
        Product(m=4096, n=4096, k=4096, b_k_last=False),
        Product(m=4096, n=4096, k=4096, a_k_last=False),
        Product(m=4096, n=4096, k=4096, epilogue="gelu"),
        Product(m=4096, n=4096, k=4096, dtype="tf32"),
        Product(m=4096, n=4090, k=4104),
    ):
        yield wgmma(p, "128x256 c2x1", **fields)
        yield wgmma(p, "pp 128x128 c2x1", tile_m=128, tile_n=128, consumers=2, ping_pong=True, cluster_m=2, group_m=8)
        if p.dtype == "tf32":
            yield p, "mma chosen", "gemm_mma", None

"""Sets of products and kernels to measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from math import log2
from typing import Any

from nautilus_cli.kernels import mma_product, wgmma_product
from nautilus_cli.kernels.registry import family
from nautilus_cli.targets.registry import target
from tests.bench.gemm import narrow, simt, symbolic
from tests.bench.gemm.choice import untuned
from tests.bench.gemm.jobs import Product, request
from tests.bench.gemm.ladder import ladder

NARROW = ((1, 2048, 2048), (1, 8192, 2048), (1, 2048, 8192), (1, 128256, 2048), (16, 4096, 4096), (64, 4096, 4096))
_MODULES: dict[str, Any] = {"gemm_mma": mma_product, "gemm_wgmma": wgmma_product}

Wanted = Iterator[tuple[Product, str, str, Any]]

LARGE = ((1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (4096, 3072, 768), (4096, 768, 3072))
SMALL = (
    (128, 768, 768),
    (128, 3072, 768),
    (128, 768, 3072),
    (512, 3072, 768),
    (197, 768, 768),
    (49, 512, 2048),
    (196, 1024, 256),
    (3136, 512, 128),
)


def wgmma(product: Product, label: str, **fields: Any) -> tuple[Product, str, str, Any]:
    """Return a job of gemm_wgmma; stages, vectors and blocks are completed, unless given."""
    sm_90a = target("sm_90a")
    problem = request(product, "gemm_wgmma", sm_90a).problem.product
    schedule = wgmma_product.completed(problem, wgmma_product.Schedule(**fields), sm_90a)
    given = {name: value for name, value in fields.items() if name in ("stages", "vector_c")}
    return product, label, "gemm_wgmma", replace(schedule, **given)


def mma(product: Product, label: str, **fields: Any) -> tuple[Product, str, str, Any]:
    """Return a job of gemm_mma with the longest vectors."""
    problem = request(product, "gemm_mma", target("sm_90a")).problem.product
    return product, label, "gemm_mma", mma_product.with_vectors(problem, mma_product.Schedule(**fields))


def first() -> Wanted:
    """What the first run on a device shows: whether kernels are right, and which parts of wgmma's schedule pay."""
    for m, n, k in ((4096, 4096, 4096), (8192, 8192, 8192)):
        p = Product(m=m, n=n, k=k)
        for group_m in (4, 8, 16):
            yield wgmma(p, f"128x256 c2x1 g{group_m}", tile_m=128, tile_n=256, consumers=2, cluster_m=2, group_m=group_m)
        yield wgmma(p, "128x256 g8", tile_m=128, tile_n=256, consumers=2, group_m=8)
        yield wgmma(p, "128x256 c1x2", tile_m=128, tile_n=256, consumers=2, cluster_n=2, group_m=8)
        yield wgmma(p, "256x128 c2x1", tile_m=256, tile_n=128, consumers=2, cluster_m=2, group_m=4)
        yield wgmma(p, "256x128 c1x2", tile_m=256, tile_n=128, consumers=2, cluster_n=2, group_m=8)
        yield wgmma(p, "pp 128x128 c2x1", tile_m=128, tile_n=128, consumers=2, ping_pong=True, cluster_m=2, group_m=8)
        yield wgmma(p, "pp 64x256 c2x1", tile_m=64, tile_n=256, consumers=2, ping_pong=True, cluster_m=2, group_m=8)
        yield p, "mma chosen", "gemm_mma", None
        yield mma(p, "mma 128x128x32 64x64 s4", tile_m=128, tile_n=128, tile_k=32, warp_m=64, warp_n=64, stages=4, group_m=8)
        yield mma(p, "mma 128x256x32 64x64 s4", tile_m=128, tile_n=256, tile_k=32, warp_m=64, warp_n=64, stages=4, group_m=8)


def small() -> Wanted:
    """Small and middling products: what each family chooses by itself, and neighbours."""
    for m, n, k in (*SMALL, (1024, 1024, 1024), (2048, 2048, 2048), (4096, 3072, 768), (4096, 768, 3072)):
        p = Product(m=m, n=n, k=k)
        yield from _best("gemm_wgmma", p, 5)
        yield from _best("gemm_mma", p, 5)


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
            yield wgmma(p, _label(fields), group_m=8, **fields)
        for fields in mma_fields:
            if fields.get("cluster_k", 1) == 1 or m < 1024:
                yield mma(p, _label(fields), **fields)
    for m, n, k in ((128, 768, 768), (128, 768, 3072), (197, 768, 768), (49, 512, 2048), (196, 1024, 256), (3136, 512, 128)):
        p = Product(m=m, n=n, k=k)
        for fields in (wgmma_fields[0], wgmma_fields[1], wgmma_fields[3], wgmma_fields[6]):
            yield wgmma(p, _label(fields), group_m=8, **fields)
        for fields in mma_fields:
            yield mma(p, _label(fields), **fields)
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
            yield mma(p, _label(fields), **{**fields, "tile_m": max(16, min(64, m))})
        if m == 64:
            for fields in (wgmma_fields[0], wgmma_fields[1], mma_fields[4]):
                yield (wgmma if "consumers" in fields else mma)(p, _label(fields), **fields)


def _label(fields: dict[str, Any]) -> str:
    """Return a schedule's fields as a short text."""
    return " ".join(f"{name.replace('tile_', '').replace('consumers', 'c')}{int(value)}" for name, value in fields.items())


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


def chosen() -> Wanted:
    """What lowering chooses without any measurement, and the second to fourth choices."""
    sm_90a = target("sm_90a")
    for m, n, k in (*LARGE, *SMALL, *NARROW):
        p = Product(m=m, n=n, k=k)
        found: list[tuple[float, str, Any]] = []
        for kind, module in _MODULES.items():
            problem = request(p, kind, sm_90a).problem
            for schedule in module.candidates(problem.product, sm_90a):
                if not family(kind).violations(problem, schedule, sm_90a):
                    found.append((module.gpu_us(problem.product, schedule, sm_90a), kind, schedule))
        found.sort(key=lambda item: item[0])
        for number, (estimate, kind, schedule) in enumerate(_distinct(found, 4)):
            yield p, f"#{number + 1} {kind} {estimate:.1f}", kind, schedule


def _distinct(found: list[tuple[float, str, Any]], count: int) -> list[tuple[float, str, Any]]:
    """Return the first COUNT whose tiles differ."""
    kept: dict[tuple[Any, ...], tuple[float, str, Any]] = {}
    for item in found:
        s = item[2]
        kept.setdefault((item[1], s.tile_m, s.tile_n, s.threads, getattr(s, "ping_pong", 0), getattr(s, "cluster_k", 1)), item)
        if len(kept) == count:
            break
    return list(kept.values())


def epilogues() -> Wanted:
    """What bias and GELU cost: the same schedules with each."""
    for m, n, k in LARGE:
        for epilogue in ("plain", "bias", "gelu"):
            p = Product(m=m, n=n, k=k, epilogue=epilogue)
            for fields in _EPILOGUE_FIELDS if m > 1024 else _SMALL_EPILOGUE_FIELDS:
                yield wgmma(p, f"{epilogue} {_label(fields)}", **fields)


def _direct_and_boxed(*each: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    return tuple({**fields, "stores_boxes": boxed} for fields in each for boxed in (False, True))


_EPILOGUE_FIELDS = _direct_and_boxed(
    {"tile_m": 128, "tile_n": 256, "consumers": 2, "cluster_m": 2, "group_m": 8},
    {"tile_m": 128, "tile_n": 192, "consumers": 2, "cluster_m": 2, "group_m": 8},
    {"tile_m": 128, "tile_n": 128, "consumers": 2, "ping_pong": True, "cluster_m": 2, "group_m": 8},
    {"tile_m": 64, "tile_n": 256, "consumers": 2, "ping_pong": True, "cluster_m": 2, "group_m": 8},
)
_SMALL_EPILOGUE_FIELDS = _direct_and_boxed(
    {"tile_m": 128, "tile_n": 64, "consumers": 2, "group_m": 8},
    {"tile_m": 128, "tile_n": 64, "consumers": 1, "group_m": 8},
    {"tile_m": 64, "tile_n": 128, "consumers": 1, "group_m": 8},
)


def few_rows() -> Wanted:
    """Few rows by the transposed product: tiles of weights, how the depth is shared out, and when the next kernel may come."""
    for m in (8, 16, 32, 48, 64):
        p = Product(m=m, n=4096, k=4096)
        for tile_m, consumers in ((64, 1), (128, 1), (128, 2)):
            for cluster_k in (1, 2, 3):
                fields = {"tile_m": tile_m, "tile_n": m, "consumers": consumers, "swaps": True, "cluster_k": cluster_k, "group_m": 8}
                yield wgmma(p, _label(fields), **fields)
        fields = {"tile_m": 64, "tile_n": m, "consumers": 1, "swaps": True, "cluster_k": 2, "group_m": 8}
        yield wgmma(p, f"{_label(fields)} early", **fields, early_trigger=True)
        yield wgmma(p, f"{_label(fields)} slices", **{**fields, "consumers": 2, "slices_depth": True})
        yield p, "skinny", "gemm_skinny", None


def table() -> Wanted:
    """The table of products that must keep up with cuBLAS: of each a spread of the schedules that the rankings find near the best."""
    for p, count in _TABLE:
        yield from _spread(p, count)
        if p.m >= 2048:
            for fields in (*_EPILOGUE_FIELDS, {**_EPILOGUE_FIELDS[4], "cluster_m": 1}, {**_EPILOGUE_FIELDS[5], "cluster_m": 1}):
                yield wgmma(p, _label(fields), **fields)
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
                yield wgmma(product, _label(fields), **fields)


def final() -> Wanted:
    """The table of products: what is chosen without a trial, the ranking's next choices, and what other runs have found."""
    for p, _ in (*_TABLE, *((Product(m=m, n=n, k=k, dtype="3xtf32"), 0) for m, n, k in ((4096, 4096, 4096), (1024, 1024, 1024)))):
        yield untuned(p)
        yield from _best("gemm_wgmma", p, 4)
        for fields in _FOUND.get((p.m, p.n, p.k), ()) if p.dtype != "3xtf32" else ():
            yield wgmma(p, _label(fields), **fields)
    for m, n, k in LARGE:
        for epilogue in ("bias", "gelu"):
            p = Product(m=m, n=n, k=k, epilogue=epilogue)
            for fields in _FOUND[m, n, k]:
                yield wgmma(p, f"{epilogue} {_label(fields)}", **fields)


def fp32_modes() -> Wanted:
    """The rows of `final` in fp32 on tensor cores."""
    return (found for found in final() if "tf32" in found[0].dtype)


def open_sizes() -> Wanted:
    """The table of products with known and with open dimensions: by one schedule, and as compilations choose; the nearest to 5 % first."""
    wanted: list[tuple[Product, str, str, Any]] = []
    for m, n, k in (*SMALL, LARGE[0]):
        wanted.append(wgmma(Product(m=m, n=n, k=k), "same", **_FOUND[m, n, k][0]))
    for m, n, k in NARROW[:4]:
        (best, *_) = narrow.BEST[m, n, k]
        wanted.append(_named(narrow.skinny(Product(m=m, n=n, k=k), lanes_k=32, **best)))
    few = {"groups": 2, "thread_n": 2, "lanes_k": 4, "loads": 4, "slices_k": 8, "tensor_cores": True}
    wanted.append(_named(narrow.skinny(Product(m=16, n=4096, k=4096), **few)))
    wanted.append(wgmma(Product(m=64, n=4096, k=4096), "same", **_FOUND[64, 4096, 4096][0]))
    wanted += [_named(found) for found in simt.best()]
    for m, n, k in (*LARGE[1:3], *LARGE[4:], LARGE[3]):
        wanted.append(wgmma(Product(m=m, n=n, k=k), "same", **_FOUND[m, n, k][0]))
    for n, k in ((3072, 768), (4096, 4096)):
        wanted.append(wgmma(Product(m=4096, n=n, k=k, dtype="tf32"), "same", **_FOUND[4096, n, k][0]))
    three = {"tile_m": 128, "tile_n": 128, "consumers": 2, "cluster_m": 2, "group_m": 8}
    wanted.append(wgmma(Product(m=4096, n=4096, k=4096, dtype="3xtf32"), "same", **three))
    for m, n, k in LARGE[:3]:
        wanted.append(wgmma(Product(m=m, n=n, k=k, dtype="bf16"), "same", **_FOUND[m, n, k][0]))
    yield from symbolic.compared(wanted)


def _named(found: tuple[Product, str, str, Any]) -> tuple[Product, str, str, Any]:
    """Return a job with a name that does not say its schedule."""
    return found[0], "same", *found[2:]


_FOUND: dict[tuple[int, int, int], tuple[dict[str, Any], ...]] = {
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
    (4096, 768, 3072): ({"tile_m": 128, "tile_n": 192, "consumers": 2, "cluster_m": 2, "group_m": 8, "stores_boxes": True},),
    (128, 768, 768): ({"tile_m": 64, "tile_n": 64, "consumers": 1, "cluster_k": 2, "group_m": 8},),
    (128, 3072, 768): ({"tile_m": 64, "tile_n": 64, "consumers": 1, "group_m": 8, "early_trigger": True},),
    (128, 768, 3072): ({"tile_m": 64, "tile_n": 128, "consumers": 1, "cluster_k": 4, "group_m": 8},),
    (512, 3072, 768): (
        {"tile_m": 128, "tile_n": 96, "consumers": 2, "group_m": 8},
        {"tile_m": 128, "tile_n": 96, "consumers": 1, "group_m": 8},
    ),
    (197, 768, 768): (
        {"tile_m": 64, "tile_n": 64, "consumers": 1, "group_m": 8},
        {"tile_m": 64, "tile_n": 64, "consumers": 1, "cluster_k": 2, "group_m": 8},
    ),
    (49, 512, 2048): ({"tile_m": 64, "tile_n": 32, "consumers": 1, "cluster_k": 4, "group_m": 8},),
    (196, 1024, 256): (
        {"tile_m": 64, "tile_n": 32, "consumers": 1, "group_m": 8},
        {"tile_m": 64, "tile_n": 64, "consumers": 1, "group_m": 8},
    ),
    (3136, 512, 128): ({"tile_m": 128, "tile_n": 128, "consumers": 2, "group_m": 8},),
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


_TABLE: tuple[tuple[Product, int], ...] = (
    *((Product(m=m, n=n, k=k, dtype=dtype), 10 if m > 2048 else 14) for dtype in ("fp16", "bf16") for m, n, k in LARGE),
    *((Product(m=m, n=n, k=k), 12) for m, n, k in SMALL),
    *((Product(m=m, n=4096, k=4096), 16) for m in (16, 64)),
    *((Product(m=4096, n=n, k=k, dtype="tf32"), 8) for n, k in ((4096, 4096), (3072, 768))),
)


def _spread(product: Product, count: int) -> Wanted:
    """Yield what lowering would choose, and schedules of both families whose estimates are at most twice that, those that differ most."""
    sm_90a = target("sm_90a")
    found: list[tuple[float, str, Any]] = []
    for kind, module in _MODULES.items():
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
        yield product, f"{number} {kind} {estimate:.1f} {_label(_plain(schedule))}", kind, schedule


def _plain(schedule: Any) -> dict[str, Any]:
    """Return the fields of a schedule that tell it from others: those that are not one."""
    return {
        name: value
        for name, value in asdict(schedule).items()
        if (value is True or value not in (0, 1)) and not name.startswith(("vector", "blocks"))
    }


def _difference(one: tuple[float, str, Any], other: tuple[float, str, Any]) -> float:
    """Return how much two schedules differ: the sum over their fields of the logarithms' differences, some for another family."""
    if one[1] != other[1]:
        return 4.0
    mine, theirs = asdict(one[2]), asdict(other[2])
    return sum(abs(log2(1 + mine[name]) - log2(1 + theirs[name])) for name in mine)


def single() -> Wanted:
    """Products of fp32: in fp32, as tf32, and as sums of two of tf32."""
    for m, n, k in ((4096, 4096, 4096), (1024, 1024, 1024), (512, 3072, 768)):
        yield Product(m=m, n=n, k=k, dtype="fp32"), "ffma", "gemm", None
        p = Product(m=m, n=n, k=k, dtype="3xtf32")
        for fields in _SPLIT_FIELDS:
            yield wgmma(p, _label(fields), **fields)
        yield p, "3xtf32 chosen", "gemm_mma", None
        yield mma(p, "3xtf32 128x128x16", tile_m=128, tile_n=128, tile_k=16, warp_m=64, warp_n=32, stages=4, group_m=8)
        yield mma(p, "3xtf32 64x64x32", tile_m=64, tile_n=64, tile_k=32, warp_m=32, warp_n=32, stages=4, group_m=8)
        p = Product(m=m, n=n, k=k, dtype="tf32")
        yield p, "tf32 chosen", "gemm_wgmma", None


_SPLIT_FIELDS = (
    *_direct_and_boxed({"tile_m": 128, "tile_n": 128, "consumers": 2, "cluster_m": 2, "group_m": 8}),
    {"tile_m": 128, "tile_n": 128, "consumers": 2, "group_m": 8},
    {"tile_m": 128, "tile_n": 96, "consumers": 2, "cluster_m": 2, "group_m": 8},
    {"tile_m": 128, "tile_n": 64, "consumers": 2, "group_m": 8},
    {"tile_m": 64, "tile_n": 128, "consumers": 1, "group_m": 8},
    {"tile_m": 64, "tile_n": 96, "consumers": 1, "group_m": 8},
)


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


def _best(kind: str, product: Product, count: int) -> Wanted:
    """Yield the family's first choices by its own ranking, the best first."""
    sm_90a = target("sm_90a")
    found = request(product, kind, sm_90a)
    module: Any = wgmma_product if kind == "gemm_wgmma" else mma_product
    problem = found.problem.product
    ranked = sorted(module.candidates(problem, sm_90a), key=lambda s: module.gpu_us(problem, s, sm_90a))
    legal = (s for s in ranked if not family(kind).violations(found.problem, s, sm_90a))
    seen: set[tuple[int, ...]] = set()
    for schedule in legal:
        key = (schedule.tile_m, schedule.tile_n, getattr(schedule, "consumers", schedule.threads))
        if key in seen:
            continue
        seen.add(key)
        yield product, f"{kind}#{len(seen)} {module.gpu_us(problem, schedule, sm_90a):.1f}", kind, schedule
        if len(seen) == count:
            return


SETS: dict[str, Callable[[], Wanted]] = {
    "chosen": chosen,
    "epilogues": epilogues,
    "few_rows": few_rows,
    "ffma": simt.ffma,
    "ffma_races": simt.races,
    "ffma_untuned": simt.untuned,
    "final": final,
    "first": first,
    "fp32_modes": fp32_modes,
    "fit": fit,
    "ladder": ladder,
    "large": large,
    "open_sizes": open_sizes,
    "single": single,
    "skinny_fit": narrow.skinny_fit,
    "skinny_races": narrow.races,
    "skinny_rows": narrow.skinny_rows,
    "skinny_untuned": narrow.skinny_untuned,
    "skinny_vectors": narrow.skinny_vectors,
    "small": small,
    "table": table,
    "variants": variants,
}

"""Sets of products in strict fp32."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nautilus_cli.kernels import product
from nautilus_cli.targets.registry import target
from tests.bench.gemm.jobs import Product, request

Wanted = Iterator[tuple[Product, str, str, Any]]


def simt(p: Product, tile: tuple[int, int, int], thread: tuple[int, int], **fields: Any) -> tuple[Product, str, str, Any]:
    """Return a job of the gemm family with the longest vectors."""
    schedule = product.Schedule(
        tile_m=tile[0],
        tile_n=tile[1],
        tile_k=tile[2],
        thread_m=thread[0],
        thread_n=thread[1],
        group_m=8 if p.m >= 16 * tile[0] else 1,
        **fields,
    )
    label = f"{tile[0]}x{tile[1]}x{tile[2]} {thread[0]}x{thread[1]} " + " ".join(f"{name[:2]}{value}" for name, value in fields.items())
    return p, label, "gemm", product.with_vectors(request(p, "gemm", target("sm_90a")).problem.product, schedule)


def ffma() -> Wanted:
    """Register tiles, depths and stages."""
    for m, n, k in ((4096, 4096, 4096), (512, 3072, 768), (1024, 1024, 1024)):
        p = Product(m=m, n=n, k=k, dtype="fp32")
        yield p, "chosen", "gemm", None
        large: tuple[tuple[tuple[int, int, int], tuple[int, int], dict[str, int]], ...] = (
            ((128, 128, 8), (16, 8), {"stages": 3, "blocks": 2}),
            ((128, 128, 8), (16, 8), {"stages": 4, "blocks": 2}),
            ((128, 128, 8), (8, 16), {"stages": 3, "blocks": 2}),
            ((128, 128, 16), (16, 8), {"stages": 3, "blocks": 2}),
            ((128, 128, 16), (16, 8), {"stages": 2, "blocks": 2}),
            ((128, 128, 8), (16, 8), {"stages": 2, "blocks": 2}),
            ((128, 256, 8), (16, 8), {"stages": 3}),
            ((256, 128, 8), (16, 8), {"stages": 4}),
            ((64, 128, 8), (16, 8), {"stages": 3, "blocks": 4}),
            ((64, 128, 16), (16, 8), {"stages": 3, "blocks": 4}),
            ((64, 128, 16), (16, 8), {"stages": 2, "blocks": 4}),
            ((128, 128, 16), (8, 8), {"stages": 3}),
            ((128, 128, 32), (8, 8), {"stages": 3}),
            ((64, 128, 16), (8, 8), {"stages": 3, "blocks": 3}),
            ((64, 64, 8), (8, 8), {"stages": 4, "blocks": 6}),
        )
        small: tuple[tuple[tuple[int, int, int], tuple[int, int], dict[str, int]], ...] = (
            ((128, 128, 16), (16, 8), {"stages": 3, "slices_k": 2}),
            ((64, 128, 16), (16, 8), {"stages": 3, "slices_k": 2}),
            ((64, 128, 32), (16, 8), {"stages": 3, "slices_k": 4}),
            ((64, 128, 32), (8, 8), {"stages": 3, "slices_k": 2}),
            ((64, 128, 32), (8, 8), {"stages": 2, "slices_k": 2}),
            ((64, 64, 16), (8, 8), {"stages": 3, "slices_k": 2}),
            ((64, 64, 32), (8, 8), {"stages": 3, "slices_k": 2}),
            ((64, 64, 32), (8, 8), {"stages": 2, "slices_k": 2}),
            ((64, 64, 32), (8, 8), {"stages": 2, "slices_k": 2, "blocks": 3}),
            ((64, 64, 32), (8, 8), {"stages": 2, "slices_k": 4}),
        )
        for tile, thread, fields in large if m == 4096 else (large[0], large[8], large[9], large[10], *large[13:], *small):
            yield simt(p, tile, thread, **fields)


def best() -> Wanted:
    """The best of what was measured, for each product of the table."""
    yield simt(Product(m=1024, n=1024, k=1024, dtype="fp32"), (64, 128, 32), (16, 8), stages=3, slices_k=4)
    yield simt(Product(m=512, n=3072, k=768, dtype="fp32"), (64, 64, 32), (8, 8), stages=2, slices_k=2)
    yield simt(Product(m=4096, n=4096, k=4096, dtype="fp32"), (256, 128, 8), (16, 8), stages=4)


def untuned() -> Wanted:
    """What the family chooses by itself, and neighbours."""
    for m, n, k in ((4096, 4096, 4096), (512, 3072, 768), (1024, 1024, 1024), (2048, 2048, 2048), (4096, 3072, 768)):
        p = Product(m=m, n=n, k=k, dtype="fp32")
        yield p, "chosen", "gemm", None
        if m == 4096 and n == 4096:
            yield simt(p, (256, 128, 8), (16, 8), stages=4)
        if m in (512, 1024):
            yield simt(p, (64, 64, 32), (8, 8), stages=2, slices_k=2)
            yield simt(p, (64, 64, 16), (16, 8), stages=3, slices_k=2)
            yield simt(p, (64, 128, 32), (16, 8), stages=3, slices_k=4)
    yield Product(m=4096, n=4096, k=4096, dtype="fp32", b_k_last=False), "chosen", "gemm", None
    yield Product(m=4000, n=4100, k=4090, dtype="fp32"), "chosen", "gemm", None


def races() -> Wanted:
    """Small products whose kernels a race checker gets through: every way in which tiles come into shared memory."""
    for lasts in ((True, True), (False, False)):
        p = Product(m=128, n=128, k=96, dtype="fp32", a_k_last=lasts[0], b_k_last=lasts[1])
        yield simt(p, (64, 64, 16), (4, 4), stages=1)
        yield simt(p, (64, 64, 16), (4, 4), stages=2)
        yield simt(p, (64, 64, 32), (8, 8), stages=2, slices_k=2)
        yield simt(p, (128, 128, 8), (16, 8), stages=3, blocks=2)
        yield simt(p, (64, 64, 16), (16, 8), stages=3, slices_k=2)
    yield simt(Product(m=100, n=72, k=50, dtype="fp32"), (64, 64, 8), (8, 8), stages=4)

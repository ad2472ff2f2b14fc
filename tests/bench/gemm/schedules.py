"""Products to measure, and jobs of schedules for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from nautilus_cli.kernels import mma_product, wgmma_product
from nautilus_cli.kernels.registry import family
from nautilus_cli.targets.registry import target
from tests.bench.gemm.jobs import Product, request

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
NARROW = ((1, 2048, 2048), (1, 8192, 2048), (1, 2048, 8192), (1, 128256, 2048), (16, 4096, 4096), (64, 4096, 4096))
MODULES: dict[str, Any] = {"gemm_mma": mma_product, "gemm_wgmma": wgmma_product}


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


def labelled(fields: dict[str, Any]) -> str:
    """Return a schedule's fields as a short text."""
    return " ".join(f"{name.replace('tile_', '').replace('consumers', 'c')}{int(value)}" for name, value in fields.items())


def telling(schedule: Any) -> dict[str, Any]:
    """Return the fields of a schedule that tell it from others: those that are not one."""
    return {
        name: value
        for name, value in asdict(schedule).items()
        if (value is True or value not in (0, 1)) and not name.startswith(("vector", "blocks"))
    }


def best(kind: str, product: Product, count: int) -> Wanted:
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

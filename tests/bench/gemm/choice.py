"""What a compilation takes for a product without a trial."""

from __future__ import annotations

from typing import Any

from nautilus_cli.driver.product_benchmark import PRODUCT_TYPES
from nautilus_cli.lowering.single.lone_product import LoneProduct
from nautilus_cli.targets.registry import target
from tests.bench.gemm.jobs import Product

CHOSEN = "chosen"
"""Of the label of a row that is what a compilation takes."""


def untuned(product: Product) -> tuple[Product, str, str, Any]:
    """Return it as a job; extents are known."""
    p = product
    dtype, mode = PRODUCT_TYPES[p.dtype]
    found = LoneProduct(m=p.m, n=p.n, k=p.k, dtype=dtype, fp32_mode=mode).request(
        target("sm_90a"), lambda kind, problem, at: kind.choose(problem, at)
    )
    return p, CHOSEN, found.family, found.schedule

"""Products with open dimensions beside the same ones with known dimensions: by the same schedule, and by what a compilation chooses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from nautilus_cli.driver.product_benchmark import PRODUCT_TYPES
from nautilus_cli.kernels.base import Persistent
from nautilus_cli.kernels.registry import family
from nautilus_cli.lowering.choosing.dispatch import first_serving
from nautilus_cli.lowering.choosing.intervals import Intervals
from nautilus_cli.lowering.choosing.serving import Serving
from nautilus_cli.lowering.single.lone_product import LoneProduct
from nautilus_cli.targets.registry import target
from tests.bench.gemm.choice import CHOSEN, untuned
from tests.bench.gemm.jobs import Product, extents, request

Wanted = Iterator[tuple[Product, str, str, Any]]


def compared(products: Iterable[tuple[Product, str, str, Any]]) -> Wanted:
    """Yield schedules for known dimensions, each followed by itself for open ones, and what compilations choose.

    Args:
        products: with a label, a family and its schedule.
    """
    for p, label, kind, schedule in products:
        yield p, label, kind, schedule
        for names in ("m", "mnk"):
            opened = replace(p, symbolic=names)
            yield opened, f"{label} open {names}", kind, for_all_sizes(opened, kind, schedule)
        yield from chosen(p)


def chosen(p: Product) -> Wanted:
    """Yield what a compilation for known dimensions takes, and what one for open ones launches for this product."""
    yield untuned(p)
    for names in ("m", "mnk"):
        found, is_multiple = serving(p, names)
        opened = replace(p, symbolic=names, has_multiples=is_multiple)
        yield opened, f"{CHOSEN} open {names}", found.chosen.family.name, found.chosen.schedule


def serving(p: Product, names: str) -> tuple[Serving, bool]:
    """Return the kernel that a library of open dimensions NAMES launches for a product, and whether it is for multiples alone."""
    sizes = {"m": p.m, "n": p.n, "k": p.k}
    known = tuple((name, size) for name, size in sizes.items() if name not in names)
    found = first_serving(_servings(names, known, p.dtype), sizes)
    assert found is not None, "the last kernel serves all sizes"
    return found, bool(found.dims)


@cache
def _servings(names: str, known: tuple[tuple[str, int], ...], dtype: str) -> tuple[Serving, ...]:
    sizes = dict(known)
    p = Product(m=sizes.get("m", 0), n=sizes.get("n", 0), k=sizes.get("k", 0), dtype=dtype, symbolic=names, has_multiples=False)
    m, n, k = extents(p)
    element, mode = PRODUCT_TYPES[dtype]
    intervals = Intervals(target("sm_90a"), lambda kind, problem, at: kind.choose(problem, at))
    return intervals.servings(LoneProduct(m=m, n=n, k=k, dtype=element, fp32_mode=mode).lowered())


def for_all_sizes(p: Product, kind: str, schedule: Any) -> Any:
    """Return a schedule with what was chosen for one size undone."""
    chosen_family, sm_90a = family(kind), target("sm_90a")
    if not isinstance(chosen_family, Persistent):
        return schedule
    return chosen_family.for_all_sizes(request(p, kind, sm_90a, schedule).problem, schedule, sm_90a)

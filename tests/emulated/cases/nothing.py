"""Launches that have nothing to do: a dimension of the result that the run gives is 0, and the host launches one block all the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module

from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.undecided import UndecidedError
from nautilus_cli.kernels.registry import families
from nautilus_cli.targets.registry import target
from tests.emulated.harness import OLDEST, Case

DIMENSIONS = {
    "conv": ("batch",),
    "conv_transpose": ("batch",),
    "depthwise": ("batch",),
    "elimination": ("matrices",),
    "gather": ("rows",),
    "gemm": ("batch", "m", "n"),
    "gemm_mma": ("batch", "m", "n"),
    "gemm_skinny": ("batch", "m", "n"),
    "grid_sample": ("images", "samples"),
    "linear_recurrence": ("batch",),
    "pointwise": ("elements",),
    "pool": ("batch",),
    "recurrent": ("batch",),
    "region_pool": ("regions",),
    "resize": ("rows",),
    "row": ("rows",),
    "scan": ("rows",),
    "scatter": ("rows",),
    "suppression": ("images", "classes"),
    "top_k": ("rows",),
}
"""Of each family the dimensions without which it writes nothing, where these may be 0."""

NEVER = ("compaction", "gemm_wgmma")
"""A compaction of nothing writes how many elements it has found; products by wgmma are not legal where a result may be empty."""

MOST = 2
"""Cases of a dimension: of schedules that differ."""


def _emptied(case: Case, dimension: str) -> Case | None:
    """Return CASE with a dimension that is 0 in this run, or None where its schedule does not serve an open one."""
    request = case.request
    size = getattr(request.problem, dimension)
    if not isinstance(size, int) or case.sizes:
        return None
    problem = replace(request.problem, **{dimension: symbol(dimension, 0, 2 * size + 1)})
    try:
        for name in ("emulated", OLDEST.get(request.family, "sm_80")):
            if families()[request.family].violations(problem, request.schedule, target(name)):
                return None
    except UndecidedError:  # vectors of what may be no multiple
        return None
    request = replace(request, problem=problem)
    values, sizes = request.scalar_values, {dimension: 0}
    request = replace(request, scalars=len(values))
    # Buffers keep their sizes, so that whatever is written shows.
    return replace(
        case, name=f"{request.family}-{dimension}-{case.name}", request=request, expected={}, scalars=bind(values, sizes), sizes=sizes
    )


def cases(family: str) -> Iterator[Case]:
    """Yield up to MOST cases of each dimension of a family."""
    for dimension in DIMENSIONS[family]:
        schedules = set()
        for case in import_module(f"tests.emulated.cases.{family}").cases():
            if case.request.schedule in schedules or len(schedules) == MOST:
                continue
            if (empty := _emptied(case, dimension)) is not None:
                schedules.add(case.request.schedule)
                yield empty

"""Cases of the compaction family."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.index_map import from_strides, identity
from nautilus_cli.ir.types import BOOL, F32, I64
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.compaction import FAMILY, Problem
from nautilus_cli.kernels.threads_schedule import Schedule
from nautilus_cli.numerics import EXACT
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases.data import random
from tests.emulated.harness import Case, output

THREADS = (1, 32, 128, 256, 1024)


def case(name: str, x: np.ndarray, threads: int, tile: int | None, *, stride: int = 1) -> Case:
    """Return a case: slots are the vector, of which what is greater than zero is kept, tallies if there are, places and total."""
    elements = x.size // stride
    kept = x[: elements * stride : stride] > 0
    read, count, place, total = Steps(), Steps(), Steps(), Steps()
    keep = read.apply("greater", read.load(0, F32, from_strides((elements,), (stride,))), read.constant(0.0, F32), dtype=BOOL)
    extra: list[np.ndarray] = []
    if tile is None:
        tally = count.constant(0, I64)
    else:
        extra = [np.array([kept[i : i + tile].sum() for i in range(0, elements, tile)], np.int64)]
        tally = count.load(1, I64, identity((len(extra[0]),)))
    slot = 1 + len(extra)
    place.store(place.parameter(0, I64), slot, I64, identity((elements,)))
    total.store(total.parameter(0, I64), slot + 1, I64, identity((1,)))
    found = np.flatnonzero(kept)
    blank = output(elements, np.int64)
    expected = blank.copy()
    expected[: found.size] = found
    return Case(
        name=name,
        request=KernelRequest(
            family="compaction",
            problem=Problem(elements=elements, tile=tile or elements, is_tallied=tile is not None),
            schedule=Schedule(threads=threads),
            functors=(
                ("Keep", read.expression(keep)),
                ("Tally", count.expression(tally)),
                ("Place", place.expression()),
                ("Total", total.expression()),
            ),
            pointers=slot + 2,
        ),
        buffers=(x, *extra, blank, output(1, np.int64)),
        expected={slot: expected, slot + 1: np.array([found.size], np.int64)},
        tolerances={slot: EXACT, slot + 1: EXACT},
    )


def sizes() -> list[Case]:
    """Vectors around a warp, a vote and a step, and tiles around them; nothing, half and all of it kept."""
    cases = []
    for threads in THREADS:
        for elements, tile in ((1, None), (33, None), (1023, None), (1025, None), (3000, 1024), (2048, 1000), (100, 7), (5, 1)):
            for what in ("none", "half", "all"):
                x = random(f"kept-{elements}", (elements,), F32)
                x = x if what == "half" else np.full_like(x, 1.0 if what == "all" else -1.0)
                cases.append(case(f"{what}-of-{elements}-{tile}-{threads}", x, threads, tile))
    return cases


def strided() -> list[Case]:
    """Elements that do not lie next to each other."""
    return [case(f"strided-{threads}", random("strided", (900,), F32), threads, 128, stride=3) for threads in THREADS]


def chosen() -> list[Case]:
    """The schedules that targets choose."""
    cases = []
    for name in ("emulated", "sm_90a"):
        for elements, tile in ((4096, None), (20000, 4096)):
            problem = Problem(elements=elements, tile=tile or elements, is_tallied=tile is not None)
            threads = FAMILY.choose(problem, target(name)).threads
            cases.append(case(f"chosen-{name}-{elements}", random(f"c{elements}", (elements,), F32), threads, tile))
    return cases


def cases() -> list[Case]:
    """Return every case of the family."""
    return [*strided(), *sizes(), *chosen()]

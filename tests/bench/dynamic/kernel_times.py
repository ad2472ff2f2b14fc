"""The time of each kernel of a run, in the order in which they are launched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median
from typing import Any

from nautilus_cli.runtime.library import Library
from nautilus_cli.runtime.session import Session
from tests.bench.dynamic.subject import feeds

RUNS = 7


def profiled(library: Library, shape: Sequence[int]) -> list[dict[str, Any]]:
    """Return a row a launch: the kernel, how long it took, how long after the one before it began, and ended; medians of runs."""
    from torch.profiler import ProfilerActivity, profile

    with Session(library) as session:
        session.feed(feeds(library, shape, seed=1))
        session.time(samples=1, runs=3, warmup=3)
        with profile(activities=[ProfilerActivity.CUDA]) as found:
            session.time(samples=1, runs=RUNS, warmup=0)
    names = re.compile("[a-z_]+_[0-9a-f]{16}")  # of our kernels alone
    kernels = sorted((e for e in found.profiler.kineto_results.events() if names.fullmatch(e.name())), key=lambda e: e.start_ns())
    launches = len(kernels) // RUNS
    rows = []
    for place in range(launches):
        same = [kernels[run * launches + place] for run in range(RUNS)]
        before = [kernels[run * launches + place - 1] for run in range(RUNS)] if place else same
        gaps = [one.start_ns() - last.start_ns() for one, last in zip(same, before, strict=True)]
        ends = [one.start_ns() + one.duration_ns() - last.start_ns() - last.duration_ns() for one, last in zip(same, before, strict=True)]
        rows.append(
            {
                "kernel": same[0].name(),
                "us": round(median(one.duration_ns() for one in same) / 1000, 2),
                "after_us": round(median(gaps) / 1000, 2),
                "own_us": round(median(ends) / 1000, 2),
                "is_same": len({one.name() for one in same}) == 1,
            }
        )
    return rows

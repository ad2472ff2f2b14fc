"""Two libraries at one shape, timed in turns."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np

from nautilus_cli.runtime.library import Library
from nautilus_cli.runtime.session import Session
from tests.bench.dynamic.subject import feeds

ROUNDS = 5
"""Both libraries are timed so many times in turns; the median of the medians counts."""

SAMPLE_US, SAMPLES, MOST_RUNS = 8000, 7, 20
"""Runs of a sample are as many as about fill this time."""


def compared(fixed: Library, library: Library, shape: Sequence[int]) -> dict[str, Any]:
    """Return times of a library of this shape alone and of one of all, and how far their results are apart."""
    row: dict[str, Any] = {}
    with Session(fixed) as one, Session(library) as other:
        inputs = feeds(fixed, shape, seed=1)
        expected, found = one.feed(inputs), other.feed(inputs)
        apart = [float(np.abs(found[name].astype(np.float64) - truth.astype(np.float64)).max()) for name, truth in expected.items()]
        row["worst_difference"] = max(apart)
        row["largest_value"] = max(float(np.abs(truth.astype(np.float64)).max()) for truth in expected.values())
        if not library.is_emulated:
            about = one.time(samples=2, runs=2, warmup=3).minimum_us
            runs = max(2, min(MOST_RUNS, round(SAMPLE_US / about)))
            times = [[session.time(samples=SAMPLES, runs=runs, warmup=3).median_us for session in (one, other)] for _ in range(ROUNDS)]
            row["static_us"], row["dynamic_us"] = (round(median(column), 2) for column in zip(*times, strict=True))
            row["ratio"] = round(row["dynamic_us"] / row["static_us"], 4)
            row["ratios"] = [round(dynamic / static, 4) for static, dynamic in times]
    return row

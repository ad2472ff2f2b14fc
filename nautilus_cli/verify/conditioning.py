"""How far the roundings of single operators move an output, on given inputs, beyond what the derived tolerance assumes.

The derived tolerance takes it that operators pass relative errors on as they are. The logarithm of a small power, the softmax of large
scores or a difference that cancels does more. So where an output fails, the graph is evaluated in float64 with roundings drawn at random,
`RUNS` times, and the greatest error of each run is taken in units of the derived tolerance. Two computations differ by sqrt(2) of what
one errs, and the next run's greatest error stays within the mean plus `confidence` deviations: by that factor the tolerance grows, where
it is above one. The comparison stays one with the reference; what float64 says is not held against the library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import sqrt

import numpy as np

from nautilus_cli.ir.graph import Graph
from nautilus_cli.ir.rewrite import prune
from nautilus_cli.ir.types import dtype_of
from nautilus_cli.numerics import Tolerance
from nautilus_cli.numerics.tolerance import confidence
from nautilus_cli.verify.simulation import Roundings, simulate

RUNS = 8

STAGE = "measuring how roundings move the outputs"


Progress = Callable[[str, int, int], None]


def amplification(
    graph: Graph, inputs: Mapping[str, np.ndarray], tolerances: Mapping[str, Tolerance], progress: Progress, *, fp32_mode: str
) -> dict[str, float]:
    """Return by which factor each output's derived tolerance is too tight on these inputs, at least 1.

    Args:
        graph: as the frontend gives it; of its outputs those in TOLERANCES are looked at.
        inputs: an array for each input.
        tolerances: derived, by output.
        progress: told which run it is.
        fp32_mode: how the library multiplies f32, by which the tolerances are derived.
    """
    graph = prune(replace(graph, outputs=tuple((name, value) for name, value in graph.outputs if name in tolerances)))
    progress(STAGE, 0, RUNS + 1)
    exact = simulate(graph, inputs)
    greatest: dict[str, list[float]] = {name: [] for name in tolerances if dtype_of(exact[name]).is_float}
    for seed in range(RUNS):
        progress(STAGE, seed + 1, RUNS + 1)
        moved = simulate(graph, inputs, Roundings(seed=seed, fp32_mode=fp32_mode))
        for name, found in greatest.items():
            found.append(_greatest(moved[name], exact[name], tolerances[name]))
    return {name: max(1.0, _bound(greatest[name])) if name in greatest else 1.0 for name in tolerances}


def _greatest(moved: np.ndarray, exact: np.ndarray, tolerance: Tolerance) -> float:
    """Return the greatest error of a finite element in units of its tolerance."""
    with np.errstate(all="ignore"):
        errors = np.abs(moved - exact) / np.maximum(tolerance.atol, tolerance.rtol * np.abs(exact))
    return float(np.max(errors, initial=0.0, where=np.isfinite(errors)))


def _bound(greatest: list[float]) -> float:
    """Return what the difference of two computations stays within, by the normal distribution of the greatest errors seen."""
    return sqrt(2) * (float(np.mean(greatest)) + confidence(1) * float(np.std(greatest, ddof=1)))

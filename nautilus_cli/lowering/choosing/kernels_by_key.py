"""Kernels by key: the range of the one expression that decides is walked in a ladder, and neighbours share kernels that do as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isqrt
from typing import Any

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.binding import dimensions, expressions
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import Symbolic, is_symbolic, lower, same, upper
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.kernels.base import Family, Ranked
from nautilus_cli.kernels.registry import families
from nautilus_cli.lowering.choosing.choice import Chosen
from nautilus_cli.lowering.choosing.kernel_finder import KernelFinder
from nautilus_cli.lowering.choosing.ladders import between, coarse_ladder, ladder, octave_parts, weights_of
from nautilus_cli.lowering.choosing.open_problems import KEY, Problems, common_divisor, narrowed, problems_at, with_key
from nautilus_cli.lowering.choosing.ranges import RangedChoice, is_legal, representative

KEYS: Mapping[str, tuple[str, ...]] = {
    "conv": ("pixels",),
    "depthwise": ("pixels",),
    "gemm": ("m", "n", "k", "batch"),
    "gemm_mma": ("m", "n", "k", "batch"),
    "pool": ("pixels",),
    "row": ("columns", "rows"),
}
"""Sizes of a family's problem of which the first that is open decides."""

_RATIO = 2 ** (1 / 6)
"""From one size of a ladder to the next, where several dimensions decide and families have estimates of their kernels."""

_MOST_KERNELS: Mapping[str, int] = {"conv": 8, "depthwise": 4, "gemm": 16, "gemm_mma": 16, "pool": 4}
"""By family: what further ones would gain."""

_MOST_KERNELS_SPLIT = 6
"""The same of each half of a dimension that decides nothing else."""

_SLACK = 1.03
"""How much slower than the best a kernel may be by the estimates and still serve: they are not closer than that."""

_PENALTY = 4
"""Power of a kernel's time by the best one's that is added up over the sizes: few that are bad count more than many that are worse."""

_LEAST_GAIN = 0.002
"""By how much of that, on average, a further kernel makes it less."""


def kernels_by_key(finder: KernelFinder, problems: Problems) -> list[tuple[int, Chosen]]:
    """Return kernels with their conditions: as `case`, for the smaller and the larger sizes of a dimension that the key leaves out."""
    name, problem = next(iter(problems.items()))
    key = next((value for field in KEYS[name] if isinstance(value := getattr(problem, field), Symbolic)), None)
    if key is None:  # of a range of one multiple: a problem of fixed sizes
        only = finder.best(problems, {d.name: representative(d) for d in dimensions(problem)})
        return [] if only is None else [(0, finder.on_target(only))]
    others = [d for d in dimensions(problem) if d not in symbols(key) and d.source is None]
    if not isinstance(families()[name], Ranked):
        return _by_steps(finder, families()[name], problem, key)
    if not others:
        return _case(finder, problems, key, {}, finder.most(_MOST_KERNELS[name]))
    dim = max(others, key=lambda d: d.high / max(1, d.low))
    middle = between(dim, 0.5)
    size = symbol(dim.name, dim.low, dim.high, dim.divisor)
    small = _case(finder, problems, key, {dim.name: between(dim, 0.25)}, finder.most(_MOST_KERNELS_SPLIT))
    large = _case(finder, problems, key, {dim.name: between(dim, 0.75)}, finder.most(_MOST_KERNELS_SPLIT))
    if not small or not large or small == large:
        return large or small
    return [*((maximum(size - middle, *([c] if is_symbolic(c) else [])), kernel) for c, kernel in small), *large]


def _case(finder: KernelFinder, problems: Problems, key: int, others: Mapping[str, int], most: int) -> list[tuple[int, Chosen]]:
    """Return kernels with their conditions, the last one without; empty where none that is estimated to be best is legal.

    Args:
        finder: of kernels at sizes.
        problems: what they compute.
        key: what decides.
        others: sizes of dimensions that do not.
        most: kernels.
    """
    first, problem = next(iter(problems.items()))
    whole, walked = key, problems
    deciding = symbols(key)
    is_key_alone = all(same(value, key) or not symbols(value) & deciding for value in expressions(problem))
    is_named = finder.is_named(deciding)
    if is_key_alone and not is_named:
        # Nothing but the key matters: it is walked as a dimension of its own.
        whole = symbol(KEY, max(1, lower(key)), upper(key), common_divisor(key))
        walked = {name: with_key(p, key, whole) for name, p in problems.items()}
    walked_sizes = ladder(finder.points, walked[first], whole, others, _RATIO)
    has_ends = len(symbols(whole)) == 1 and not is_named  # of tiles: a kernel serves up to the size that it was chosen at
    looked_at = walked_sizes[::-1] if is_named else octave_parts(walked_sizes)
    best = {step.key: kernel for step in looked_at if (kernel := finder.best(walked, step.sizes)) is not None}
    kernels = list({(k.family.name, k.schedule): k for k in best.values()}.values())
    costs = [finder.us(kernels, walked, step.sizes) for step in walked_sizes]
    served = [(step, row) for step, row in zip(walked_sizes, costs, strict=True) if row and min(row) < float("inf")]
    if not served:
        return []
    steps = [step for step, _ in served]
    found: list[tuple[int, Chosen]] = []
    on_target = [finder.on_target(replace(kernel, problem=problems[kernel.family.name])) for kernel in kernels]
    if is_named and len(kernels) <= most and len(best) == len(steps):  # what was chosen, or measured, for a size serves there
        wanted = [kernels.index(best[step.key]) for step in steps]
    else:
        wanted = assigned_kernels([row for _, row in served], most, weights_of([step.key for step in steps]))
    for number, assigned in enumerate(wanted):
        kernel = on_target[assigned]
        if found and (found[-1][1].family.name, found[-1][1].schedule) == (kernel.family.name, kernel.schedule):
            found.pop()
        last = steps[number].key if has_ends or number + 1 == len(steps) else isqrt(steps[number].key * steps[number + 1].key)
        found.append((0 if number + 1 == len(steps) else key - last, kernel))
    return found


def _by_steps(finder: KernelFinder, family: Family, problem: Any, key: int) -> list[tuple[int, Chosen]]:
    """Give each step the schedule of its largest size, legal from the last step on to there."""
    steps = coarse_ladder(finder.points, problem, key)
    found: list[tuple[int, Chosen]] = []
    last = lower(key) - 1
    for number, step in enumerate(steps):
        is_last = number + 1 == len(steps)
        part = narrowed(problem, key, last + 1, upper(key) if is_last else step.key)
        tried = (finder.choose(family, there, finder.target) for there in problems_at(problem, key, step.key, step.sizes))
        schedule = next((s for s in tried if is_legal(family, part, s, finder.target)), None)
        if schedule is None:
            try:
                schedule = RangedChoice(finder.choose, finder.points)(family, part, finder.target)
            except ModelError:
                continue
        if found and found[-1][1].schedule == schedule:
            found.pop()
        found.append((0 if is_last else key - step.key, Chosen(family=family, problem=problem, schedule=schedule)))
        last = step.key
    return found if found and same(found[-1][0], 0) else []


def assigned_kernels(costs: Sequence[Sequence[float]], most: int, weights: Sequence[float]) -> list[int]:
    """Return the kernel of each step of a ladder, of a few of all: where one does about as well as the best, that of the step before.

    Args:
        costs: of each kernel at each step.
        most: different kernels.
        weights: of the steps.
    """
    best = [min(row) for row in costs]
    losses = [[cost / least for cost in row] for row, least in zip(costs, best, strict=True)]

    def badness(kept: Sequence[int]) -> float:
        return sum(weight * min(row[kernel] for kernel in kept) ** _PENALTY for weight, row in zip(weights, losses, strict=True))

    kept: list[int] = []
    while len(kept) < min(most, len(costs[0])):
        found = min((kernel for kernel in range(len(costs[0])) if kernel not in kept), key=lambda kernel: badness([*kept, kernel]))
        if kept and badness([*kept, found]) > badness(kept) - _LEAST_GAIN * sum(weights):
            break
        kept.append(found)
    assigned: list[int] = []
    for row in losses:
        here = min(kept, key=lambda kernel: row[kernel])
        assigned.append(assigned[-1] if assigned and row[assigned[-1]] <= _SLACK * row[here] else here)
    return assigned

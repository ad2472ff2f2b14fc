"""Kernels by regions: several of rows, columns and depth of a product decide together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from nautilus_cli.ir.binding import bind, dimensions, expressions
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import Symbol, is_symbolic, lower, same, upper
from nautilus_cli.ir.functions import maximum, minimum, named
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.substitution import substitute
from nautilus_cli.kernels.base import Priced
from nautilus_cli.kernels.registry import families
from nautilus_cli.lowering.choosing import regions
from nautilus_cli.lowering.choosing.choice import Chosen
from nautilus_cli.lowering.choosing.kernel_finder import MOST_EMULATED, KernelFinder
from nautilus_cli.lowering.choosing.ladders import FIRST_WEIGHT, MOST_COMBINATIONS
from nautilus_cli.lowering.choosing.open_problems import KEY, PRODUCTS, Problems, common_divisor, with_key

_MOST_KERNELS_REST = 8
"""Of a product whose rows, columns and depth decide, for sizes that are no multiples."""

_MOST_SAMPLES, _MOST_LOOKED_AT, _MOST_LOOKED_AT_REST = 8192, 400, 24
"""Of such a product: sizes at which kernels are compared, and at which they are looked for."""

_SPREAD = (5**0.5 - 1) / 2
"""By what share of all samples the next one is away that kernels are looked for at: the golden ratio spreads them evenly."""

_PROBES, _NEAR = 24, 1.1
"""At one in so many of them, and at the ends, all families are tried; by how much one may be slower than the best and is tried at all."""

_LEAST_LOOKED_AT = 64
"""Of columns and depth: below it kernels differ little."""

_RARE_BELOW, _RARE_ABOVE, _RARE_WEIGHT = 256, 8192, 0.25
"""Columns and depth that products of models seldom have, and how much they count."""

_FINE_FROM, _FEW_PARTS = 512, 4
"""Of sizes: from where there are two samples an octave, and how many there are of the fewest rows, whose kernels are the best where
multiprocessors hold just as many blocks as they get."""

_TILE = 64
"""Rows and columns that are counted together: most tiles are whole numbers of them."""

_SLACK = 1.03
"""How much slower than the best a kernel may be by the estimates and still serve: they are not closer than that."""


def has_regions(finder: KernelFinder, name: str, problem: Any) -> bool:
    """Whether several of rows, columns and depth of a product decide, and the user names no sizes of them."""
    if name not in PRODUCTS or any(finder.is_named(frozenset({d})) for d in dimensions(problem)):
        return False
    return _deciding(problem) > 1


def _deciding(problem: Any) -> int:
    """Return how many of rows, columns and depth decide."""
    return len({size for size in (problem.m, problem.n, problem.k) if is_symbolic(size)})


def kernels_by_regions(finder: KernelFinder, problems: Problems, plain: Mapping[str, int], *, is_rest: bool) -> list[tuple[int, Chosen]]:
    """Return kernels with their conditions, in PLAIN dimensions, the last one without, of a product several of whose sizes decide.

    Empty as `case` is.
    """
    walked, axes = _axes(problems)
    fine = [regions.ladder(axis.low, axis.high, axis.divisor, _FINE_FROM) for axis in axes]
    names, fewest = [axis.name for axis in axes], fine[0][0]  # rows
    finer = [regions.ladder(axis.low, axis.high, axis.divisor, _FINE_FROM, _FEW_PARTS) for axis in axes[1:]]
    samples = [
        *regions.combined(names, [(fewest,), *finer], _MOST_SAMPLES // 4),
        *(sizes for sizes in regions.combined(names, fine, _MOST_SAMPLES) if sizes[names[0]] != fewest),
    ]
    is_few = [sizes[names[0]] == fewest for sizes in samples]
    looked_at = _looked_at(axes, samples, _most_looked_at(finder, is_rest))
    ends = regions.combined(names, [(some[0], some[-1]) for some in fine], _MOST_SAMPLES)
    walked = _worth(finder, walked, [*ends, *looked_at[: len(looked_at) // _PROBES]])
    if not is_rest and not finder.target.is_emulated:
        looked_at += _common(axes, [sizes for sizes, few in zip(samples, is_few, strict=True) if few], _RARE_BELOW)
    found = {(k.family.name, k.schedule): k for sizes in looked_at if (k := finder.best(walked, sizes)) is not None}
    kernels = [*found.values()]
    if not kernels:
        return []
    weights = np.array([_weight(axes, sizes, fewest) for sizes in samples])
    every = 4 if len(samples) > MOST_COMBINATIONS else 1  # but all of few rows, whose kernels differ most
    some = [number for number, few in enumerate(is_few) if few or number % every == 0]
    loss = regions.losses([finder.legal_us(kernels, walked, samples[number]) for number in some])
    priced = [number for number, kernel in enumerate(kernels) if isinstance(kernel.family, Priced)]
    if priced and loss[:, priced].min(axis=1).mean() < _SLACK:
        kernels, loss = [kernels[number] for number in priced], loss[:, priced]
    most = finder.most(_MOST_KERNELS_REST if is_rest else regions.MOST_KERNELS[_deciding(next(iter(problems.values())))])
    few = [kernels[number] for number in regions.kept(loss, weights[some], most)]
    on_target = [finder.on_target(replace(kernel, problem=problems[kernel.family.name])) for kernel in few]
    if len({(kernel.family.name, kernel.schedule) for kernel in on_target}) == 1:  # as on the emulator
        return [(0, on_target[0])]
    if all(isinstance(kernel.family, Priced) for kernel in few):
        return _cheapest(finder, few, on_target, {name: bind(p, plain) for name, p in problems.items()})
    loss = regions.losses([finder.legal_us(few, walked, sizes) for sizes in samples])
    features = np.array([[substitute(size, sizes) for size in _features(next(iter(walked.values())))] for sizes in samples])
    sizes_there = _features(bind(next(iter(problems.values())), plain))
    return [
        (
            maximum(*(sizes_there[feature] - limit for feature, limit in leaf.limits.items())) if leaf.limits else 0,
            on_target[leaf.kernel],
        )
        for leaf in regions.leaves(features, loss, weights)
    ]


def _cheapest(finder: KernelFinder, kernels: Sequence[Chosen], on_target: Sequence[Chosen], problems: Problems) -> list[tuple[int, Chosen]]:
    """Return kernels with their conditions: each serves where none behind it is estimated to take less time."""
    found: list[tuple[int, Chosen]] = []
    least = 0
    for number, kernel in reversed(list(enumerate(kernels))):
        assert isinstance(kernel.family, Priced)
        ns = named(f"ns{number}", kernel.family.open_ns(problems[kernel.family.name], kernel.schedule, finder.judged))
        found.append((ns - least if found else 0, on_target[number]))
        least = named(f"least{number}", minimum(ns, least)) if len(found) > 1 else ns
    return found[::-1]


def _worth(finder: KernelFinder, problems: Problems, probes: Sequence[Mapping[str, int]]) -> Problems:
    """Return those of the problems whose families come near the best one at some of a few sizes.

    Where families that the host estimates do about as well as all, only those: no others would be kept.
    """
    found: set[str] = set()
    losses = []
    for sizes in probes:
        each = {name: finder.best({name: problem}, sizes) for name, problem in problems.items()}
        us = {name: finder.legal_us([kernel], problems, sizes)[0] for name, kernel in each.items() if kernel is not None}
        least = min(us.values(), default=0.0)
        found |= {name for name, time in us.items() if time <= _NEAR * least}
        losses.append(min((time for name, time in us.items() if isinstance(families()[name], Priced)), default=inf) / least if us else 1.0)
    if sum(losses) < _SLACK * len(losses):
        found = {name for name in found if isinstance(families()[name], Priced)}
    return {name: problem for name, problem in problems.items() if name in found}


def _most_looked_at(finder: KernelFinder, is_rest: bool) -> int:
    if finder.target.is_emulated:
        return MOST_EMULATED**3
    return _MOST_LOOKED_AT_REST if is_rest else _MOST_LOOKED_AT


def _axes(problems: Problems) -> tuple[Problems, list[Symbol]]:
    """Return problems whose sizes are walked, and their dimensions: each open size is one of its own where nothing else matters."""
    first = next(iter(problems.values()))
    sizes = list(dict.fromkeys(size for size in (first.m, first.n, first.k, first.batch) if is_symbolic(size)))
    is_alone = all(any(same(value, size) for size in sizes) for value in expressions(first))
    is_apart = sum(len(symbols(size)) for size in sizes) == len({s for size in sizes for s in symbols(size)})
    if not is_alone or not is_apart:
        return problems, list(dimensions(first))
    walked = dict(problems)
    for number, size in enumerate(sizes):
        whole = symbol(f"{KEY}{number}", max(1, lower(size)), upper(size), common_divisor(size))
        walked = {name: with_key(problem, size, whole) for name, problem in walked.items()}
    return walked, list(dimensions(next(iter(walked.values()))))


def _weight(axes: Sequence[Symbol], sizes: Mapping[str, int], first: int) -> float:
    """Return how much a sample counts: those of the smallest rows more, those of few or very many columns, or such a depth, less."""
    weight = FIRST_WEIGHT if sizes[axes[0].name] == first else 1.0
    is_rare = any(sizes[axis.name] < min(_RARE_BELOW, axis.high) or sizes[axis.name] > max(_RARE_ABOVE, axis.low) for axis in axes[1:])
    return weight * (_RARE_WEIGHT if is_rare else 1.0)


def _common(axes: Sequence[Symbol], samples: Sequence[Mapping[str, int]], least: int) -> list[Mapping[str, int]]:
    """Return those of the samples whose columns and depth are not below LEAST where there are larger ones."""
    return [sizes for sizes in samples if all(sizes[axis.name] >= min(least, axis.high) for axis in axes[1:])]


def _looked_at(axes: Sequence[Symbol], samples: Sequence[Mapping[str, int]], most: int) -> list[Mapping[str, int]]:
    """Return some of the samples, spread evenly, whose columns and depth are not small where there are larger ones."""
    large = _common(axes, samples, _LEAST_LOOKED_AT)
    return [large[int(number * _SPREAD * len(large)) % len(large)] for number in range(min(most, len(large)))]


def _features(problem: Any) -> tuple[int, ...]:
    """Return what decides about a product's kernel: its open sizes, and how many tiles the result has."""
    sizes = list(dict.fromkeys(size for size in (problem.m, problem.n, problem.k, problem.batch) if is_symbolic(size)))
    tiles = -(-problem.m // _TILE) * -(-problem.n // _TILE) * problem.batch
    return (*sizes, tiles) if is_symbolic(tiles) else tuple(sizes)

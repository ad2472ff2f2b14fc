"""Ladders of sizes: what a range is walked in, where one expression of a problem, its key, decides which kernel is best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, product
from math import ceil, log2, prod
from typing import Any

from nautilus_cli.ir.binding import dimensions
from nautilus_cli.ir.dims import Symbol, lower, upper
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.substitution import substitute

_TILES = ((32, 256), (64, 2048))
"""Where one dimension decides, a ladder has every multiple of the first up to the second, and beyond 16 steps an octave: there kernels'
tiles end, and waves of blocks."""

FIRST_WEIGHT = 3.0
"""Of the smallest size, where decoders stay, by that of an octave."""

_COARSE_RATIO = 2.0

_MOST_STEPS = 128

MOST_COMBINATIONS = 1024


Points = Mapping[str, tuple[int, ...]]
"""Sizes of dimensions, by name, that the user names."""


@dataclass(frozen=True, slots=True)
class Step:
    """A size of the ladder: the dimensions' sizes and what the key is there."""

    key: int
    sizes: Mapping[str, int]


def ladder(points: Points, problem: Any, key: int, others: Mapping[str, int], ratio: float) -> list[Step]:
    """Return sizes from small to large, of which keys are about a ratio apart; those that the user names, exactly."""
    deciding, dims = symbols(key), dimensions(problem)
    coarse = ratio
    while coarse < 2 and prod(log2(d.high / max(1, d.low)) / log2(coarse) + 1 for d in deciding) > MOST_COMBINATIONS:
        coarse = coarse * coarse
    choices: dict[str, tuple[int, ...]] = {}
    for dim in dims:
        named = tuple(p for p in points.get(dim.name, ()) if p % dim.divisor == 0 and dim.low <= p <= dim.high)
        if dim in deciding:
            choices[dim.name] = named or (tile_ends(dim) if len(deciding) == 1 and ratio < 2 else tuple(dict.fromkeys(_down(dim, coarse))))
        else:
            choices[dim.name] = (others.get(dim.name, named[0] if named else between(dim, 0.5)),)
    steps: dict[int, Step] = {}
    is_named = has_named_sizes(points, deciding)
    for values in islice(product(*choices.values()), 4 * MOST_COMBINATIONS):
        sizes = dict(zip(choices, values, strict=True))
        found = substitute(key, sizes)
        place = found if is_named or len(deciding) == 1 else round(log2(upper(key) / max(1, found)) / log2(ratio))
        if place not in steps or _spread(sizes, deciding) < _spread(steps[place].sizes, deciding):
            steps[place] = Step(found, sizes)
    sorted_steps = sorted(steps.values(), key=lambda step: step.key)
    few = [sorted_steps[i * len(sorted_steps) // _MOST_STEPS] for i in range(_MOST_STEPS)]
    thinned = few if len(sorted_steps) > _MOST_STEPS else sorted_steps
    return [step for number, step in enumerate(thinned) if number == 0 or step.key > thinned[number - 1].key]


def coarse_ladder(points: Points, problem: Any, key: int) -> list[Step]:
    """Return powers of two and the largest key, with sizes near which it is that; those that the user names, exactly."""
    walked = ladder(points, problem, key, {}, _COARSE_RATIO)
    if has_named_sizes(points, symbols(key)) or not walked:
        return walked
    low, high = max(1, lower(key)), upper(key)
    borders = [*(1 << n for n in range(low.bit_length(), (high - 1).bit_length())), high]
    return [Step(border, min(walked, key=lambda step: abs(log2(max(1, step.key) / border))).sizes) for border in borders]


def has_named_sizes(points: Points, dims: frozenset[Symbol]) -> bool:
    """Whether the user names sizes of one of some dimensions."""
    return any(points.get(dim.name) for dim in dims)


def octave_parts(ladder: Sequence[Step]) -> list[Step]:
    """Return the steps of a ladder that kernels are looked for at, from large to small: the last of each third of an octave."""
    found: dict[int, Step] = {}
    for step in ladder:
        found[ceil(3 * log2(max(1, step.key)) - 1e-6)] = step
    return [*reversed(found.values())]


def weights_of(keys: Sequence[int]) -> list[float]:
    """Return how much each step of a ladder counts: the part of an octave that it is the end of; the first, where decoders stay, more."""
    return [FIRST_WEIGHT, *(log2(after / max(1, before)) for before, after in pairwise(keys))]


def middle(dim: Symbol) -> int:
    """Return the size in the middle of a range, as ratios go."""
    return between(dim, 0.5)


def between(dim: Symbol, share: float) -> int:
    """Return the size that lies at a share of a range, as ratios go."""
    low = max(1, dim.low)
    return max(dim.low, int(low * (dim.high / low) ** share + 1e-6) // dim.divisor * dim.divisor)


def tile_ends(dim: Symbol) -> tuple[int, ...]:
    """Return the sizes at which kernels' tiles of a dimension end, from large to small."""
    sizes = {dim.high, *(1 << i for i in range(6)), *(3 << i for i in range(4))}
    size = 32
    while size < dim.high:
        sizes.add(size)
        size += next((step for step, last in _TILES if size < last), 1 << size.bit_length() - 5)
    rounded = {size // dim.divisor * dim.divisor for size in sizes}
    return tuple(sorted((size for size in rounded if max(1, dim.low) <= size <= dim.high), reverse=True))


def _down(dim: Symbol, ratio: float) -> Iterator[int]:
    """Yield sizes from the largest down."""
    size = float(dim.high)
    while size >= max(1, dim.low, dim.divisor) - 1e-6:
        yield int(size + 1e-6) // dim.divisor * dim.divisor
        size /= ratio


def _spread(sizes: Mapping[str, int], dims: frozenset[Symbol]) -> float:
    """Return how far some dimensions are from the middle of their ranges."""
    return sum(abs(log2(max(1, sizes[d.name])) - log2(max(1, d.low) * d.high) / 2) for d in dims)

"""Which kernel serves which sizes where several sizes decide: few kernels, and a list of upper limits that picks one of them.

Sizes are sampled. A tree halves the samples again and again, each time by the limit of one feature that loses least, and gives each leaf
the kernel that loses least there. Read from small to large, a leaf needs its upper limits alone: what is below others was served before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

MOST_KERNELS = {2: 40, 3: 64}
"""By how many sizes decide. Of products of 16 bits whose three sizes are open to 8192 and 131072 (columns), by the estimates: at 218 sizes
of layers, most of them with rows that are no samples, what the host takes of 40 kernels takes 1.017 of the time of the size's own choice
(geometric mean), of 48 1.013, of 64 1.008."""
MOST_LEAVES = 128
"""There, the kernel that the tree leads to takes 1.061 with 64 leaves, 1.039 with 128, and no less with more."""
_MOST_LOSS = 8.0
"""A loss beyond it counts as this much: where a kernel is hopeless, it does not matter how much so."""
_PENALTY = 4
"""Power of a loss that is added up over the samples when kernels are kept: few that are bad count more than many that are worse."""
_LEAF_PENALTY = 2
_LEAST_GAIN = 1e-5
"""Of a leaf, on average over all samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """Samples that one kernel serves.

    Attributes:
        limits: the greatest value of some features, by their numbers; of those that no earlier leaf serves.
        kernel: its number.
    """

    limits: Mapping[int, int]
    kernel: int


def ladder(low: int, high: int, divisor: int, fine_from: int, parts: int = 2) -> tuple[int, ...]:
    """Return sizes from LOW to HIGH, multiples of DIVISOR: powers of two, from FINE_FROM on PARTS a power, evenly, and the ends."""
    steps = {1 << i for i in range(high.bit_length())}
    steps |= {part << i for part in range(parts + 1, 2 * parts) for i in range(high.bit_length()) if parts << i >= fine_from}
    first = max(low, divisor)
    return tuple(sorted({size for size in (*steps, first, high) if first <= size <= high and size % divisor == 0}))


def combined(axes: Sequence[str], sizes: Sequence[Sequence[int]], most: int) -> list[dict[str, int]]:
    """Return at most so many combinations of sizes of some axes; of the last axes that have several, every second size goes first."""
    kept = [list(some) for some in sizes]
    number = len(kept) - 1
    while prod(map(len, kept)) > most:
        kept[number] = kept[number][::-2][::-1]
        number = number - 1 if number > 0 and len(kept[number - 1]) >= len(kept[number]) else len(kept) - 1
    return [dict(zip(axes, some, strict=True)) for some in product(*kept)]


def losses(costs: Sequence[Sequence[float]]) -> np.ndarray:
    """Return how many times the least cost of a sample each kernel takes there, at most some."""
    all_costs = np.array(costs, float)
    least = all_costs.min(axis=1, keepdims=True)
    found = np.full_like(all_costs, _MOST_LOSS)
    np.divide(all_costs, least, where=np.isfinite(all_costs), out=found)
    return found.clip(max=_MOST_LOSS)


def kept(loss: np.ndarray, weights: np.ndarray, most: int) -> list[int]:
    """Return the few kernels of which the best one at each sample loses least.

    Shapes:
        loss: [samples, kernels]. weights: [samples].
    """
    powers = loss**_PENALTY
    found: list[int] = []
    so_far = np.full(len(loss), np.inf)
    while len(found) < min(most, loss.shape[1]):
        sums = (np.minimum(so_far[:, None], powers) * weights[:, None]).sum(axis=0)
        best = int(np.argmin(sums))
        if best in found:
            break
        found.append(best)
        so_far = np.minimum(so_far, powers[:, best])
    return found


def leaves(features: np.ndarray, loss: np.ndarray, weights: np.ndarray, most: int = MOST_LEAVES) -> tuple[Leaf, ...]:
    """Return the leaves of a tree over samples, of which the first whose limits hold serves; the last one has none.

    Shapes:
        features: [samples, features]. loss: [samples, kernels]. weights: [samples].
    """
    costs = loss**_LEAF_PENALTY * weights[:, None]
    least = _LEAST_GAIN * float(weights.sum())
    grown = [_Grown(np.arange(len(loss)), {}, _best_split(np.arange(len(loss)), features, costs))]
    while len(grown) < most:
        number = max(range(len(grown)), key=lambda i: grown[i].split.gain)
        node = grown[number]
        if node.split.gain <= least:
            break
        is_below = features[node.samples, node.split.feature] <= node.split.limit
        below, above = node.samples[is_below], node.samples[~is_below]
        limits = {**node.limits, node.split.feature: node.split.limit}
        grown[number : number + 1] = [
            _Grown(below, limits, _best_split(below, features, costs)),
            _Grown(above, node.limits, _best_split(above, features, costs)),
        ]
    found: list[Leaf] = []
    for node in grown:
        leaf = Leaf(limits=node.limits, kernel=int(np.argmin(costs[node.samples].sum(axis=0))))
        # What a leaf serves, its neighbour would: with the same kernel, the one of fewer limits does for both.
        while found and found[-1].kernel == leaf.kernel and _covers(leaf, found[-1]):
            found.pop()
        found.append(leaf)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Split:
    gain: float
    feature: int
    limit: int


@dataclass(frozen=True, slots=True)
class _Grown:
    samples: np.ndarray
    limits: Mapping[int, int]
    split: _Split


def _best_split(samples: np.ndarray, features: np.ndarray, costs: np.ndarray) -> _Split:
    """Return the limit of a feature that makes the samples' cost least where both sides have a kernel of their own."""
    best = _Split(0.0, 0, 0)
    whole = float(costs[samples].sum(axis=0).min())
    for feature in range(features.shape[1]):
        values = features[samples, feature]
        order = np.argsort(values, kind="stable")
        ends = np.nonzero(np.diff(values[order]))[0]
        if not len(ends):
            continue
        sums = np.cumsum(costs[samples[order]], axis=0)
        gains = whole - sums[ends].min(axis=1) - (sums[-1] - sums[ends]).min(axis=1)
        found = int(np.argmax(gains))
        if gains[found] > best.gain:
            best = _Split(float(gains[found]), feature, int(values[order[ends[found]]]))
    return best


def _covers(leaf: Leaf, other: Leaf) -> bool:
    """Whether what the other leaf's limits let through, this one's do, too."""
    return all(feature in other.limits and other.limits[feature] <= limit for feature, limit in leaf.limits.items())


__all__ = ["MOST_KERNELS", "MOST_LEAVES", "Leaf", "combined", "kept", "ladder", "leaves", "losses"]

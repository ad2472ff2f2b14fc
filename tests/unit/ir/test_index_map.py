"""Index maps: a random chain of movement operators, composed, against numpy doing the same to an array of indices."""

from __future__ import annotations

from math import prod
from random import Random

import numpy as np
import pytest

from nautilus_cli.ir.index_map import IndexMap, broadcast, compose, identity, padded, permuted, regroup, simplify, sliced
from nautilus_cli.ir.stages import Axis, Stage

MAX_ELEMENTS = 3000

SAME = Axis(4, 1)
"""A digit that stands in two coordinates: only its place says which one is the last."""


class Chain:
    """Movement operators applied one after another to an array whose elements are their own indices; -1 where there is none."""

    def __init__(self, random: Random) -> None:
        self.random = random
        sizes = [1, 2, 3, 4, 6] if random.random() < 0.9 else [0, 1, 2, 3]
        shape = [random.choice(sizes) for _ in range(random.randint(1, 4))]
        self.array = np.arange(prod(shape)).reshape(shape)
        self.maps: list[IndexMap] = []

    def transpose(self) -> None:
        perm = list(range(self.array.ndim))
        self.random.shuffle(perm)
        self.maps.append(permuted(self.array.shape, perm))
        self.array = self.array.transpose(perm)

    def slice(self) -> None:
        starts, steps, extents = [], [], []
        for dim in self.array.shape:
            step = self.random.choice([1, 1, 2, -1])
            start = self.random.randrange(dim) if dim else 0
            longest = (dim - start + step - 1) // step if step > 0 else start + 1
            starts.append(start)
            steps.append(step)
            extents.append(self.random.randint(1, longest) if dim else 0)
        self.maps.append(sliced(self.array.shape, starts, steps, extents))
        chosen = [np.array([start + i * step for i in range(n)], np.int64) for start, step, n in zip(starts, steps, extents, strict=True)]
        self.array = self.array[np.ix_(*chosen)]

    def reshape(self) -> None:
        rest, shape = self.array.size, [] if self.array.size else [0, 2]
        while rest > 1:
            shape.append(self.random.choice([d for d in range(1, rest + 1) if rest % d == 0]))
            rest //= shape[-1]
        shape = shape or [1]
        self.maps.append(identity(shape))
        self.array = self.array.reshape(shape)

    def broadcast(self) -> None:
        target = [2] * self.random.randint(0, 1) + [self.random.choice([1, 3]) if d == 1 else d for d in self.array.shape]
        self.maps.append(broadcast(self.array.shape, target))
        self.array = np.broadcast_to(self.array, target)

    def pad(self) -> None:
        shape = self.array.shape
        before = [self.random.choice([0, 0, 1, 2, -1]) if d > 1 else self.random.choice([0, 1]) for d in shape]
        extents = [max(1, d + b + self.random.choice([0, 1])) for d, b in zip(shape, before, strict=True)]
        self.maps.append(padded(shape, before, extents))
        result = np.full(extents, -1)
        for place in np.ndindex(*extents):
            source = tuple(i - b for i, b in zip(place, before, strict=True))
            if all(0 <= i < d for i, d in zip(source, shape, strict=True)):
                result[place] = self.array[source]
        self.array = result

    def composed(self) -> IndexMap:
        result = self.maps[-1]
        for inner in reversed(self.maps[:-1]):
            result = compose(result, inner)
        return result


def random_chain(seed: int) -> Chain:
    random = Random(seed)
    chain = Chain(random)
    for _ in range(random.randint(1, 4)):
        random.choice([chain.transpose, chain.slice, chain.reshape, chain.broadcast, chain.pad])()
        if chain.array.size > MAX_ELEMENTS:
            break
    return chain


def assert_finds(index_map: IndexMap, wanted: np.ndarray) -> None:
    offsets, valid = index_map.offsets()
    assert not index_map.is_void or (wanted < 0).all()
    np.testing.assert_array_equal(valid, wanted >= 0)
    np.testing.assert_array_equal(offsets, np.where(wanted >= 0, wanted, 0))


@pytest.mark.parametrize("block", range(20))
def test_composed_chain_finds_the_elements_that_numpy_finds(block: int) -> None:
    stages = set()
    for seed in range(block * 100, block * 100 + 100):
        chain = random_chain(seed)
        index_map = chain.composed()
        assert_finds(index_map, chain.array)
        assert simplify(index_map) == index_map, seed
        stages.add(len(index_map.stages))
    assert 1 in stages


def test_most_chains_need_one_stage() -> None:
    counts = [len(random_chain(seed).composed().stages) for seed in range(500)]
    assert sum(count == 1 for count in counts) > 0.6 * len(counts)


@pytest.mark.parametrize("seed", range(50))
def test_regrouped_coordinates_find_the_same_elements(seed: int) -> None:
    chain = random_chain(seed)
    rank = chain.array.ndim
    order = list(range(rank))
    Random(seed).shuffle(order)
    cut = Random(seed + 1).randint(0, rank)
    groups = [order[:cut], order[cut:]]
    regrouped = regroup(chain.composed(), groups)
    wanted = chain.array.transpose(order).reshape([prod(chain.array.shape[i] for i in group) for group in groups])
    assert_finds(regrouped, wanted)


@pytest.mark.parametrize(
    ("index_map", "width"),
    [
        (identity((3, 8)), 4),
        (identity((3, 6)), 2),
        (identity((3, 7)), 1),
        (broadcast((3, 1), (3, 8)), 1),
        (permuted((8, 3), (1, 0)), 1),
        (sliced((3, 8), (0, 4), (1, 1), (3, 4)), 4),
        (sliced((3, 8), (0, 2), (1, 1), (3, 4)), 2),
        (sliced((8,), (7,), (-1,), (8,)), 1),
        (padded((8,), (0,), (12,)), 1),
        (IndexMap((Stage(((SAME,), (SAME,))),)), 1),
    ],
)
def test_contiguous_width(index_map: IndexMap, width: int) -> None:
    assert index_map.contiguous_width(4) == width
    offsets, _ = index_map.offsets()
    groups = offsets.reshape(-1, width)
    assert (groups[:, :1] + np.arange(width) == groups).all()
    assert (groups[:, 0] % width == 0).all()


def test_uniform_last_coordinate() -> None:
    assert broadcast((3, 1), (3, 8)).is_uniform_last()
    assert not identity((3, 8)).is_uniform_last()

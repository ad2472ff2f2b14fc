"""Index maps over symbolic shapes: with sizes put in, they find the elements that numpy finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest

from nautilus_cli.ir.binding import bind, expressions
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import is_symbolic, same
from nautilus_cli.ir.index_map import IndexMap, broadcast, compose, identity, padded, permuted, regroup, sliced
from nautilus_cli.ir.stages import Axis, Stage
from nautilus_cli.ir.types import F32, TensorType
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.movement import pieces

N, M = symbol("n", 1, 9), symbol("m", 1, 40)
SIZES = [{"n": n, "m": m} for n, m in product((1, 2, 3, 7, 9), (1, 2, 5, 16, 40))]

Step = tuple[IndexMap, Callable[[np.ndarray, dict[str, int]], np.ndarray]]


def transpose(shape: Sequence[int], perm: Sequence[int]) -> Step:
    return permuted(shape, perm), lambda a, _: a.transpose(perm)


def reshape(shape: Sequence[int]) -> Step:
    return identity(shape), lambda a, sizes: a.reshape(bind(tuple(shape), sizes))


def expand(shape: Sequence[int], target: Sequence[int]) -> Step:
    return broadcast(shape, target), lambda a, sizes: np.broadcast_to(a, bind(tuple(target), sizes))


def crop(shape: Sequence[int], starts: Sequence[int], extents: Sequence[int]) -> Step:
    def apply(a: np.ndarray, sizes: dict[str, int]) -> np.ndarray:
        ends = [s + e for s, e in zip(starts, bind(tuple(extents), sizes), strict=True)]
        return a[tuple(slice(s, e) for s, e in zip(starts, ends, strict=True))]

    return sliced(shape, starts, [1] * len(starts), extents), apply


def pad(shape: Sequence[int], before: Sequence[int], after: Sequence[int]) -> Step:
    extents = [b + d + a for b, d, a in zip(before, shape, after, strict=True)]
    return padded(shape, before, extents), lambda a, _: np.pad(a, list(zip(before, after, strict=True)), constant_values=-1)


# (shape, steps, number of stages of the simplest map)
CHAINS: dict[str, tuple[Sequence[int], list[Step], int]] = {
    "batches of images join": ((N, 3, 8, 8), [reshape((N * 3, 64))], 1),
    "heads come out": ((N, M, 768), [reshape((N, M, 12, 64)), transpose((N, M, 12, 64), (0, 2, 1, 3))], 1),
    "heads go in": ((N, 12, M, 64), [transpose((N, 12, M, 64), (0, 2, 1, 3)), reshape((N, M, 768))], 1),
    "heads go in and rows join": (
        (N, 12, M, 64),
        [transpose((N, 12, M, 64), (0, 2, 1, 3)), reshape((N, M, 768)), reshape((N * M, 768))],
        1,
    ),
    "keys stand upright": ((N, M, 12, 64), [transpose((N, M, 12, 64), (0, 2, 3, 1))], 1),
    "a mask repeats": ((N, 1, 1, M), [expand((N, 1, 1, M), (N, 12, M, M))], 1),
    "the first token": ((N, M, 64), [crop((N, M, 64), (0, 0, 0), (N, 1, 64)), reshape((N, 64))], 1),
    "all but the last": ((N, M + 1), [crop((N, M + 1), (0, 0), (N, M))], 1),
    "padded rows": ((N, M), [pad((N, M), (0, 2), (0, 1)), reshape((N, M + 3, 1))], 1),
    "shuffled channels": ((N, 6, M), [reshape((N, 2, 3, M)), transpose((N, 2, 3, M), (0, 2, 1, 3)), reshape((N, 6, M))], 1),
    "columns of rows": ((N, M), [transpose((N, M), (1, 0)), reshape((M * N,))], 1),
    "rows of columns, cut anew": ((N, M), [transpose((N, M), (1, 0)), reshape((N, M))], 2),
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains_find_what_numpy_finds(name: str) -> None:
    shape, steps, stages = CHAINS[name]
    index_map = identity(shape)
    for step, _ in steps:
        index_map = compose(step, index_map)
    assert len(index_map.stages) == stages
    for sizes in SIZES:
        array = np.arange(np.prod(bind(tuple(shape), sizes))).reshape(bind(tuple(shape), sizes))
        for _, apply in steps:
            array = apply(array, sizes)
        offsets, valid = bind(index_map, sizes).offsets()
        np.testing.assert_array_equal(np.where(valid, offsets, -1), array)


@pytest.mark.parametrize("name", CHAINS)
def test_coordinates_join(name: str) -> None:
    shape, steps, _ = CHAINS[name]
    index_map = identity(shape)
    for step, _ in steps:
        index_map = compose(step, index_map)
    flat = regroup(index_map, [list(range(len(index_map.extents)))])
    for sizes in SIZES:
        offsets, valid = bind(flat, sizes).offsets()
        found, holds = bind(index_map, sizes).offsets()
        np.testing.assert_array_equal(np.where(valid, offsets, -1), np.where(holds, found, -1).reshape(-1))


def test_maps_are_equal_where_they_are_for_all_sizes() -> None:
    assert identity((N, M)) == identity((N + 0, M * 1))
    assert identity((N, M)) != identity((M, N))
    assert Axis(N, 1) == Axis(N + 0, 1) and Axis(N, 1) != Axis(1, 1)
    assert len({Stage(((Axis(N, M),),)), Stage(((Axis(N, 1),),)), Stage(((Axis(N, 0 + M),),))}) == 2


def test_vectors_need_divisors_that_are_known() -> None:
    wide = symbol("w", 8, 512, 8)
    assert identity((N, 64)).contiguous_width(8) == 8
    assert identity((N, M)).contiguous_width(8) == 1
    assert identity((N, wide)).contiguous_width(8) == 8
    assert identity((N, wide)).contiguous_width(16) == 8
    assert identity((N * 4,)).contiguous_width(8) == 4


def test_trees_of_data_are_bound_whole() -> None:
    tree = (identity((N, M * 2)), "text", 3)
    bound = bind(tree, {"n": 2, "m": 5})
    assert bound[0] == identity((2, 10)) and bound[1:] == ("text", 3)
    assert bind(bound, {"n": 2}) is bound
    assert all(is_symbolic(e) for e in expressions(tree)) and any(same(e, N * M * 2) for e in expressions(((N * M * 2,), tree)))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_padding_of_a_size_that_is_not_known(mode: str) -> None:
    """The pieces of a Pad, tried in order, find what numpy's pad finds."""
    wide = symbol("p", 5, 40)
    emit = GraphBuilder()
    data = emit.input("x", TensorType(F32, (N, wide)))
    padded_value = emit.node("Pad", [data, emit.constant(np.array([0, 3, 0, 2], np.int64))], mode=mode)
    assert same(padded_value.type.static, (N, wide + 5))
    parts = pieces(emit.nodes[-1], padded_value)
    for n, p in product((1, 2), (5, 6, 17)):
        array = np.arange(n * p).reshape(n, p)
        found = np.full((n, p + 5), -1)
        for piece in reversed(parts):
            offsets, valid = bind(piece.map, {"n": n, "p": p}).offsets()
            found = np.where(valid, offsets if piece.operand == 0 else -1, found)
        numpy_mode = {"constant": {"mode": "constant", "constant_values": -1}}.get(mode, {"mode": mode})
        np.testing.assert_array_equal(found, np.pad(array, [(0, 0), (3, 2)], **numpy_mode))


def test_sizes_that_may_be_zero_merge_as_others_do() -> None:
    rows = symbol("z", 0, 9)
    column = compose(broadcast((rows, 1), (rows, 4)), identity((rows, 1)))
    assert column == broadcast((rows, 1), (rows, 4)) and len(column.stages) == 1
    turned = compose(permuted((rows, 4), (1, 0)), column)
    assert len(turned.stages) == 1
    for size in (0, 1, 5):
        offsets, valid = bind(turned, {"z": size}).offsets()
        np.testing.assert_array_equal(offsets, np.broadcast_to(np.arange(size), (4, size)))
        assert valid.all()

"""Steps of random graphs with open dimensions that move elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ops.builder import GraphBuilder
from tests.support.open_graphs.drawing import Drawing, equal, is_open, smallest
from tests.support.open_graphs.sizes import dim, ints, shape_of


def transpose(d: Drawing) -> None:
    """Any order of the dimensions."""
    at = d.pick()
    order = list(range(len(d.shape(at))))
    d.random.shuffle(order)
    d.append(lambda b, v: b.node("Transpose", (v[at],), perm=tuple(order)), d.greatest[at])


def merge(d: Drawing) -> None:
    """Two neighbouring dimensions become one: its size is multiplied out by nodes, or left to -1."""
    at = d.pick()
    rank = len(d.shape(at))
    if rank < 2:
        return
    axis, is_inferred = d.random.randrange(rank - 1), d.random.random() < 0.5 and _has_elements(d.shape(at))

    def step(b: GraphBuilder, v: list[Value]) -> Value:
        both = -1 if is_inferred else b.node("Mul", (dim(b, v[at], axis), dim(b, v[at], axis + 1)))
        parts = [dim(b, v[at], i) for i in range(axis)] + [both] + [dim(b, v[at], i) for i in range(axis + 2, rank)]
        return b.node("Reshape", (v[at], shape_of(b, parts)))

    d.append(step, d.greatest[at])


def _has_elements(shape: Sequence[int]) -> bool:
    """Whether there are elements at all sizes, so that -1 in a shape has one meaning."""
    return all(smallest(size) > 0 for size in shape)


def cut(d: Drawing) -> None:
    """A dimension becomes two, of which one is a number that divides it."""
    at = d.pick()
    shape = d.shape(at)
    if not shape:
        return
    axis, parts, is_first = d.random.randrange(len(shape)), d.random.choice([2, 3, 4]), d.random.random() < 0.5

    def step(b: GraphBuilder, v: list[Value]) -> Value:
        whole = dim(b, v[at], axis)
        quotient = b.node("Div", (whole, ints(b, parts)))
        pair = [parts, quotient] if is_first else [quotient, parts]
        before, behind = ([dim(b, v[at], i) for i in r] for r in (range(axis), range(axis + 1, len(shape))))
        return b.node("Reshape", (v[at], shape_of(b, [*before, *pair, *behind])))

    d.append(step, d.greatest[at])


def flatten(d: Drawing) -> None:
    """All dimensions from one on together, by -1."""
    at = d.pick()
    rank = len(d.shape(at))
    axis = d.random.randint(0, rank)
    if not _has_elements(d.shape(at)):
        return
    d.append(lambda b, v: b.node("Reshape", (v[at], shape_of(b, [*[0] * axis, -1]))), d.greatest[at])


def squeeze(d: Drawing) -> None:
    """A dimension of 1 comes or goes."""
    at = d.pick()
    shape = d.shape(at)
    ones = [i for i, size in enumerate(shape) if equal(size, 1)]
    if ones and d.random.random() < 0.6:
        axis = d.random.choice(ones)
        d.append(lambda b, v: b.node("Squeeze", (v[at], ints(b, axis))), d.greatest[at])
    elif len(shape) < 5:
        place = d.random.randint(0, len(shape))
        d.append(lambda b, v: b.node("Unsqueeze", (v[at], ints(b, place))), d.greatest[at])


def concat(d: Drawing) -> None:
    """Several values along an axis, one perhaps twice."""
    at = d.pick()
    shape = d.shape(at)
    if not shape:
        return
    axis = d.random.randrange(len(shape))
    fits = [i for i in range(len(d.values)) if _joins(d.shape(i), shape, axis)]
    chosen = [at, *(d.random.choice(fits) for _ in range(d.random.randint(1, 2)))]
    d.random.shuffle(chosen)
    d.append(lambda b, v: b.node("Concat", [v[i] for i in chosen], axis=axis), max(d.greatest[i] for i in chosen))


def _joins(shape: tuple[int, ...], other: tuple[int, ...], axis: int) -> bool:
    return len(shape) == len(other) and all(i == axis or equal(a, b) for i, (a, b) in enumerate(zip(shape, other, strict=True)))


def slice_(d: Drawing) -> None:
    """A part along an axis, whose ends are numbers, count from behind, or are computed."""
    at = d.pick()
    shape = d.shape(at)
    if not shape:
        return
    axis = d.random.randrange(len(shape))
    step_ = d.random.choice([1, 1, 1, 2, 3])
    begin = d.random.choice([0, 0, 1, 2, -1, -2])
    kind, off = d.random.choice(["end", "number", "behind", "computed"]), d.random.randint(1, 3)

    def step(b: GraphBuilder, v: list[Value]) -> Value:
        size = dim(b, v[at], axis)
        ends = {
            "end": lambda: ints(b, 2**31 - 1),
            "number": lambda: ints(b, off + 1),
            "behind": lambda: ints(b, -off),
            "computed": lambda: b.node("Sub", (size, ints(b, off))),
        }
        return b.node("Slice", (v[at], ints(b, begin), ends[kind](), ints(b, axis), ints(b, step_)))

    d.append(step, d.greatest[at])


def halves(d: Drawing) -> None:
    """The second half of a dimension, as rotary embeddings take it: from a computed place on."""
    at = d.pick()
    shape = d.shape(at)
    if not shape:
        return
    axis = d.random.randrange(len(shape))

    def step(b: GraphBuilder, v: list[Value]) -> Value:
        middle = b.node("Div", (dim(b, v[at], axis), ints(b, 2)))
        return b.node("Slice", (v[at], middle, ints(b, 2**31 - 1), ints(b, axis)))

    d.append(step, d.greatest[at])


def pad(d: Drawing) -> None:
    """Zeros, or a number, around."""
    at = d.pick()
    rank = len(d.shape(at))
    if not rank:
        return
    amounts = [d.random.choice([0, 0, 1, 2]) for _ in range(2 * rank)]
    fill = d.random.choice([0, 2])
    d.append(lambda b, v: b.node("Pad", (v[at], ints(b, *amounts), b.constant(np.array(fill, np.float32)))), max(2.0, d.greatest[at]))


def expand(d: Drawing) -> None:
    """The shape of another value."""
    at, other = d.pick(), d.pick()
    d.append(lambda b, v: b.node("Expand", (v[at], b.node("Shape", (v[other],)))), d.greatest[at])


def split(d: Drawing) -> None:
    """The first or the second of two parts of a known dimension."""
    at = d.pick()
    shape = d.shape(at)
    known = [axis for axis, size in enumerate(shape) if not is_open(size) and size > 1]
    if not known:
        return
    axis, number = d.random.choice(known), d.random.randrange(2)
    first = d.random.randint(1, shape[axis] - 1)

    def step(b: GraphBuilder, v: list[Value]) -> Value:
        attrs = b.attributes(b.operator("Split"), None, {"axis": axis})
        return b.results("Split", (v[at], ints(b, first, shape[axis] - first)), 2, attrs)[number]

    d.append(step, d.greatest[at])


def repeat(d: Drawing) -> None:
    """A value several times along an axis, by a known number or by the size of another value."""
    at, other = d.pick(), d.pick()
    rank = len(d.shape(at))
    if not rank:
        return
    axis, times, is_open_ = d.random.randrange(rank), d.random.randint(0, 3), d.random.random() < 0.5 and d.shape(other)

    def step(b: GraphBuilder, v: list[Value]) -> Value:
        count = dim(b, v[other], 0) if is_open_ else times
        return b.node("Tile", (v[at], shape_of(b, [count if i == axis else 1 for i in range(rank)])))

    d.append(step, d.greatest[at])

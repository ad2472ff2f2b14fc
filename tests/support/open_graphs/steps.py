"""The steps that random graphs with open dimensions are made of. Each adds one to a drawing, or does nothing where it does not fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ops.builder import GraphBuilder
from tests.support.open_graphs.drawing import MOST_PRODUCTS, Drawing, equal, is_open, most_products, smallest

INT64 = np.int64


def ints(builder: GraphBuilder, *numbers: int) -> Value:
    """Return a constant vector."""
    return builder.constant(np.array(numbers, INT64))


def dim(builder: GraphBuilder, value: Value, axis: int) -> Value:
    """Return a dimension as exporters read it, a vector of one number."""
    number = builder.node("Gather", (builder.node("Shape", (value,)), builder.constant(np.array(axis, INT64))), axis=0)
    return builder.node("Unsqueeze", (number, ints(builder, 0)))


def shape_of(builder: GraphBuilder, parts: Sequence[Value | int]) -> Value:
    """Return a shape that is joined from computed and known numbers."""
    return builder.node("Concat", [ints(builder, part) if isinstance(part, int) else part for part in parts], axis=0)


def unary(d: Drawing) -> None:
    """An elementwise function of one operand."""
    at = d.pick()
    op = d.random.choice(["Relu", "Neg", "Abs", "Tanh", "Sigmoid"])
    rounds = op in ("Tanh", "Sigmoid")
    d.append(lambda b, v: b.node(op, (v[at],)), 1.0 if rounds else d.greatest[at], rounds=rounds)


def binary(d: Drawing) -> None:
    """An elementwise function of two operands, which broadcast: another value, a number, or a vector for the last dimension."""
    at, other = d.pick(), d.pick()
    op = d.random.choice(["Add", "Sub", "Mul", "Max", "Min"])
    kind, seed = d.random.random(), d.random.randrange(1 << 30)
    shape = d.shape(at)
    last = shape[-1] if shape else 1

    def operand(b: GraphBuilder, v: list[Value]) -> Value:
        if kind < 0.6:
            return v[other]
        vector = (last,) if kind < 0.8 and not is_open(last) else ()
        return b.constant(np.random.default_rng(seed).integers(-3, 4, vector).astype(np.float32))

    a, c = d.greatest[at], d.greatest[other] if kind < 0.6 else 3.0
    bound = {"Add": a + c, "Sub": a + c, "Mul": a * c, "Max": max(a, c), "Min": max(a, c)}[op]
    d.append(lambda b, v: b.node(op, (v[at], operand(b, v))), bound)


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


def reduce(d: Drawing) -> None:
    """Sums, means and extremes over some axes; an extreme of nothing is none."""
    at = d.pick()
    shape = d.shape(at)
    if not shape:
        return
    axes = sorted(d.random.sample(range(len(shape)), d.random.randint(1, len(shape))))
    op = d.random.choice(["ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean"])
    if op != "ReduceSum" and any(smallest(shape[axis]) == 0 for axis in axes):
        return
    keep = int(d.random.random() < 0.5)
    count = most_products(*(shape[axis] for axis in axes)) if op == "ReduceSum" else 1
    d.append(lambda b, v: b.node(op, (v[at], ints(b, *axes)), keepdims=keep), d.greatest[at] * max(1, count), rounds=op == "ReduceMean")


def softmax(d: Drawing) -> None:
    """Softmax over an axis."""
    at = d.pick()
    rank = len(d.shape(at))
    if rank and d.greatest[at] < 30:
        axis = d.random.randrange(rank)
        d.append(lambda b, v: b.node("Softmax", (v[at],), axis=axis), 1.0, rounds=True)


def by_weights(d: Drawing) -> None:
    """A product with a constant matrix."""
    at = d.pick()
    shape = d.shape(at)
    if len(shape) < 2 or is_open(shape[-1]):
        return
    columns, seed = d.random.randint(1, 6), d.random.randrange(1 << 30)
    if most_products(*shape, columns) > MOST_PRODUCTS:
        return

    def step(b: GraphBuilder, v: list[Value]) -> Value:
        weight = np.random.default_rng(seed).integers(-2, 3, (shape[-1], columns)).astype(np.float32)
        return b.node("MatMul", (v[at], b.constant(weight)))

    d.append(step, 2 * d.greatest[at] * shape[-1])


def by_itself(d: Drawing) -> None:
    """A product of two values, or of one with itself turned: rows, columns and depth may all be open."""
    at = d.pick()
    shape = d.shape(at)
    if len(shape) < 2 or most_products(*shape, max(shape[-2:], key=lambda s: most_products(s))) > MOST_PRODUCTS:
        return
    others = [i for i in range(len(d.values)) if len(d.shape(i)) >= 2 and equal(d.shape(i)[-2], shape[-1])]
    other = d.random.choice(others) if others and d.random.random() < 0.5 else None
    order = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)

    def step(b: GraphBuilder, v: list[Value]) -> Value:
        right = b.node("Transpose", (v[at],), perm=order) if other is None else v[other]
        return b.node("MatMul", (v[at], right))

    greatest = d.greatest[at] * (d.greatest[at] if other is None else d.greatest[other]) * max(1, most_products(shape[-1]))
    d.append(step, greatest)


def gather(d: Drawing) -> None:
    """Rows by known indices, which every size has."""
    at = d.pick()
    shape = d.shape(at)
    if not shape:
        return
    axis = d.random.randrange(len(shape))
    least = smallest(shape[axis])
    if least < 1:
        return
    rows = [d.random.randrange(-least, least) for _ in range(d.random.randint(1, 4))]
    is_scalar = d.random.random() < 0.3
    d.append(lambda b, v: b.node("Gather", (v[at], b.constant(np.array(rows[0] if is_scalar else rows, INT64))), axis=axis), d.greatest[at])


def where(d: Drawing) -> None:
    """A choice between two values by a comparison with a third."""
    at, other, third = d.pick(), d.pick(), d.pick()

    def step(b: GraphBuilder, v: list[Value]) -> Value:
        is_positive = b.node("Greater", (v[third], b.constant(np.array(0, np.float32))))
        return b.node("Where", (is_positive, v[at], v[other]))

    if d.is_exact or not d.has_rounding:  # a rounded number near zero may fall on either side
        d.append(step, max(d.greatest[at], d.greatest[other]))


def positions(d: Drawing) -> None:
    """Numbers from 0 on along an axis, as positions are made, added."""
    at = d.pick()
    shape = d.shape(at)
    if not shape:
        return
    axis = d.random.randrange(len(shape))

    def step(b: GraphBuilder, v: list[Value]) -> Value:
        size = b.node("Squeeze", (dim(b, v[at], axis), ints(b, 0)))
        numbers = b.node("Range", (b.constant(np.array(0, INT64)), size, b.constant(np.array(1, INT64))))
        column = b.node("Unsqueeze", (numbers, ints(b, *range(1, len(shape) - axis)))) if axis + 1 < len(shape) else numbers
        return b.node("Add", (v[at], b.node("Cast", (column,), to=_F32)))

    d.append(step, d.greatest[at] + most_products(shape[axis]))


def mean_by_size(d: Drawing) -> None:
    """Divides by a size that is a number among others."""
    at = d.pick()
    shape = d.shape(at)
    if not shape:
        return
    axis = d.random.randrange(len(shape))
    if smallest(shape[axis]) < 1:
        return

    def step(b: GraphBuilder, v: list[Value]) -> Value:
        return b.node("Div", (v[at], b.node("Cast", (dim(b, v[at], axis),), to=_F32)))

    d.append(step, d.greatest[at], rounds=True)


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


def running_sum(d: Drawing) -> None:
    """Sums of what there is so far along an axis, from either end, each with or without the element itself."""
    at = d.pick()
    shape = d.shape(at)
    if not shape:
        return
    axis, is_reverse, is_exclusive = d.random.randrange(len(shape)), d.random.randint(0, 1), d.random.randint(0, 1)

    def step(b: GraphBuilder, v: list[Value]) -> Value:
        return b.node("CumSum", (v[at], b.constant(np.array(axis, INT64))), reverse=is_reverse, exclusive=is_exclusive)

    d.append(step, d.greatest[at] * max(1, most_products(shape[axis])))


def triangle(d: Drawing) -> None:
    """What is above or below a diagonal of the last two dimensions."""
    at = d.pick()
    if len(d.shape(at)) < 2:
        return
    diagonal, is_upper = d.random.randint(-2, 2), d.random.randint(0, 1)
    d.append(lambda b, v: b.node("Trilu", (v[at], b.constant(np.array(diagonal, INT64))), upper=is_upper), d.greatest[at])


def greatest_ones(d: Drawing) -> None:
    """The greatest or least half of an axis, or one fewer than there are, in order."""
    at = d.pick()
    shape = d.shape(at)
    if not shape:
        return
    axis, is_largest, is_half = d.random.randrange(len(shape)), d.random.randint(0, 1), d.random.random() < 0.5
    if not is_half and smallest(shape[axis]) < 1:
        return

    def step(b: GraphBuilder, v: list[Value]) -> Value:
        count = b.node("Div", (dim(b, v[at], axis), ints(b, 2))) if is_half else b.node("Sub", (dim(b, v[at], axis), ints(b, 1)))
        attrs = b.attributes(b.operator("TopK"), None, {"axis": axis, "largest": is_largest})
        return b.results("TopK", (v[at], count), 2, attrs)[0]

    if d.is_exact or not d.has_rounding:  # rounded numbers that are nearly equal may change places
        d.append(step, d.greatest[at])


_F32 = 1
"""TensorProto.FLOAT."""

STEPS: tuple[Callable[[Drawing], None], ...] = (
    *(unary, binary, binary, binary, transpose, transpose, merge, merge, cut, flatten, squeeze, concat, concat, slice_, slice_, halves),
    *(pad, expand, reduce, reduce, softmax, by_weights, by_weights, by_itself, gather, where, positions, mean_by_size, split),
    *(repeat, running_sum, triangle, greatest_ones),
)
"""Several times what shall be drawn more often."""

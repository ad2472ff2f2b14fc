"""Steps of random graphs with open dimensions that compute."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ops.builder import GraphBuilder
from tests.support.open_graphs.drawing import MOST_PRODUCTS, Drawing, equal, is_open, most_products, smallest
from tests.support.open_graphs.sizes import INT64, dim, ints

_F32 = 1
"""TensorProto.FLOAT."""


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

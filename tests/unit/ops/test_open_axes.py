"""Axes and shapes that only a run knows: reductions, running sums, Squeeze, Unsqueeze, Reshape, Expand, lowered once, at all values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from math import prod

import numpy as np
import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.operands import RangeError, UnknownContentsError
from tests.unit.ops.open_lowered import Open, elements

N = symbol("n", 1, 5)
RANDOM = np.random.default_rng(3)
ROUNDING = 1e-3
"""Of sums in another order: what is wrong is wrong by more."""

REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")


def data(*shape: int) -> np.ndarray:
    return RANDOM.uniform(0.5, 1.5, shape).astype(np.float32)


def vector(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def distinct(rank: int, count: int) -> Iterator[tuple[int, ...]]:
    """Every choice of COUNT axes in any order, counted from the front and from the end."""
    for axes in permutations(range(rank), count):
        for back in product((0, rank), repeat=count):
            yield tuple(axis - shift for axis, shift in zip(axes, back, strict=True))


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions(op: str, keepdims: int) -> None:
    for shape, count in (((N,), 1), ((2, N), 1), ((2, N, 3), 1), ((2, N, 3), 2), ((2, N, 3), 3), ((1, N, 2, 2), 2)):
        rank = len(shape)
        axes = elements("axes", *[(-rank, rank - 1)] * count)
        one = Open(f"Reduce{op}", {"x": TensorType(F32, shape), "axes": axes}, keepdims=keepdims)
        for chosen in distinct(rank, count):
            one.check({"x": data(*bind(shape, {"n": int(RANDOM.integers(1, 6))})), "axes": vector(*chosen)}, ROUNDING)


@pytest.mark.parametrize("op", ["Sum", "Prod", "Max", "Min", "Mean", "LogSumExp", "L2"])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions_of_nothing(op: str, keepdims: int) -> None:
    one = Open(f"Reduce{op}", {"x": TensorType(F32, (2, 0, 3)), "axes": elements("axes", (-3, 2))}, keepdims=keepdims)
    for axis in range(-3, 3):
        (truth,) = one.check({"x": data(2, 0, 3), "axes": vector(axis)}, 0.0 if op != "Mean" else ROUNDING)
        assert truth.size == (6 if axis % 3 == 1 else 0)


@pytest.mark.parametrize("op", ["CumSum", "CumProd"])
@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_cumulative(op: str, exclusive: int, reverse: int) -> None:
    for shape in ((2, N), (2, N, 3), (N, 1, 2, 2)):
        rank = len(shape)
        axis = elements("axis", (-rank, rank - 1), is_scalar=True)
        one = Open(op, {"x": TensorType(F32, shape), "axis": axis}, exclusive=exclusive, reverse=reverse)
        assert one.inferred[0].shape == shape
        for chosen in range(-rank, rank):
            arrays = {"x": data(*bind(shape, {"n": int(RANDOM.integers(1, 6))})), "axis": np.array(chosen)}
            one.check(arrays, ROUNDING)


def test_unsqueeze() -> None:
    for shape, count in (((), 1), ((), 2), ((N,), 1), ((2, N), 2), ((2, N, 3), 1), ((2, N, 3), 3)):
        rank = len(shape) + count
        one = Open("Unsqueeze", {"x": TensorType(F32, shape), "axes": elements("axes", *[(-rank, rank - 1)] * count)})
        for chosen in distinct(rank, count):
            one.check({"x": data(*bind(shape, {"n": int(RANDOM.integers(1, 6))})), "axes": vector(*chosen)})


def test_squeeze() -> None:
    for shape, count in (((1,), 1), ((1, N), 1), ((1, N, 1), 2), ((1, 4, 1, N, 1), 2)):
        rank = len(shape)
        one = Open("Squeeze", {"x": TensorType(F32, shape), "axes": elements("axes", *[(-rank, rank - 1)] * count)})
        for chosen in distinct(rank, count):
            n = int(RANDOM.integers(1, 6))
            full = bind(shape, {"n": n})
            if all(full[axis] == 1 for axis in chosen):
                one.check({"x": data(*full), "axes": vector(*chosen)})


def factorizations(total: int, rank: int) -> Iterator[tuple[int, ...]]:
    if rank == 1:
        yield (total,)
        return
    for size in range(1, total + 1):
        if total % size == 0:
            yield from ((size, *rest) for rest in factorizations(total // size, rank - 1))


@pytest.mark.parametrize(("shape", "rank"), [((2, 3), 1), ((2, 3), 2), ((2, N, 2), 2), ((N, 3, 2), 3), ((4, N), 4)])
def test_reshape(shape: tuple[int, ...], rank: int) -> None:
    most = upper(prod(shape))
    one = Open("Reshape", {"x": TensorType(F32, shape), "shape": elements("shape", *[(-1, most)] * rank)})
    assert upper(one.inferred[0].elements) <= most
    for n in (1, 2, 5):
        full = bind(shape, {"n": n})
        for sizes in factorizations(prod(full), rank):
            one.check({"x": data(*full), "shape": vector(*sizes)})
            place = int(RANDOM.integers(0, rank))
            one.check({"x": data(*full), "shape": vector(*(-1 if number == place else size for number, size in enumerate(sizes)))})
            copied = [0 if number < len(full) and size == full[number] else size for number, size in enumerate(sizes)]
            one.check({"x": data(*full), "shape": vector(*copied)})


def test_reshape_of_nothing() -> None:
    one = Open("Reshape", {"x": TensorType(F32, (0, 3)), "shape": elements("shape", (-1, 9), (-1, 9))}, allowzero=1)
    for sizes in ((0, 3), (3, 0), (0, 0), (7, 0)):
        one.check({"x": data(0, 3), "shape": vector(*sizes)})


def test_expand() -> None:
    one = Open("Expand", {"x": TensorType(F32, (N, 1, 3)), "shape": elements("shape", *[(0, 9)] * 4)})
    for n in (1, 2, 5):
        for sizes in ((1, 1, 1, 1), (2, n, 4, 3), (1, 1, 5, 3), (3, n, 1, 1), *(((2, 6, 2, 3), (1, 4, 0, 1)) if n == 1 else ())):
            one.check({"x": data(n, 1, 3), "shape": vector(*sizes)})


def test_what_is_kept_broadcasts_to_what_was_reduced() -> None:
    builder = GraphBuilder()
    x, axes = (
        builder.input("x", TensorType(F32, (2, N, 3))),
        builder.input("axes", TensorType(I64, (2,)), elements("axes", (-3, 2), (-3, 2))),
    )
    kept = builder.node("ReduceMax", [x, axes], keepdims=1)
    before = len(builder.requirements)
    assert builder.node("Sub", [x, kept]).type == x.type and builder.node("Div", [kept, x]).type == x.type
    assert len(builder.requirements) == before, "what is 1 or the size itself needs no check"


def test_sizes_of_values_that_meet_are_checked_by_the_run() -> None:
    builder = GraphBuilder()
    shape = builder.input("shape", TensorType(I64, (2,)), elements("shape", (0, 9), (0, 9)))
    wide = builder.node("Expand", [builder.input("x", TensorType(F32, ())), shape])
    other = builder.input("y", TensorType(F32, (5,)))
    met = builder.node("Add", [wide, other])
    assert [bind(size, {"shape[0]": 4, "shape[1]": 1}) for size in met.type.static] == [4, 5]
    (one,) = builder.requirements[-1:]
    assert [bind(one.value, {"shape[0]": 4, "shape[1]": size}) for size in (1, 5, 4, 0)] == [0, 0, 1, 1]
    with pytest.raises(ModelError):
        builder.node("Add", [other, builder.input("z", TensorType(F32, (4,)))])


def test_the_builder_asks_for_what_it_must_know() -> None:
    builder = GraphBuilder()
    x, axes = builder.input("x", TensorType(F32, (2, 3))), builder.input("axes", TensorType(I64, (1,)))
    with pytest.raises(UnknownContentsError) as unknown:
        builder.node("ReduceSum", [x, builder.node("Neg", [axes])])
    assert unknown.value.inputs == ("axes",)
    builder = GraphBuilder()
    x, axes = builder.input("x", TensorType(F32, (2, 3))), builder.input("axes", TensorType(I64, (1,)), elements("axes", (-9, 9)))
    with pytest.raises(RangeError) as wide:
        builder.node("ReduceSum", [x, axes])
    assert wide.value.ranges == {"axes[0]": (-2, 1)}
    with pytest.raises(RangeError) as mirrored:
        builder.node("ReduceSum", [x, builder.node("Neg", [axes])])
    assert mirrored.value.ranges == {"axes[0]": (-1, 2)}


def test_values_that_no_run_can_have_are_refused() -> None:
    builder = GraphBuilder()
    x, axes = builder.input("x", TensorType(F32, (2, 3))), builder.input("axes", TensorType(I64, (1,)), elements("axes", (5, 9)))
    with pytest.raises(ModelError, match=r"axes is axes\[0\]; for a tensor of rank 2 the specification allows -2 to 1"):
        builder.node("ReduceSum", [x, axes])


def test_what_is_computed_of_elements_is_data_too() -> None:
    """The node that computes a shape stays, for whoever reads it; the one that takes its shape from it does not."""
    builder = GraphBuilder()
    x, many = builder.input("x", TensorType(F32, ())), builder.input("many", TensorType(I64, (1,)), elements("many", (0, 9)))
    twice = builder.node("Add", [many, many])
    wide = builder.node("Expand", [x, twice])
    graph = builder.graph([("twice", twice), ("wide", wide)])
    assert [node.op for node in graph.nodes] == ["Add", "Expand"] and twice.contents is None
    shape = graph.nodes[1].inputs[1]
    assert shape is not None and shape is not twice and shape.contents is not None
    assert upper(wide.type.static[0]) == 18

"""Unique: the different elements, or slices, of a tensor, whose number a kernel counts where the tensor is not known at compile time.

Each slice is held against all others: where it occurs first, how often, and before how many different ones it comes. That is squared
work, in kernels that store a number a slice and nothing in between, and needs no sorting. Where there may be many, they are sorted, which
a loop does, and each is held against the one before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from nautilus_cli.frontend.constructs.base import Construct, Occurrence
from nautilus_cli.frontend.constructs.sorting import can_sort, sorted_order
from nautilus_cli.frontend.entities import Entity
from nautilus_cli.ir.counts import ceiling
from nautilus_cli.ir.dims import same, upper
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BOOL, F32, I32, I64, U32, U64
from nautilus_cli.ops.arg_key import ORDERED_BITS
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.numbers import Arithmetic, number, progression
from nautilus_cli.ops.reduce import ReduceAttrs
from nautilus_cli.ops.wide import cast, reshape

MOST_COMPARED = 16384
"""Slices up to which each is held against all others: sorting takes a launch or two for each bit."""


def _build(call: Occurrence) -> Sequence[Entity | None]:
    call.count(1, 1)
    x, builder = call.tensor(0), call.builder
    is_sorted = call.integer("sorted", 1)
    if is_sorted not in (0, 1):
        raise call.error(f"sorted is {is_sorted}; the specification allows 0 and 1")
    axis = call.integer("axis", 0) if "axis" in call.attributes else None
    rank = len(x.type.shape)
    wanted = [call.tensor_name(i) if name else False for i, name in enumerate(call.node.output)]
    if x.constant is not None or same(x.type.elements, 0):
        attributes = {"sorted": is_sorted} if axis is None else {"sorted": is_sorted, "axis": axis}
        return builder.apply("Unique", [x], outputs=tuple(wanted), **attributes)
    if axis is not None and not -rank <= axis < rank:
        raise call.error(f"axis is {axis}; for a tensor of rank {rank} the specification allows {-rank} to {rank - 1}")
    axis = None if axis is None else axis % rank
    found = _equal_slices(call, _slices(builder, x, axis))
    numbers, order = found.numbered(builder, call.size_name(0), is_sorted=bool(is_sorted))
    data = reshape(builder, x, (x.type.elements,)) if axis is None else x
    results: list[Value] = [
        builder.apply("Gather", [data, order], outputs=(wanted[0] or None,), axis=axis or 0)[0],  # type: ignore[list-item]
        order,
        numbers,
        builder.node("Gather", [found.counts, order]),
    ]
    return [result if name is not False else None for result, name in zip(results, wanted, strict=False)]


def _slices(builder: GraphBuilder, x: Value, axis: int | None) -> Value:
    """Return keys [slices, elements of each] that order as the elements do; NaN above everything, and equal to itself."""
    dtype = x.type.dtype
    if dtype.bits < 32:
        x = cast(builder, x, F32 if dtype.is_float else I32 if dtype.kind == "int" else U32)
    if axis is None:
        x = reshape(builder, x, (x.type.elements, 1))
    else:
        shape = x.type.static
        x = builder.node("Transpose", [x], perm=(axis, *(i for i in range(len(shape)) if i != axis)))
        x = reshape(builder, x, (shape[axis], prod(d for i, d in enumerate(shape) if i != axis)))
    return builder.node(ORDERED_BITS[U32 if x.type.dtype.bits == 32 else U64], [x])


@dataclass(frozen=True, slots=True, kw_only=True)
class _EqualSlices:
    """Which slices are equal, and how the different ones are ordered.

    Attributes:
        first: where it occurs first.
        is_first: whether that is here.
        counts: how often it occurs.
        is_before: [slice, other]: whether the other is less; None where slices were sorted.
        rank: how many different ones are less; None where it was held against all others.
    """

    first: Value
    is_first: Value
    counts: Value
    is_before: Value | None = None
    rank: Value | None = None

    def numbered(self, builder: GraphBuilder, name: str, *, is_sorted: bool) -> tuple[Value, Value]:
        """Return the number of each slice among the different ones, and where each of the different ones is first.

        A slice that is not the first of its kind has a place of its own behind them, which is cut off.
        """
        (count,) = self.first.type.static
        places = progression(builder, count)
        numbers = self._numbers(builder, places, is_sorted=is_sorted)
        total, bound = _reduced(builder, "ReduceSum", cast(builder, self.is_first, I64), 0), ceiling(count)
        if builder.bounds.is_cut(builder, name, bound):
            size = builder.bounds.kept(builder, name, bound, total)
        else:
            builder.holds(size := builder.count(name, bound), total)
        targets = builder.node("Where", [self.is_first, numbers, builder.node("Add", [places, number(builder, count, I64)])])
        room = builder.node("Expand", [number(builder, 0, I64), builder.sizes([2 * count])])
        ordered = builder.node("ScatterElements", [room, targets, places])
        return numbers, builder.node("Slice", [ordered, builder.sizes([0]), builder.sizes([size])])

    def _numbers(self, builder: GraphBuilder, places: Value, *, is_sorted: bool) -> Value:
        """Return the number of each slice among the different ones."""
        (count,) = self.first.type.static
        if self.rank is not None and is_sorted:
            return self.rank
        if self.rank is not None:
            before = builder.node("CumSum", [cast(builder, self.is_first, I64), number(builder, 0, I64)], exclusive=1)
            return builder.node("Gather", [before, self.first])
        is_before = self.is_before
        if not is_sorted or is_before is None:
            is_before = builder.node("Less", [reshape(builder, places, (1, count)), reshape(builder, self.first, (count, 1))])
        others = builder.node("And", [is_before, reshape(builder, self.is_first, (1, count))])
        return _reduced(builder, "ReduceSum", cast(builder, others, I64), 1)


def _equal_slices(call: Occurrence, keys: Value) -> _EqualSlices:
    """Return which slices of these keys are equal."""
    count, length = keys.type.static
    is_many = upper(count) > MOST_COMPARED and isinstance(length, int) and can_sort(length, keys.type.dtype.bits)
    return _by_sorting(call, keys) if is_many else _by_comparing(call.builder, keys)


def _by_sorting(call: Occurrence, keys: Value) -> _EqualSlices:
    """Sort, and hold each slice against the one before it."""
    builder, order = call.builder, sorted_order(call, keys)
    i64 = Arithmetic(builder, I64)
    count, _ = keys.type.static
    places, size = progression(builder, count), number(builder, count, I64)
    before = builder.node("Gather", [order, builder.node("Max", [i64.subtract(places, 1), i64.value(0)])])
    own, other = (builder.node("Gather", [keys, numbers]) for numbers in (order, before))
    differs = _reduced(builder, "ReduceSum", cast(builder, builder.node("Not", [builder.node("Equal", [own, other])]), I64), 1)
    begins = builder.node("Or", [builder.node("Equal", [places, i64.value(0)]), builder.node("Greater", [differs, i64.value(0)])])
    rank = i64.subtract(builder.node("CumSum", [cast(builder, begins, I64), i64.value(0)]), 1)
    # Where each of the different ones begins in the order, and behind the last one how many slices there are; then places for all others.
    room = builder.node("Expand", [size, builder.sizes([2 * count + 1])])
    targets = i64.where(begins, rank, i64.add(i64.add(places, 1), size))
    begun = builder.node("ScatterElements", [room, targets, places])
    begin, end = builder.node("Gather", [begun, rank]), builder.node("Gather", [begun, i64.add(rank, 1)])
    found = (builder.node("Gather", [order, begin]), i64.subtract(end, begin), rank)
    first, counts, ranks = (builder.node("ScatterElements", [order, order, value]) for value in found)
    return _EqualSlices(first=first, is_first=builder.node("Equal", [first, places]), counts=counts, rank=ranks)


def _by_comparing(builder: GraphBuilder, keys: Value) -> _EqualSlices:
    """Hold each slice against all others."""
    count, length = keys.type.static
    own, other = reshape(builder, keys, (count, 1, length)), reshape(builder, keys, (1, count, length))
    if same(length, 1):
        own, other = reshape(builder, keys, (count, 1)), reshape(builder, keys, (1, count))
        is_equal, is_before = builder.node("Equal", [own, other]), builder.node("Less", [other, own])
    else:
        # The first element that differs decides: the greatest of numbers that fall along the slice, odd where the other is less.
        fall = builder.node(
            "Sub", [number(builder, 2 * length, I64), builder.node("Mul", [progression(builder, length), number(builder, 2, I64)])]
        )
        less = builder.node("Where", [builder.node("Less", [other, own]), number(builder, 1, I64), number(builder, 0, I64)])
        differs = builder.node("Not", [builder.node("Equal", [own, other])])
        codes = builder.node("Where", [differs, builder.node("Add", [fall, less]), number(builder, 0, I64)])
        code = _reduced(builder, "ReduceMax", codes, 2)
        is_equal = builder.node("Equal", [code, number(builder, 0, I64)])
        is_before = cast(builder, builder.node("Mod", [code, number(builder, 2, I64)]), BOOL)
    places = progression(builder, count)
    candidates = builder.node("Where", [is_equal, reshape(builder, places, (1, count)), number(builder, count, I64)])
    first = _reduced(builder, "ReduceMin", candidates, 1)
    return _EqualSlices(
        first=first,
        is_first=builder.node("Equal", [first, places]),
        counts=_reduced(builder, "ReduceSum", cast(builder, is_equal, I64), 1),
        is_before=is_before,
    )


def _reduced(builder: GraphBuilder, op: str, value: Value, axis: int) -> Value:
    return builder.node(op, [value, builder.sizes([axis])], ReduceAttrs(keepdims=0))


CONSTRUCT = Construct(name="Unique", build=_build, source="ONNX 28, Unique-28", attributes=("axis", "sorted"), since=11)

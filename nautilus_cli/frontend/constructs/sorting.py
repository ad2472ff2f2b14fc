"""Sorting: the order of many keys, by a loop that the run walks through once for each of their bits.

An iteration deals keys whose bit is 0 to the front and others behind them, and leaves either in the order that they had; from the lowest
bit to the highest that sorts. Source: Knuth, The Art of Computer Programming, volume 3, section 5.2.5, sorting by distribution.
"""

from __future__ import annotations

import numpy as np

from nautilus_cli.frontend.constructs.base import Occurrence
from nautilus_cli.frontend.constructs.held import closed, held
from nautilus_cli.ir.control import LoopAttrs
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BOOL, I64, TensorType
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.numbers import Arithmetic, number, progression
from nautilus_cli.ops.wide import cast, reshape

_MOST_ITERATIONS = 1 << 20


def can_sort(length: int, bits: int) -> bool:
    """Whether keys of so many numbers of so many bits each are sorted in as many iterations as a loop may have."""
    return length * bits <= _MOST_ITERATIONS


def sorted_order(call: Occurrence, keys: Value) -> Value:
    """Return the numbers of keys [keys, numbers of each], of an unsigned type, from the least to the greatest; equal ones as they stand."""
    count, length = keys.type.static
    assert isinstance(length, int)
    bits = keys.type.dtype.bits
    flat = reshape(call.builder, keys, (count * length,))
    start = progression(call.builder, count)
    with call.host.apart() as builder:
        order, bit = Value(TensorType(I64, (count,))), Value(TensorType(I64, ()))
        following = _dealt(builder, flat, order, bit, length, bits)
        states = [("order", order), ("bit", bit)]
        results = [("order", following), ("bit", builder.node("Add", [bit, builder.constant(np.array(1))]))]
        body, outside = closed(builder, states, results)
    attrs = LoopAttrs(body=body, states=2, trips=length * bits, most=_MOST_ITERATIONS)
    return held(call, "nautilus::Loop", [None, None, start, call.constant(np.int64(0)), *outside], attrs, [None, None])[0]


def _dealt(builder: GraphBuilder, flat: Value, order: Value, bit: Value, length: int, bits: int) -> Value:
    """Return an order after it was dealt by one bit: number BIT of all bits of a key, of which the last number has the lowest."""
    i64 = Arithmetic(builder, I64)
    (count,) = order.type.static
    column = i64.subtract(length - 1, i64.divide(bit, bits))
    numbers = builder.node("Gather", [flat, i64.add(i64.multiply(order, length), column) if length > 1 else order])
    shifted = builder.node(
        "BitShift", [numbers, cast(builder, builder.node("Mod", [bit, i64.value(bits)]), numbers.type.dtype)], direction="RIGHT"
    )
    low = builder.node("BitwiseAnd", [shifted, builder.constant(np.array(1, numbers.type.dtype.numpy))])
    is_one = cast(builder, low, BOOL)
    ones = cast(builder, is_one, I64)
    before = builder.node("CumSum", [ones, i64.value(0)], exclusive=1)
    total = builder.node("ReduceSum", [ones, builder.sizes([0])], keepdims=1)
    zeros = i64.subtract(number(builder, count, I64), total)
    place = i64.where(is_one, i64.add(zeros, before), i64.subtract(progression(builder, count), before))
    return builder.node("ScatterElements", [order, place, order])

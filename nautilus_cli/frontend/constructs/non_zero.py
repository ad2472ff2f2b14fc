"""NonZero: where elements are not zero.

How many there are depends on the operand's contents. Where those are known at compile time, so is the result; a declared output of the
model may say how many there are, and then the run checks that it is so; else a kernel counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from nautilus_cli.frontend.constructs.base import Construct, Occurrence
from nautilus_cli.frontend.constructs.selection import required_to_hold
from nautilus_cli.frontend.entities import Entity
from nautilus_cli.ir.dims import is_symbolic, same
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.stages import row_major
from nautilus_cli.ir.types import BOOL, I64
from nautilus_cli.ops.places import places
from nautilus_cli.ops.wide import cast, reshape


def _build(call: Occurrence) -> Sequence[Entity | None]:
    call.count(1, 1)
    x = call.tensor(0)
    count = _declared(call)
    elements = x.type.elements
    if same(elements, 0):
        return [call.constant(np.empty((len(x.type.static), 0), np.int64))]
    if x.constant is not None:
        return call.builder.apply("NonZero", [x], outputs=(call.tensor_name(0),))
    if count is None or is_symbolic(elements) or not x.type.shape:
        flat = reshape(call.builder, cast(call.builder, x, BOOL), (elements,))
        return [coordinates(call, places(call.builder, flat, call.size_name(0)), x.type.static)]
    if count > elements:
        raise call.error(f"its result is declared with {count} places, but its operand has {elements} elements")
    return [_places(call, x, count)]


def _declared(call: Occurrence) -> int | None:
    """Return how many places an output of the model says that there are, None where none does."""
    dims = call.declared(0)
    return dims[1] if dims is not None and len(dims) == 2 and isinstance(dims[1], int) and dims[1] > 0 else None


def _places(call: Occurrence, x: Value, count: int) -> Value:
    """Return [rank, COUNT]: the coordinates of the elements that are not zero, in order.

    An element that is not zero lies where the number of such elements up to it says; each zero has a place of its own behind them, which is
    cut off, so that no two elements want the same.
    """
    node, shape = call.builder.node, x.type.static
    elements = prod(shape)
    is_set = reshape(call.builder, cast(call.builder, x, BOOL), (elements,))
    numbers = call.constant(np.arange(elements))
    ends = node("CumSum", [cast(call.builder, is_set, I64), call.constant(np.int64(0))])
    behind = call.constant(np.arange(count, count + elements))
    places = node("Where", [is_set, node("Sub", [ends, call.constant(np.int64(1))]), behind])
    ordered = node("ScatterElements", [call.constant(np.zeros(count + elements, np.int64)), places, numbers])
    flat = node("Slice", [ordered, call.constant([0]), call.constant([count])])
    found = coordinates(call, flat, shape)
    last = node("Slice", [ends, call.constant([elements - 1]), call.constant([elements])])
    is_right = reshape(call.builder, node("Equal", [last, call.constant([count])]), ())
    return required_to_hold(call.builder, found, [is_right])


def coordinates(call: Occurrence, flat: Value, shape: tuple[int, ...]) -> Value:
    """Return [rank, n]: the coordinates in a tensor of SHAPE of the n elements whose numbers are FLAT."""
    builder, (count,) = call.builder, flat.type.static
    if not shape:  # no coordinate; how many there are is all there is to say
        return builder.node("Slice", [reshape(builder, flat, (1, count)), builder.sizes([0]), builder.sizes([0]), builder.sizes([0])])
    rows = reshape(builder, flat, (1, count))
    if len(shape) > 1:
        strides, extents = (reshape(builder, builder.sizes(sizes), (len(shape), 1)) for sizes in (row_major(shape), shape))
        rows = builder.node("Mod", [builder.node("Div", [rows, strides]), extents])
    (found,) = builder.apply("Identity", [rows], outputs=(call.tensor_name(0),))
    assert found is not None
    return found


CONSTRUCT = Construct(name="NonZero", build=_build, source="ONNX 28, NonZero-13", since=9)

"""Operators on sequences of tensors whose length is known: which tensor goes where is settled here, and nothing is left to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nautilus_cli.frontend.constructs.base import Construct, Occurrence
from nautilus_cli.frontend.constructs.stacking import stacked
from nautilus_cli.frontend.entities import Entity, TensorSequence, Unavailable, as_tensor
from nautilus_cli.ir.graph import Value
from nautilus_cli.ops.element_types import dtype_from_onnx

_BIND = "Where it depends on the value of an input, fix that with --bind NAME=VALUE."


def _construct(call: Occurrence) -> Sequence[Entity | None]:
    call.count(1, None)
    return [_of_one_type(call, [call.tensor(number) for number in range(len(call.operands))])]


def _empty(call: Occurrence) -> Sequence[Entity | None]:
    call.count(0, 0)
    dtype_from_onnx(call.integer("dtype", 1))
    return [TensorSequence(())]


def _insert(call: Occurrence) -> Sequence[Entity | None]:
    call.count(2, 3)
    items, tensor = list(call.sequence(0).items), call.tensor(1)
    place = _place(call, 2, len(items), len(items), default=len(items))
    return [_of_one_type(call, [*items[:place], tensor, *items[place:]])]


def _erase(call: Occurrence) -> Sequence[Entity | None]:
    call.count(1, 2)
    items = call.sequence(0).items
    if not items:
        raise call.error("erases from an empty sequence")
    place = _place(call, 1, len(items), len(items) - 1, default=len(items) - 1)
    return [TensorSequence((*items[:place], *items[place + 1 :]))]


def _at(call: Occurrence) -> Sequence[Entity | None]:
    call.count(2, 2)
    items = call.sequence(0).items
    position = call.single(1, "i", "position")
    tensors = [item for item in items if isinstance(item, Value)]
    is_chosen_later = position is not None and position.constant is None
    if is_chosen_later and len(tensors) == len(items) and len({t.type for t in tensors}) == 1:
        table = stacked(call.builder, tensors, 0)
        assert position is not None
        return call.builder.apply("Gather", [table, _scalar(call, position)], outputs=(call.tensor_name(0),), axis=0)
    if not items:
        raise call.error("reads from an empty sequence")
    return [items[_place(call, 1, len(items), len(items) - 1, default=None)]]


def _length(call: Occurrence) -> Sequence[Entity | None]:
    call.count(1, 1)
    return [call.constant(np.int64(len(call.sequence(0).items)))]


def _concat(call: Occurrence) -> Sequence[Entity | None]:
    call.count(1, 1)
    items = [as_tensor(item, "an element of the sequence", call.where) for item in call.sequence(0).items]
    if "axis" not in call.attributes:
        raise call.error("attribute 'axis' is missing; the specification requires it")
    axis, is_new = call.integer("axis", 0), call.integer("new_axis", 0)
    if is_new not in (0, 1):
        raise call.error(f"new_axis is {is_new}; the specification allows 0 and 1")
    if not items:
        raise call.error("joins an empty sequence")
    rank = len(items[0].type.shape) + is_new
    if not -rank <= axis < rank:
        raise call.error(f"axis is {axis}; for these tensors the specification allows {-rank} to {rank - 1}")
    axis += rank if axis < 0 else 0
    if is_new:
        return [stacked(call.builder, items, axis, call.tensor_name(0))]
    return call.builder.apply("Concat", items, outputs=(call.tensor_name(0),), axis=axis)


def _of_one_type(call: Occurrence, items: Sequence[Value | Unavailable]) -> TensorSequence:
    """Return a sequence, whose elements must have one element type."""
    kinds = dict.fromkeys(item.type.dtype.name for item in items if isinstance(item, Value))
    if len(kinds) > 1:
        raise call.error(f"puts {' and '.join(kinds)} into one sequence; the specification requires one element type")
    return TensorSequence(tuple(items))


def _place(call: Occurrence, number: int, count: int, last: int, default: int | None) -> int:
    """Return the position that an operand gives, counted from the front.

    Args:
        call: the node.
        number: which operand it is.
        count: what a negative position counts from.
        last: the greatest that is allowed.
        default: what holds where it is left out; None where it must not be.
    """
    position = call.single(number, "i", "position")
    if position is None:
        if default is None:
            raise call.error("operand 'position' is missing; the specification requires it")
        return default
    if position.constant is None:
        raise call.error("its position is only known at run time, which is not supported", _BIND)
    place = int(position.constant.item())
    if not -count <= place <= last:
        raise call.error(f"position is {place}; for a sequence of {count} the specification allows {-count} to {last}")
    return place + count if place < 0 else place


def _scalar(call: Occurrence, value: Value) -> Value:
    """Return an operand of one element without dimensions."""
    return value if not value.type.shape else call.builder.node("Reshape", [value, call.constant([])])


_BUILDS: tuple[tuple[str, Callable[[Occurrence], Sequence[Entity | None]], tuple[str, ...]], ...] = (
    ("ConcatFromSequence", _concat, ("axis", "new_axis")),
    ("SequenceAt", _at, ()),
    ("SequenceConstruct", _construct, ()),
    ("SequenceEmpty", _empty, ("dtype",)),
    ("SequenceErase", _erase, ()),
    ("SequenceInsert", _insert, ()),
    ("SequenceLength", _length, ()),
)

CONSTRUCTS = tuple(
    Construct(name=name, build=build, source=f"ONNX 28, {name}-11", attributes=attributes, since=11) for name, build, attributes in _BUILDS
)

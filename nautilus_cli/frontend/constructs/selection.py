"""Work under a condition that is only known at run time: both ways are computed, and one result is chosen.

ONNX's operators have no side effect but one: an index out of range is an error of the run. So indices of work that may turn out to be
unwanted are replaced by zeros where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from nautilus_cli.frontend.constructs.base import Occurrence
from nautilus_cli.frontend.entities import Entity, OptionalValue, TensorSequence, Unavailable, kind
from nautilus_cli.ir.graph import Value
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.wide import reshape

INDEX_OPERANDS: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "MaxUnpool", "ReverseSequence"), 1),
        **dict.fromkeys(("RoiAlign", "TensorScatter"), 2),
        "MaxRoiPool": 1,
        **dict.fromkeys(("LSTM", "GRU", "RNN"), 4),
    }
)
"""Operand of each operator that can make a run fail."""


def as_flag(builder: GraphBuilder, condition: Value) -> Value:
    """Return a condition as a scalar."""
    return reshape(builder, condition, ())


def guard(builder: GraphBuilder, start: int, wanted: Value) -> None:
    """Make the nodes from number START on unable to fail a run where they are not WANTED."""
    nodes = builder.nodes[start:]
    made = {value for node in nodes for value in node.results()}
    if not made.isdisjoint(builder.conditions):
        true = builder.constant(np.ones((), bool))
        builder.conditions[:] = [builder.node("Where", [wanted, one, true]) if one in made else one for one in builder.conditions]
    if not any(node.op in INDEX_OPERANDS for node in nodes):
        return
    del builder.nodes[start:]
    before = builder.origin
    for node in nodes:
        place = INDEX_OPERANDS.get(node.op)
        indices = node.inputs[place] if place is not None and place < len(node.inputs) else None
        if indices is not None and indices.constant is None:
            builder.origin = node.origin
            safe = builder.node("Where", [wanted, indices, builder.constant(np.zeros((), indices.type.dtype.numpy))])
            node = replace(node, inputs=tuple(safe if number == place else v for number, v in enumerate(node.inputs)))
        builder.nodes.append(node)
    builder.origin = before


def all_hold(builder: GraphBuilder, flags: Value) -> Value:
    """Return whether every element of FLAGS is true, a scalar."""
    one, zero = (builder.constant(np.array(number, np.int32)) for number in (1, 0))
    least = builder.node("ReduceMin", [builder.node("Where", [flags, one, zero])])
    return as_flag(builder, builder.node("Equal", [least, one]))


def required_to_hold(builder: GraphBuilder, value: Value, conditions: Sequence[Value]) -> Value:
    """Return VALUE, whose computation makes a run fail where one of the CONDITIONS, scalars, does not hold.

    A run can only fail by an index out of range, so that is what it reports.
    """
    holds = conditions[0]
    for condition in conditions[1:]:
        holds = builder.node("And", [holds, condition])
    first, second, table = (builder.constant(np.array(number, np.int64)) for number in (0, 1, [0]))
    found = builder.node("Gather", [table, builder.node("Where", [holds, first, second])])
    (checked,) = builder.apply("Where", [builder.node("Equal", [found, first]), value, value], outputs=(value.tensor,))
    assert checked is not None
    return checked


def select(call: Occurrence, condition: Value, yes: Entity, no: Entity, what: str, tensor: str | None = None) -> Entity:
    """Return YES where the condition holds at run time, else NO.

    Args:
        call: the node.
        condition: a scalar.
        yes: one value.
        no: the other.
        what: what they are, for errors.
        tensor: what the result is called in the main graph.

    Raises:
        ModelError: they are not of one type.
    """
    if yes is no:
        return yes
    match yes, no:
        case Unavailable(), _:
            return yes
        case _, Unavailable():
            return no
        case Value(), Value() if yes.type == no.type:
            if yes.constant is not None and no.constant is not None and _same(yes.constant, no.constant):
                return yes
            (chosen,) = call.builder.apply("Where", [condition, yes, no], outputs=(tensor,))
            assert chosen is not None
            return chosen
        case TensorSequence(), TensorSequence() if len(yes.items) == len(no.items):
            items = (select(call, condition, a, b, what) for a, b in zip(yes.items, no.items, strict=True))
            return TensorSequence(tuple(item for item in items if isinstance(item, (Value, Unavailable))))
        case OptionalValue(), OptionalValue():
            if yes.content is None and no.content is None:
                return yes
            if yes.content is not None and no.content is not None:
                content = select(call, condition, yes.content, no.content, what)
                return content if isinstance(content, Unavailable) else OptionalValue(content)  # type: ignore[arg-type]
    raise call.error(
        f"its condition is only known at run time, and {what} is {described(yes)} in one case and {described(no)} in the other; "
        "one type and shape is required",
        "Where the condition depends on the value of an input, fix that with --bind NAME=VALUE.",
    )


def described(entity: Entity) -> str:
    """Return what an entity is, in a few words."""
    match entity:
        case Value():
            return str(entity.type)
        case TensorSequence():
            return f"a sequence of {len(entity.items)}"
        case OptionalValue():
            return "an empty optional value" if entity.content is None else f"an optional value with {described(entity.content)}"
    return kind(entity)


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two constants of one type are the same, bit by bit; large ones are not compared."""
    return a is b or (a.nbytes <= 4096 and a.tobytes() == b.tobytes())

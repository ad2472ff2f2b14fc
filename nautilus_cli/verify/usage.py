"""What a graph does with its inputs, as far as drawing values for them needs to know.

An input is followed through operators that only move values or change their integer type, and through the addition of integer constants:

- Indices: it reaches the index operand of a gather, a scatter or a one-hot. Its values stay inside the axis. The lengths of the sequences
  of a recurrent layer or a ReverseSequence are indices too, of the time steps and one past them.
- Mask: it becomes a boolean, or is a boolean that chooses or combines; or an integer that becomes a float and is taken from 1, as in
  (1 - mask) × -1e4. Values are 0 and 1.
- Positive: a float whose logarithm or square root is taken.

An index use outranks a mask use, since token ids are often compared with the padding token as well. What is found by no rule is Free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.graph import Graph, Node, Value


@dataclass(frozen=True, slots=True)
class Free:
    """Any value will do."""


@dataclass(frozen=True, slots=True)
class Indices:
    """Values from `low` to `high`, both included."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Mask:
    """Zeros and ones."""


@dataclass(frozen=True, slots=True)
class Positive:
    """Values above zero."""


Use = Free | Indices | Mask | Positive

_MOVES_EVERY_OPERAND = frozenset({"Identity", "Concat", "Dropout"})
_MOVES_FIRST_OPERAND = frozenset(
    {
        *("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split", "Expand", "Tile", "Pad", "DepthToSpace"),
        *("Gather", "GatherElements", "GatherND", "ReverseSequence", "Trilu", "Compress", "TopK", "SpaceToDepth"),
    }
)
_INDEX_OPERAND = {
    **dict.fromkeys(("Gather", "GatherElements", "GatherND", "Scatter", "ScatterElements", "ScatterND"), 1),
    "OneHot": 0,
    "RoiAlign": 2,
}
_ROWS = {
    **{
        (f"com.microsoft::{op}", place): table
        for op in ("EmbedLayerNormalization", "QEmbedLayerNormalization")
        for place, table in ((0, 2), (1, 4))
    },
    ("com.microsoft::EmbedLayerNormalization", 8): 3,
    ("com.microsoft::GatherBlockQuantized", 1): 0,
}
"""Operators and operands that say which rows of another operand are taken."""

_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
_LENGTHS_OPERAND = 4
_LOGICAL = frozenset({"And", "Or", "Xor", "Not"})
_OF_POSITIVE = frozenset({"Log", "Sqrt"})


def uses(graph: Graph) -> dict[str, Use]:
    """Return the use of each graph input by name."""
    consumers = graph.consumers()
    return {name: _use(value, consumers) for name, value in graph.inputs}


def _use(root: Value, consumers: dict[Value, list[Node]]) -> Use:
    """Return the use of one input."""
    lows: list[int] = []
    highs: list[int] = []
    is_mask = is_positive = False
    # (value, least and greatest constant added to the input on the way)
    pending: list[tuple[Value, int, int]] = [(root, 0, 0)]
    seen: set[Value] = set()
    while pending:
        value, least, greatest = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        for node in consumers.get(value, ()):
            for position in (i for i, operand in enumerate(node.inputs) if operand is value):
                size = _axis_size(node, position)
                if size is not None:
                    lows.append(-least)
                    highs.append(size - 1 - greatest)
                elif _reads_as_boolean(node, position, value):
                    is_mask = True
                elif node.op in _OF_POSITIVE and value.type.dtype.is_float:
                    is_positive = True
                elif _keeps_values(node, position):
                    pending += [(result, least, greatest) for result in node.results()]
                elif (added := _added(node, position)) is not None:
                    pending += [(result, least + added[0], greatest + added[1]) for result in node.results()]
                elif _is_cast_to_float(node):
                    is_mask = is_mask or any(_is_taken_from_one(node, result, consumers) for result in node.results())
    if highs:
        low, high = max(lows), min(highs)
        return Indices(low, max(low, high))
    if is_mask:
        return Mask()
    return Positive() if is_positive else Free()


def _axis_size(node: Node, position: int) -> int | None:
    """Return how many values an index operand can tell apart, or None where the operand is no index."""
    if node.op in _RECURRENT and position == _LENGTHS_OPERAND:
        sequence = node.inputs[0]
        assert sequence is not None
        return sequence.type.static[1 if getattr(node.attrs, "layout", 0) else 0] + 1
    if node.op == "ReverseSequence" and position == 1:
        sequence = node.inputs[0]
        assert sequence is not None
        return sequence.type.static[getattr(node.attrs, "time_axis", 0)] + 1
    if (node.op, position) in _ROWS:
        table = node.inputs[_ROWS[node.op, position]]
        return None if table is None else table.type.static[int(getattr(node.attrs, "gather_axis", 0))]
    if _INDEX_OPERAND.get(node.op) != position:
        return None
    if node.op == "OneHot":
        depth = node.inputs[1].constant if node.inputs[1] is not None else None
        return None if depth is None else int(depth.reshape(-1)[0])
    data = node.inputs[0]
    assert data is not None
    shape = data.type.static
    if node.op in ("GatherND", "ScatterND"):
        batch = int(getattr(node.attrs, "batch_dims", 0))
        indices = node.inputs[position]
        assert indices is not None
        return min(shape[batch : batch + indices.type.static[-1]], default=1)
    axis = getattr(node.attrs, "axis", None)
    return shape[0 if axis is None else axis]


def _reads_as_boolean(node: Node, position: int, value: Value) -> bool:
    if node.op == "Cast":
        return value.type.dtype.kind != "bool" and all(r.type.dtype.kind == "bool" for r in node.results())
    return node.op in _LOGICAL or (node.op == "Where" and position == 0)


def _keeps_values(node: Node, position: int) -> bool:
    """Whether the results hold the operand's values, or the same as another integer type."""
    if node.op in ("Cast", "CastLike"):
        return position == 0 and all(not r.type.dtype.is_float for r in node.results())
    if node.op == "Where":
        return position > 0
    return node.op in _MOVES_EVERY_OPERAND or (position == 0 and node.op in _MOVES_FIRST_OPERAND)


def _added(node: Node, position: int) -> tuple[int, int] | None:
    """Return the least and greatest constant that an integer Add or Sub adds to this operand, or None where it is none such."""
    if node.op not in ("Add", "Sub") or (node.op == "Sub" and position != 0):
        return None
    other = node.inputs[1 - position]
    if other is None or other.constant is None or other.type.dtype.is_float or other.constant.size == 0:
        return None
    constant = other.constant.astype(np.int64)
    least, greatest = int(constant.min()), int(constant.max())
    return (least, greatest) if node.op == "Add" else (-greatest, -least)


def _is_cast_to_float(node: Node) -> bool:
    return node.op in ("Cast", "CastLike") and all(r.type.dtype.is_float for r in node.results())


def _is_taken_from_one(cast: Node, value: Value, consumers: dict[Value, list[Node]]) -> bool:
    """Whether a float that was an integer is subtracted from the constant 1."""
    source = cast.inputs[0]
    if source is None or source.type.dtype.is_float:
        return False
    for node in consumers.get(value, ()):
        if node.op == "Sub" and node.inputs[1] is value and node.inputs[0] is not None:
            minuend = node.inputs[0].constant
            if minuend is not None and minuend.size and bool(np.all(minuend == 1)):
                return True
    return False

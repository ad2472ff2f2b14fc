"""Numbers that kernels compute and that decide shapes: the k of a TopK, the limit of a Range, where a Slice ends.

Each element of such an operand becomes a count. Rules compute with it as they do with an element of an input; where they take fewer
values than there are, or a tensor would have no bound, it is cut to those, and the run reports where it is not among them. A number that
a rule holds below a dimension by itself (the end of a Slice) has that for a bound; one that has none has the default of sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Protocol

import numpy as np

from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.dims import is_symbolic
from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.requirement import Limit
from nautilus_cli.ir.types import I64
from nautilus_cli.ops import count_bounds
from nautilus_cli.ops.operands import HIGHEST
from nautilus_cli.ops.wide import cast, reshape, scalar

MOST_ELEMENTS = 8
"""Of an operand: a shape has a number for each dimension."""

_FOLLOWED = frozenset({"Cast", "Concat", "Identity", "Reshape", "Squeeze", "Unsqueeze", "nautilus::View"})
"""Operators whose results hold the numbers of their operands: these are learnt, and what stands beside them stays what it is."""


class Counting(count_bounds.Counting, Protocol):
    """A builder that has counts, and conditions that a run has to meet."""

    conditions: list[Value]
    origin: tuple[str, ...]
    bounds: count_bounds.CountBounds

    def has(self, value: Value) -> bool:
        """Whether a value is of this graph."""
        ...

    def producer(self, value: Value) -> Node | None:
        """Return the node of this graph that computes a value."""
        ...

    def contents_of(self, node: Node) -> np.ndarray | None:
        """Return what is known of what the first result of a node holds."""
        ...


class GivenNumbers:
    """The numbers of one graph.

    Args:
        builder: where the graph is built.
        contents: what is known of values that are data as well; numbers are added to it.
        readable: inputs that the host may read by itself, which it does rather.
        around: the numbers of the graph around one that a node is to hold.
    """

    def __init__(
        self,
        builder: Counting,
        contents: MutableMapping[Value, np.ndarray],
        readable: frozenset[str],
        around: GivenNumbers | None = None,
    ) -> None:
        self._builder = builder
        self._around = around
        self._contents = contents
        self._readable = readable
        self._sources: dict[str, tuple[int, Value]] = {}

    def apart(self, builder: Counting, contents: MutableMapping[Value, np.ndarray]) -> GivenNumbers:
        """Return the numbers of a graph that a node is to hold; arguments as those of the class."""
        return GivenNumbers(builder, contents, self._readable, self)

    def has(self, value: Value) -> bool:
        """Whether a value is of this graph, or of one around it."""
        return self._builder.has(value) or (self._around is not None and self._around.has(value))

    def learn(self, value: Value | None, behind: Sequence[str], op: str) -> bool:
        """Let an operand's elements be numbers that a kernel gives; return whether they can.

        Args:
            value: the operand.
            behind: inputs from which it is computed.
            op: the operator that asks.
        """
        if value is None or value in self._contents or not _may_decide(value) or (behind and self._readable.issuperset(behind)):
            return False
        if self._around is not None and self._around.has(value):
            return self._around.learn(value, behind, op)  # the same number in every iteration
        if self._follows(value, op):
            return True
        builder, elements = self._builder, value.type.elements
        numbers = np.empty(elements, dtype=object)
        names: list[str] = []
        flat = reshape(builder, cast(builder, value, I64), (elements,))
        for place in range(elements):
            name = f"{quoted(value.tensor or ', '.join(builder.origin) or op)[1:-1]}[{place}]"
            cut = flat if elements == 1 else builder.node("Slice", [flat, builder.sizes([place]), builder.sizes([place + 1])])
            self._add(number := builder.count(name, HIGHEST), reshape(builder, cut, ()))
            numbers[place] = number
            names += [symbol.name for symbol in symbols(number)]
        self._contents[value] = numbers.reshape(value.type.static)
        given = {name: builder.bounds.of(name) for name in names}
        self.cut({name: (0, most) for name, most in given.items() if most is not None})
        return True

    def _follows(self, value: Value, op: str) -> bool:
        """Whether a value is made of numbers that can be learnt, which are then; a constant among them stays one."""
        node = self._builder.producer(value)
        if node is None or node.op not in _FOLLOWED:
            return False
        unknown = [v for v in dict.fromkeys(node.operands()) if v.constant is None and v.contents is None and v not in self._contents]
        if not unknown or not all(map(_may_decide, unknown)) or not all(self.learn(v, (), op) for v in unknown):
            return False
        found = self._builder.contents_of(node)
        if found is None:
            return False
        self._contents[value] = found
        return True

    def cut(self, ranges: Mapping[str, tuple[int, int]], *, is_default: bool = False) -> bool:
        """Keep numbers in ranges, by name; return whether all of them are numbers of this graph, or of those around it.

        Args:
            ranges: least and greatest value.
            is_default: whether nothing but a default says what the greatest value is.
        """
        return self._cut(ranges, is_default=is_default) is not None

    def _cut(self, ranges: Mapping[str, tuple[int, int]], *, is_default: bool) -> dict[str, int] | None:
        """Return what the numbers are then; None where one is no number."""
        others = {name: limits for name, limits in ranges.items() if name not in self._sources}
        kept = self._around._cut(others, is_default=is_default) if others and self._around is not None else None if others else {}
        if kept is None:
            return None
        for name, (low, high) in ranges.items():
            if name in others:
                continue
            number, source = self._sources[name]
            if is_default and name not in self._builder.bounds.read:
                self._builder.bounds.defaults[name] = None
                self._builder.bounds.notes.append(
                    f"{name} is a size without a bound, which the model computes: up to {high} is taken; --dim {name}=0..N sets another."
                )
            if high < HIGHEST:
                self._builder.bounds.limits.append(Limit(name=name, count=name, most=high))
            self._require(name, source, low, high)
            kept[name] = maximum(low, minimum(number, high))
        for value, array in list(self._contents.items()):  # those that follow from the numbers, too
            if any(symbol.name in kept for size in array.reshape(-1) for symbol in symbols(size)):
                bound = array.copy()
                bound.reshape(-1)[:] = bind(tuple(array.reshape(-1)), kept)
                self._contents[value] = bound
        return kept

    def _add(self, number: int, source: Value) -> None:
        """Say where a number comes from: the kernel that gives it keeps it in its range, and the run reports where it was not."""
        (symbol,) = symbols(number)
        self._sources[symbol.name] = number, source
        most = self._builder.node("Min", [source, scalar(self._builder, HIGHEST, I64)])
        self._builder.holds(number, self._builder.node("Max", [most, scalar(self._builder, 0, I64)]))
        self._refuse_below(symbol.name, source, 0)

    def _require(self, name: str, source: Value, low: int, high: int) -> None:
        if low > 0:
            self._refuse_below(name, source, low)
        if high != HIGHEST:
            self._builder.conditions.append(self._builder.node("LessOrEqual", [source, scalar(self._builder, high, I64)]))

    def _refuse_below(self, name: str, source: Value, low: int) -> None:
        """Make a run fail where a number is below LOW. What it lacks is counted, for the host to say which number it was, and its value."""
        builder = self._builder
        lacking = f"{low} - {name}" if low else f"-{name}"
        least, nothing, within = (scalar(builder, value, I64) for value in (low, 0, -HIGHEST))
        shortfall = builder.node("Max", [builder.node("Sub", [least, builder.node("Max", [source, within])]), nothing])
        number = builder.count(lacking, HIGHEST + low)
        builder.holds(number, shortfall)
        builder.bounds.limits += [Limit(name=lacking, count=symbol.name, most=0) for symbol in symbols(number)]
        builder.conditions.append(builder.node("LessOrEqual", [shortfall, nothing]))


def _may_decide(value: Value) -> bool:
    """Whether the elements of a value can be numbers: a few integers."""
    if value.type.dtype.kind not in ("int", "uint") or any(map(is_symbolic, value.type.shape)):
        return False
    return 1 <= value.type.elements <= MOST_ELEMENTS

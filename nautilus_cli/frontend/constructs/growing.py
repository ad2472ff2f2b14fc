"""States of loops whose shapes change from iteration to iteration: a tensor to which each iteration appends, as a cache of keys.

The loop carries the elements as a vector with room for the most there can be, and the sizes that change as numbers beside it. In an
iteration such a size is a number that a kernel gives; so it is behind the loop. How it changes is what two imports of the body say: one
with the sizes before the first iteration, and one in which they are symbols. It grows by as much in each iteration, or it is what the
iteration makes it, whatever it was before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from types import MappingProxyType

import numpy as np

from nautilus_cli.frontend.constructs.base import Occurrence
from nautilus_cli.frontend.constructs.held import given_by_a_kernel, own
from nautilus_cli.ir.counts import ceiling
from nautilus_cli.ir.dims import is_symbolic, same
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.beginning import OPERATOR as BEGINNING
from nautilus_cli.ops.beginning import BeginningAttrs
from nautilus_cli.ops.wide import reshape

MOST_ROUNDS = 4
"""Imports of a body after which its sizes are no longer thought to follow a rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangingSize:
    """A size that changes; several dimensions, of several states, can have it.

    Attributes:
        first: before the first iteration.
        change: what an iteration adds at most, or, where it is set, what it makes it at most.
        is_set: which of these.
        size: a symbol for what it is: before an iteration in the body, and behind the loop after it; 0 where it has none yet.
    """

    first: int
    change: int
    is_set: bool = False
    size: int = 0

    def most(self, iterations: int) -> int:
        """Return what it is at most behind so many iterations."""
        if self.is_set:
            return maximum(ceiling(self.first), self.change)
        return ceiling(self.first) + maximum(0, self.change) * iterations


@dataclass(frozen=True, slots=True, kw_only=True)
class Growing:
    """The sizes of a loop's states that change.

    Attributes:
        iterations: how many there are at most; 1 or more.
        sizes: those that change.
        axes: by the number of a state, which dimension has which of them.
    """

    iterations: int
    sizes: tuple[ChangingSize, ...] = ()
    axes: Mapping[int, Mapping[int, int]] = field(default_factory=lambda: MappingProxyType({}))

    def room(self, place: int, type_: TensorType) -> TensorType:
        """Return the type that has room for all that a state can be; TYPE_ is that before the first iteration."""
        shape = [self.sizes[self.axes[place][a]].most(self.iterations) if a in self.axes[place] else d for a, d in enumerate(type_.static)]
        return TensorType(type_.dtype, (prod(shape),))

    def learn(self, before: Sequence[Value], after: Sequence[Value]) -> Growing | None:
        """Return what is known of the sizes once a body has been imported: the same object where they were known so, None without a rule.

        Args:
            before: the states before the first iteration.
            after: what an import of the body gives, with `size` in place of each size that is known to change.
        """
        sizes, axes = list(self.sizes), {place: dict(own) for place, own in self.axes.items()}
        is_known = True
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            if old.type.dtype != new.type.dtype or len(old.type.shape) != len(new.type.shape):
                return None
            for axis, (first, found) in enumerate(zip(old.type.static, new.type.static, strict=True)):
                number = axes.get(place, {}).get(axis)
                if number is None:
                    if not same(first, found):
                        axes.setdefault(place, {})[axis] = _number(sizes, first, ceiling(found - first))
                        is_known = False
                    continue
                size = sizes[number]
                change, is_set = (found - size.size, False) if depends_on(found, size.size) else (found, True)
                if not is_set and depends_on(change, size.size):
                    return None
                change = ceiling(change)
                if same(change, size.change) and is_set == size.is_set:
                    continue
                is_known = False
                if any(n == number for p, own in axes.items() for a, n in own.items() if (p, a) != (place, axis)):
                    axes[place][axis] = len(sizes)
                    sizes.append(ChangingSize(first=size.first, change=change, is_set=is_set))
                else:
                    sizes[number] = replace(size, change=change, is_set=is_set)
        return self if is_known else replace(self, sizes=tuple(sizes), axes=axes)

    def enter(self, call: Occurrence, before: Sequence[Value], name: str) -> tuple[Growing, list[Value], list[Value], list[Value]]:
        """Return the sizes with symbols for an iteration, and what the body takes for the states, sees of them, and takes for the sizes.

        Args:
            call: the node; nodes go where its builder is now.
            before: the states before the first iteration.
            name: what sizes are called.
        """
        given: list[Value] = []
        sizes: list[ChangingSize] = []
        for size in self.sizes:
            value = Value(TensorType(I64, ()))
            most = size.most(self.iterations) if size.is_set else size.most(self.iterations - 1)
            symbol = call.builder.count(f"{name} before", most)
            call.builder.holds(symbol, given_by_a_kernel(call, value))
            sizes.append(replace(size, size=symbol))
            given.append(value)
        entered = replace(self, sizes=tuple(sizes))
        taken = [Value(self.room(place, v.type) if place in self.axes else v.type) for place, v in enumerate(before)]
        seen = [entered.seen(call, place, v, before[place].type) for place, v in enumerate(taken)]
        return entered, taken, seen, given

    def seen(self, call: Occurrence, place: int, value: Value, first: TensorType, tensor: str | None = None) -> Value:
        """Return a state as a tensor of its shape, of which VALUE has the elements; FIRST is its type before the first iteration."""
        if place not in self.axes:
            return value
        shape = tuple(self.sizes[self.axes[place][a]].size if a in self.axes[place] else d for a, d in enumerate(first.static))
        return own(call, BEGINNING, [value], BeginningAttrs(shape=shape), tensor)

    def elements(self, call: Occurrence, values: Sequence[Value]) -> list[Value]:
        """Return states as the loop carries them: those that change as the vector of their elements."""
        return [reshape(call.builder, v, (v.type.elements,)) if place in self.axes else v for place, v in enumerate(values)]

    def following(self, call: Occurrence, after: Sequence[Value]) -> list[Value]:
        """Return the sizes behind an iteration that gives the states AFTER."""
        found: dict[int, int] = {}
        for place, axes in self.axes.items():
            found |= {number: after[place].type.static[axis] for axis, number in axes.items()}
        return [_as_value(call, found[number]) for number in range(len(self.sizes))]

    def first(self, call: Occurrence) -> list[Value]:
        """Return the sizes before the first iteration."""
        return [_as_value(call, size.first) for size in self.sizes]

    def name(self, call: Occurrence, number: int) -> str:
        """Return what a size behind the loop is called: after the first state that has it."""
        return call.size_name(next(place for place, axes in self.axes.items() if number in axes.values()))

    def left(self, call: Occurrence, states: dict[int, Value], sizes: Sequence[Value], before: Sequence[Value]) -> None:
        """Give the states behind the loop their shapes.

        Args:
            call: the node.
            states: by number; those that change as the loop leaves them, which are replaced.
            sizes: the sizes that it leaves.
            before: the states before the first iteration.
        """
        symbols_behind: list[ChangingSize] = []
        for number, (size, value) in enumerate(zip(self.sizes, sizes, strict=True)):
            symbol = call.builder.count(self.name(call, number), size.most(self.iterations))
            call.builder.holds(symbol, given_by_a_kernel(call, value))
            symbols_behind.append(replace(size, size=symbol))
        behind = replace(self, sizes=tuple(symbols_behind))
        for place in self.axes:
            states[place] = behind.seen(call, place, states[place], before[place].type, call.tensor_name(place))


def _number(sizes: list[ChangingSize], first: int, change: int) -> int:
    """Return the number of a size that begins and changes so: equal ones are one, so that what has them fits together."""
    for number, size in enumerate(sizes):
        if same(size.first, first) and same(size.change, change) and not size.is_set:
            return number
    sizes.append(ChangingSize(first=first, change=change))
    return len(sizes) - 1


def depends_on(value: int, size: int) -> bool:
    """Whether VALUE is made of the symbol that SIZE is."""
    return is_symbolic(value) and not symbols(size).isdisjoint(symbols(value))


def _as_value(call: Occurrence, size: int) -> Value:
    return call.builder.known(TensorType(I64, ()), np.array(size, dtype=object))

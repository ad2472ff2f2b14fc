"""Bounds that the user gives of numbers that kernels give: how many elements are kept, where a Slice ends, how long a loop was.

Such a number has a bound of its own: no more elements are kept than there are. Memory is planned for that, which may be far more than any
run needs. With a lesser bound the front of what a kernel gives is kept, and a run in which the number is greater is an error that names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.functions import minimum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.requirement import Limit
from nautilus_cli.ir.types import I64
from nautilus_cli.ops.spec import Emitter
from nautilus_cli.ops.wide import scalar


class Counting(Emitter, Protocol):
    """A builder that has counts."""

    def own_name(self, name: str) -> str:
        """Return what the next count called NAME will be called."""
        ...

    def count(self, name: str, bound: int) -> int:
        """Return a size that a kernel gives."""
        ...

    def holds(self, size: int, value: Value) -> None:
        """Say which value holds it."""
        ...


@dataclass(slots=True, kw_only=True)
class CountBounds:
    """The bounds of a model, and what becomes of them.

    Attributes:
        given: the user's, by the number's name.
        names: of all numbers so far that can have one, in order.
        limits: what a run makes sure of.
        notes: sentences for the user.
        read: names of the numbers for which the host waits, since it cannot plan for their bounds.
        defaults: names of the numbers that have a bound by default alone.
    """

    given: Mapping[str, int] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    limits: list[Limit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    read: frozenset[str] = frozenset()
    defaults: dict[str, None] = field(default_factory=dict)

    def of(self, name: str) -> int | None:
        """Return the user's bound of a number, None where there is none."""
        self.names[name] = None
        return self.given.get(name)

    def is_cut(self, builder: Counting, name: str, bound: int) -> bool:
        """Whether a kernel that counts writes what there can be at most, and `kept` says how much of it there is.

        So it is where the user bounds the next count called NAME below BOUND, and where the host waits for it.
        """
        own = builder.own_name(name)
        most = self.of(own)
        return own in self.read or (most is not None and upper(bound) > most)

    def kept(self, builder: Counting, name: str, bound: int, number: Value) -> int:
        """Return a new size called NAME of what is kept, with the user's bound where there is one.

        Args:
            builder: where the graph is built.
            name: as for `GraphBuilder.count`.
            bound: of how many there are.
            number: an int64 scalar that a node computes: how many there are.
        """
        own = builder.own_name(name)
        most = self.of(own)
        if most is None or upper(bound) <= most:
            size = builder.count(own, bound)
            builder.holds(size, number)
            return size
        whole = builder.count(f"{own} (all)", bound)
        builder.holds(whole, number)
        limit, zero, one = (scalar(builder, value, I64) for value in (most, 0, 1))
        place = builder.node("Where", [builder.node("LessOrEqual", [number, limit]), zero, one])
        # An index out of range is how a kernel makes a run fail.
        checked = builder.node("Gather", [builder.constant(np.zeros(1, np.int64)), place])
        size = builder.count(own, minimum(bound, most))
        builder.holds(size, builder.node("Add", [builder.node("Min", [number, limit]), checked]))
        self.limits += [Limit(name=own, count=symbol.name, most=most) for symbol in symbols(whole)]
        return size

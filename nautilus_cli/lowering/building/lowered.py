"""A group as a kernel without a schedule: what every family's lowering returns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

from nautilus_cli.ir.dims import same, upper
from nautilus_cli.ir.expression import AnyLoad, Expression, Load, RowProgram, Store
from nautilus_cli.ir.graph import Group, Node, Value
from nautilus_cli.ir.types import DType
from nautilus_cli.kernels.base import scalar_values
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.ops.movement import is_transparent

INDEX_32_LIMIT = 2**31 - 2**16
"""Most elements of a tensor that 32-bit indices reach; the rest is room for a tile that runs over the edge."""


Functors = tuple[tuple[str, Expression | RowProgram], ...]
"""(name, expression) of each functor that a kernel's stub instantiates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """A kernel whose schedule is still open.

    Attributes:
        family: kernel family.
        problem: its problem dataclass.
        functors: (name, expression) for the stub.
        slots: what its pointers refer to.
        alternatives: (family, problem) of other kernels that take the same functors and pointers, where those suit them.
    """

    family: str
    problem: Any
    functors: Functors
    slots: Slots
    alternatives: tuple[tuple[str, Any], ...] = ()

    @property
    def scalars(self) -> tuple[int, ...]:
        """The sizes that are arguments of the kernel, as `KernelRequest.scalar_values` gives them."""
        return scalar_values(self.problem, self.functors)


@dataclass(frozen=True, slots=True)
class Lowering:
    """A group on its way to a kernel.

    Attributes:
        group: the group.
        fp32_mode: how products of f32 are multiplied: `ffma`, `3xtf32` or `tf32`.
    """

    group: Group
    fp32_mode: str

    def transparent(self) -> dict[Value, Node]:
        """Return the transparent movement of the group, by result."""
        return {v: node for node in self.group.nodes if is_transparent(node) for v in node.results()}


def index_bits(slots: Slots, counts: Iterable[int]) -> int:
    """Return the width of indices: 32 bits where every tensor and iteration count allows it."""
    sizes = [v.type.elements for v in slots.referents if isinstance(v, Value)] + list(counts)
    return 64 if max(map(upper, sizes), default=0) > INDEX_32_LIMIT else 32


def streamed_bytes(expressions: Iterable[Expression]) -> int:
    """Return the size of the narrowest element that is read or written in order along the last coordinate: it sizes vectors."""
    accesses: list[Load | Store] = []
    for expression in expressions:
        accesses += [s for s in expression.steps if isinstance(s, Load)]
        accesses += expression.stores
    return min((a.storage.bytes for a in accesses if a.map.contiguous_width(2) > 1), default=accesses[0].storage.bytes if accesses else 4)


def main_storage(expression: Expression, default: DType) -> DType:
    """Return the storage type of the load that covers the most coordinates: what an operand's vectors are made of."""
    loads = [s for s in expression.steps if isinstance(s, AnyLoad)]
    return max(loads, key=_span).storage if loads else default


def _span(load: AnyLoad) -> int:
    """Return how many different elements a load can name, at most."""
    return prod(upper(a.extent) for digits in load.map.stages[-1].coordinates for a in digits if not same(a.stride, 0))

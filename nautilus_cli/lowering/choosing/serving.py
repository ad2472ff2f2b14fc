"""A kernel for some of the sizes of a group, with what its launch hands it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nautilus_cli.ir.binding import bind, dimensions
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.lowering.building.lowered import Functors
from nautilus_cli.lowering.choosing.choice import Chosen

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A kernel for some sizes.

    Attributes:
        condition: at most 0 for these sizes; 0 for all.
        chosen: family, problem and schedule.
        functors: of the kernel.
        dims: the dimensions in whose place problem and functors have others of the same names, for such sizes only.
    """

    condition: int
    chosen: Chosen
    functors: Functors
    dims: Mapping[str, int]

    def plain(self, value: T) -> T:
        """Return VALUE, a tree of dataclasses and tuples, in the dimensions as they are."""
        return bind(value, self.dims) if self.dims else value

    def scalars(self, request: KernelRequest, known: Sequence[int]) -> tuple[int, ...]:
        """Return what the integer arguments of the kernel hold, where possible as one of the expressions that are KNOWN."""
        if not self.dims:
            return request.scalar_values
        plain = {bind(value, self._special()): value for value in known}
        return tuple(plain[value] if value in plain else self.plain(value) for value in request.scalar_values)

    def _special(self) -> dict[str, int]:
        found = {d.name: symbol(d.name, d.low, d.high, d.divisor) for d in dimensions((self.chosen.problem, self.functors))}
        return {name: found[name] for name in self.dims if name in found}

"""Schedules of problems whose sizes are not known: chosen at representative sizes, legal at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice, product
from math import isqrt, lcm
from typing import Any

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.binding import bind, dimensions, expressions, map_expressions
from nautilus_cli.ir.dims import Symbol, lower, upper
from nautilus_cli.ir.undecided import UndecidedError
from nautilus_cli.kernels.base import Choose, Family, takes_open_sizes
from nautilus_cli.targets.base import Target

MULTIPLE = 8
"""Divisor of sizes for which there are kernels of their own: of 16-bit elements, what one transaction moves."""

NO_POINTS: Mapping[str, tuple[int, ...]] = {}

_MOST_TRIED = 4096
"""Schedules of the search space that are tried where no chosen one is legal."""

_MOST_COMBINED = 125
"""Combinations of sizes whose schedules are tried before that."""


class RangedChoice:
    """A choice of schedules that is legal for every size of a problem.

    Args:
        choose: what picks the schedule of a problem of known sizes.
        points: sizes of dimensions, by name, that it is asked for first.
    """

    def __init__(self, choose: Choose, points: Mapping[str, tuple[int, ...]] = NO_POINTS) -> None:
        self._choose = choose
        self._points = points

    def __call__(self, family: Family, problem: Any, target: Target) -> Any:
        """Return a legal schedule.

        Raises:
            ModelError: no schedule that was tried is legal for all sizes.
        """
        dims = dimensions(problem)
        if not any(True for _ in expressions(problem)):
            return self._choose(family, problem, target)
        if not takes_open_sizes(family):
            raise ModelError(
                f"{family.name} kernels do not support open dimensions yet ({', '.join(d.name for d in dims)})",
                hint="Give fixed sizes with --shape.",
            )
        for schedule in self._candidates(family, problem, dims, target):
            if is_legal(family, problem, schedule, target):
                return schedule
        ranges = ", ".join(f"{d.name} = {d.low}..{d.high}" for d in dims)
        raise ModelError(f"no {family.name} kernel serves all sizes of {ranges}", hint="Give a narrower range.")

    def _candidates(self, family: Family, problem: Any, dims: tuple[Symbol, ...], target: Target) -> Iterator[Any]:
        dims = tuple(d for d in dims if d.source is None)
        for number in range(max((len(self._points.get(d.name, ())) for d in dims), default=0)):
            near = {d: (*self._points.get(d.name, ()), d.high)[min(number, len(self._points.get(d.name, ())))] for d in dims}
            sizes = {d.name: representative(replace(d, high=max(d.low, near[d] // d.divisor * d.divisor))) for d in dims}
            yield self._choose(family, _with_numbers(problem, sizes), target)
        largest = _with_numbers(problem, {d.name: representative(d) for d in dims})
        yield self._choose(family, largest, target)
        yield self._choose(family, _with_numbers(problem, {d.name: d.high for d in dims}), target)
        yield self._choose(family, _with_numbers(problem, {d.name: d.low for d in dims}), target)
        for some in islice(product(*(_several(d) for d in dims)), _MOST_COMBINED):  # n + 1 is even where n is a prime
            yield self._choose(family, _with_numbers(problem, {d.name: size for d, size in zip(dims, some, strict=True)}), target)
        yield from islice(family.schedules(largest, target), _MOST_TRIED)


def _several(dim: Symbol) -> tuple[int, ...]:
    """Return sizes that differ in what divides them and their neighbours."""
    found = (representative(dim), dim.high, dim.high - dim.divisor, dim.high - 2 * dim.divisor, dim.low)
    return tuple(dict.fromkeys(size for size in found if size >= dim.low))


def _with_numbers(problem: Any, sizes: Mapping[str, int]) -> Any:
    """Return a problem of numbers: sizes of dimensions, and a number between its bounds for what follows from the values of inputs.

    Several of those at their greatest could leave nothing of what lies between them.
    """
    return map_expressions(
        bind(problem, sizes), lambda size: representative(Symbol("", min(max(1, lower(size)), upper(size)), upper(size)))
    )


def is_legal(family: Family, problem: Any, schedule: Any, target: Target) -> bool:
    """Whether a schedule serves every size of a problem."""
    try:
        return not family.violations(problem, schedule, target)
    except UndecidedError:
        return False


def large(dim: Symbol) -> int:
    """Return the largest multiple, else the largest size: what is decided once for all sizes suits those with the best kernels."""
    divisor = lcm(dim.divisor, MULTIPLE)
    return dim.high // divisor * divisor or dim.high


def representative(dim: Symbol) -> int:
    """Return the largest size that is the divisor times a prime: a schedule for it takes nothing for granted but the divisor."""
    for multiple in range(dim.high // dim.divisor, max(1, dim.low // dim.divisor) - 1, -1):
        if multiple > 2 and all(multiple % d for d in range(2, isqrt(multiple) + 1)):
            return multiple * dim.divisor
    return dim.high

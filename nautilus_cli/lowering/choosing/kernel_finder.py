"""The best kernel of a problem at some sizes, by the estimates of families; what kernels take there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.dims import Symbol
from nautilus_cli.kernels.base import Choose, Family, Mapped, Persistent, Ranked, takes_open_sizes
from nautilus_cli.kernels.registry import families
from nautilus_cli.lowering.choosing import ladders
from nautilus_cli.lowering.choosing.choice import EMULATES, Chosen
from nautilus_cli.lowering.choosing.open_problems import Problems, just_below, of_something
from nautilus_cli.lowering.choosing.ranges import RangedChoice, is_legal
from nautilus_cli.targets.base import Target
from nautilus_cli.targets.registry import target as target_named

MOST_EMULATED = 3
"""Kernels of a problem on the emulator."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """A choice that is asked for each problem of fixed sizes once: products with other work around them are one problem."""

    choose: Choose
    known: dict[tuple[str, Any], Any] = field(default_factory=dict)

    def __call__(self, family: Family, problem: Any, target: Target) -> Any:
        """Return what the choice returns for this target's problems."""
        key = family.name, problem
        if key not in self.known:
            self.known[key] = self.choose(family, problem, target)
        return self.known[key]


@dataclass(frozen=True, slots=True)
class KernelFinder:
    """Finds kernels at sizes.

    Attributes:
        target: what they run on.
        choose: picks the schedule of a problem of known sizes.
        points: sizes of dimensions, by name, that the user names.
    """

    target: Target
    choose: Choose
    points: ladders.Points

    def best(self, problems: Problems, sizes: Mapping[str, int]) -> Chosen | None:
        """Return the legal kernel of least estimated time at some sizes; on the emulator what would be on the GPU that it stands for.

        A schedule for exactly these sizes may need them to be multiples; then one for sizes just below is taken that need not.
        """
        judged = self.judged
        found: list[tuple[float, Chosen]] = []
        for name, problem in problems.items():
            family = families()[name]
            if not takes_open_sizes(family):
                continue
            at = bind(problem, sizes)
            for problem_there in (at, bind(problem, just_below(problem, sizes))):
                schedule = (family.choose if self.target.is_emulated else partial(self.choose, family))(problem_there, judged)
                if isinstance(family, Persistent):
                    schedule = family.for_all_sizes(problem, schedule, judged)
                if is_legal(family, problem, schedule, judged):
                    us = family.estimated_us(at, schedule, judged) if isinstance(family, Ranked) else 0.0
                    found.append((us, Chosen(family=family, problem=problem, schedule=schedule)))
                    break
        return min(found, key=lambda one: one[0])[1] if found else None

    def us(self, kernels: Sequence[Chosen], problems: Problems, sizes: Mapping[str, int]) -> list[float]:
        """Return the estimated times of kernels at some sizes."""
        at = {name: bind(problem, sizes) for name, problem in problems.items()}
        found = []
        for kernel in kernels:
            family, there = kernel.family, at[kernel.family.name]
            assert isinstance(family, Ranked)
            is_possible = not family.violations(there, kernel.schedule, self.judged)
            found.append(family.estimated_us(there, kernel.schedule, self.judged) if is_possible else float("inf"))
        return found

    def legal_us(self, kernels: Sequence[Chosen], problems: Problems, sizes: Mapping[str, int]) -> list[float]:
        """Return the estimated times at some sizes of kernels that are legal at all."""
        at = {name: bind(problems[name], sizes) for name in {kernel.family.name for kernel in kernels}}
        found = []
        for kernel in kernels:
            assert isinstance(kernel.family, Ranked)
            found.append(kernel.family.estimated_us(at[kernel.family.name], kernel.schedule, self.judged))
        return found

    def on_target(self, kernel: Chosen) -> Chosen:
        """Return the kernel with a schedule for the emulator, where that is the target."""
        if not self.target.is_emulated:
            return kernel
        problem = of_something(kernel.problem) if isinstance(kernel.family, Mapped) else kernel.problem
        return replace(kernel, schedule=RangedChoice(self.choose, self.points)(kernel.family, problem, self.target))

    @property
    def judged(self) -> Target:
        """The target whose estimates rank: the GPU that the emulator stands for, where that is the target."""
        return target_named(EMULATES) if self.target.is_emulated else self.target

    def most(self, kernels: int) -> int:
        """Return how many kernels a problem has at most: fewer on the emulator, whose compiler is slow and whose speed tells nothing."""
        return min(kernels, MOST_EMULATED) if self.target.is_emulated else kernels

    def is_named(self, dims: frozenset[Symbol]) -> bool:
        """Whether the user names sizes of one of some dimensions."""
        return ladders.has_named_sizes(self.points, dims)

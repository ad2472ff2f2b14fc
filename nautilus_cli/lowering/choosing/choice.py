"""Which of several families computes a group, and with which schedule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.binding import dimensions
from nautilus_cli.kernels.base import Choose, Family, Mapped, Ranked
from nautilus_cli.kernels.registry import families
from nautilus_cli.lowering.building.lowered import Functors, Lowered
from nautilus_cli.targets.base import Target
from nautilus_cli.targets.registry import target as target_named

EMULATES = "sm_90a"
"""Whose families the emulator runs, so that what it shows holds there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A family with a problem and a schedule."""

    family: Family
    problem: Any
    schedule: Any


def chosen(lowered: Lowered, target: Target, choose: Choose) -> Chosen:
    """Return the family of least estimated time among those that serve the group, with the schedule that CHOOSE gives it.

    Raises:
        ModelError: no schedule fits: the problem is beyond what a launch can be.
    """
    best = min(_estimates(lowered, target, choose), default=None, key=lambda found: found[0])
    if best is not None:
        family, problem = best[1]
        schedule = choose(family, problem, target)
        if not family.violations(problem, schedule, target):
            return Chosen(family=family, problem=problem, schedule=schedule)
    family = families()[lowered.family]
    schedule = choose(family, lowered.problem, target)
    if reasons := family.violations(lowered.problem, schedule, target):
        raise ModelError(f"is too large for {target.name}: {reasons[0]}")
    return Chosen(family=family, problem=lowered.problem, schedule=schedule)


def serves(family: Family, problem: Any, functors: Functors) -> bool:
    """Whether the kernels of a family can reach what the functors load."""
    return not isinstance(family, Mapped) or not family.map_violations(problem, dict(functors))


def fitted(name: str, problem: Any, functors: Functors) -> Any:
    """Return a family's problem with what the functors decide."""
    family = families()[name]
    return family.fitted(problem, dict(functors)) if isinstance(family, Mapped) else problem


def _estimates(lowered: Lowered, target: Target, choose: Choose) -> Iterator[tuple[float, tuple[Family, Any]]]:
    """Yield the estimated time of every family that could serve the group; none where there is no choice."""
    if not lowered.alternatives or dimensions(lowered.problem):
        return
    judged = target_named(EMULATES) if target.is_emulated else target
    for name, problem in ((lowered.family, lowered.problem), *lowered.alternatives):
        family = families()[name]
        assert isinstance(family, Ranked)
        if not serves(family, problem, lowered.functors):
            continue
        schedule = family.choose(problem, judged) if target.is_emulated else choose(family, problem, target)
        if not family.violations(problem, schedule, judged):
            yield family.estimated_us(problem, schedule, judged), (family, problem)

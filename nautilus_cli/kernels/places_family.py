"""The families that compute each result from a few elements that lie anywhere: they differ in their problem and their device code only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from nautilus_cli.kernels import places
from nautilus_cli.kernels.base import Geometry, StubByName
from nautilus_cli.kernels.places import Places, Schedule
from nautilus_cli.targets.base import Target


class PlacesProblem(Protocol):
    """A problem of places and channels."""

    @property
    def work(self) -> Places:
        """The results as schedules see them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacesFamily(StubByName):
    """A family that deals places and channels to threads: warps along what is consecutive.

    Attributes:
        name: of the family, its stub and its header.
        problem_type: of its problems.
        schedule_type: of its schedules.
    """

    name: str
    problem_type: type[PlacesProblem]
    schedule_type: type[Schedule] = Schedule

    def violations(self, problem: PlacesProblem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        return places.violations(problem.work, schedule)

    def choose(self, problem: PlacesProblem, target: Target) -> Schedule:
        """Return warps along what is consecutive, channels or places."""
        return places.choose(problem.work, target)

    def space(self, problem: PlacesProblem, target: Target) -> Mapping[str, tuple[int, ...]]:
        """Return the choices of each field."""
        return places.space()

    def schedules(self, problem: PlacesProblem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space, illegal points included."""
        return places.schedules()

    def geometry(self, problem: PlacesProblem, schedule: Schedule) -> Geometry:
        """Return blocks of places and channels along x, and images along y and z."""
        return places.geometry(problem.work, schedule)

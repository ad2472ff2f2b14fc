"""Families whose problem is a matrix product to their main loop: they differ in problem, device code, and whose rules they obey."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from nautilus_cli.kernels.base import Geometry, StubByName
from nautilus_cli.targets.base import Target

AsProduct = TypeVar("AsProduct", contravariant=True)
IsProduct = TypeVar("IsProduct", covariant=True)
Product = TypeVar("Product")
Schedule = TypeVar("Schedule")


class ProductProblem(Protocol[IsProduct]):
    """A problem that is a matrix product to the main loop."""

    @property
    def product(self) -> IsProduct:
        """The problem as the main loop sees it."""
        ...


class Rules(Protocol[AsProduct, Schedule]):
    """What a module knows of the schedules of one main loop."""

    def violations(self, problem: AsProduct, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why a schedule cannot serve a product on a target; empty where it can."""
        ...

    def choose(self, problem: AsProduct, target: Target) -> Schedule:
        """Return the legal schedule of least estimated time."""
        ...

    def schedules(self, problem: AsProduct, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space, illegal points included."""
        ...

    def gpu_us(self, problem: AsProduct, schedule: Schedule, target: Target) -> float:
        """Return the estimated time in microseconds."""
        ...

    def geometry(self, problem: AsProduct, schedule: Schedule) -> Geometry:
        """Return grid, threads and shared memory."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductFamily(StubByName, Generic[Product, Schedule]):
    """A family that schedules its problem as a product.

    Attributes:
        name: of the family, its stub and its header.
        rules: of its main loop.
        problem_type: of its problems.
        schedule_type: of its schedules.
        optional_functors: those that a request may leave out; they do nothing then.
        reaches_by_functors: whether its kernels reach memory through their functors alone.
    """

    name: str
    rules: Rules[Product, Schedule]
    problem_type: type[ProductProblem[Product]]
    schedule_type: type[Schedule]
    optional_functors: tuple[str, ...] = ()
    reaches_by_functors: bool = False

    def violations(self, problem: Any, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        return self.rules.violations(problem.product, schedule, target)

    def choose(self, problem: Any, target: Target) -> Schedule:
        """Return the legal schedule of least estimated time."""
        return self.rules.choose(problem.product, target)

    def schedules(self, problem: Any, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space, illegal points included."""
        return self.rules.schedules(problem.product, target)

    def estimated_us(self, problem: Any, schedule: Schedule, target: Target) -> float:
        """Return the time on a GPU by the analytic model, in microseconds."""
        return self.rules.gpu_us(problem.product, schedule, target)

    def geometry(self, problem: Any, schedule: Schedule) -> Geometry:
        """Return grid, threads and shared memory."""
        return self.rules.geometry(problem.product, schedule)

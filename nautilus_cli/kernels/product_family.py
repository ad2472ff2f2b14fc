"""The families whose main loop is the SIMT product: they differ in their problem and their device code, not in their schedules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from nautilus_cli.kernels import product
from nautilus_cli.kernels.base import Geometry, StubByName
from nautilus_cli.kernels.product import Product, Schedule
from nautilus_cli.targets.base import Target


class ProductProblem(Protocol):
    """A problem that is a matrix product to the main loop."""

    @property
    def product(self) -> Product:
        """The problem as the main loop sees it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductFamily(StubByName):
    """A family that schedules its problem as a product: one block for each tile of m by n, and member of the batch.

    Attributes:
        name: of the family, its stub and its header.
        problem_type: of its problems.
        schedule_type: of its schedules.
    """

    name: str
    problem_type: type[ProductProblem]
    schedule_type: type[Schedule] = Schedule

    def violations(self, problem: ProductProblem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        return product.violations(problem.product, schedule, target)

    def choose(self, problem: ProductProblem, target: Target) -> Schedule:
        """Return the legal schedule of least estimated time."""
        return product.choose(problem.product, target)

    def space(self, problem: ProductProblem, target: Target) -> Mapping[str, tuple[int, ...]]:
        """Return the choices of each searched field; `product.with_vectors` completes a point."""
        return product.space(problem.product)

    def schedules(self, problem: ProductProblem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space, illegal points included."""
        return product.schedules(problem.product, target)

    def estimated_us(self, problem: ProductProblem, schedule: Schedule, target: Target) -> float:
        """Return the time on a GPU by the analytic model, in microseconds."""
        return product.gpu_us(problem.product, schedule, target)

    def geometry(self, problem: ProductProblem, schedule: Schedule) -> Geometry:
        """Return grid, threads and shared memory."""
        return product.geometry(problem.product, schedule)

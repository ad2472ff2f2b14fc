"""Convolution as a matrix product that gathers its rows from the image, channels last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nautilus_cli.ir.types import F32, DType
from nautilus_cli.kernels import product
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.product import Product, Schedule
from nautilus_cli.kernels.window import Window
from nautilus_cli.targets.base import Target

__all__ = ["FAMILY", "ConvFamily", "Problem", "Schedule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(Window):
    """A convolution.

    Functors: `X` at (plane, y, x, channel), channels over all groups, only inside the image; outside it is zero. `Weight` at (output
    channel over all groups, k), where k runs over the window's planes, rows and columns and a group's channels, channels fastest.
    `Epilogue` at (plane, y, x, output channel over all groups), whose parameter 0 is the sum.

    Attributes:
        groups: that share neither channels nor weights.
        in_channels: of a group.
        out_channels: of a group.
        accumulate: type of the sums.
        x_storage: type of the image's elements in memory; only sizes vectors.
        weight_storage: type of the weights in memory; only sizes vectors.
    """

    groups: int
    in_channels: int
    out_channels: int
    accumulate: DType
    x_storage: DType = F32
    weight_storage: DType = F32

    @property
    def product(self) -> Product:
        """The problem as the main loop sees it: m counts output pixels, n output channels, k runs over the window."""
        k = self.taps * self.in_channels
        return Product(
            batch=self.groups,
            m=self.pixels,
            n=self.out_channels,
            k=k,
            a_k_last=True,
            b_k_last=True,
            a_run=self.in_channels,  # a vector must not cross from one tap to the next
            b_run=k,
            a_bytes=self.x_storage.bytes,
            b_bytes=self.weight_storage.bytes,
            sum_bytes=self.accumulate.bytes,
        )


class ConvFamily:
    """The implicit-GEMM convolution family."""

    name = "conv"
    template = "conv.cu.jinja"
    headers = ("nautilus/kernels/conv.cuh",)
    problem_type = Problem
    schedule_type = Schedule

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        return product.violations(problem.product, schedule, target)

    def choose(self, problem: Problem, target: Target) -> Schedule:
        """Return the legal schedule of least estimated time."""
        return product.choose(problem.product, target)

    def space(self, problem: Problem, target: Target) -> Mapping[str, tuple[int, ...]]:
        """Return the choices of each searched field; `product.with_vectors` completes a point."""
        return product.space(problem.product)

    def schedules(self, problem: Problem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space, illegal points included."""
        return product.schedules(problem.product, target)

    def geometry(self, problem: Problem, schedule: Schedule) -> Geometry:
        """Return one block for each tile of output pixels by output channels, and group."""
        return product.geometry(problem.product, schedule)


FAMILY = ConvFamily()

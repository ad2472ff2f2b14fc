"""Transposed convolution as matrix products that gather, one for each class of output pixels, channels last.

Output pixel o takes the taps r with o + pad - r · dilation a multiple of the stride. Pixels that are equal modulo the stride, a *phase*,
take the same taps, every `step`-th one, and find their input pixels as a convolution of stride 1 would.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import gcd, prod

from nautilus_cli.ir.types import F32, DType
from nautilus_cli.kernels import product
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.product import Product, Schedule
from nautilus_cli.kernels.window import Window
from nautilus_cli.targets.base import Target

__all__ = ["FAMILY", "ConvTransposeFamily", "Problem", "Schedule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(Window):
    """A transposed convolution: the window's strides and dilations are steps in the output, its pads are cut off the output.

    Functors: `X` at (plane, y, x, channel), channels over all groups, only inside the image; elsewhere it is zero. `Weight` at (output
    channel over all groups, first tap, k): along each dimension taps `first`, `first + step`, ... form a class; first taps count over all
    dimensions, `step` of each; k runs over the taps of a class (`class_taps` along each dimension) and a group's channels, channels
    fastest. It is zero where a class has fewer taps. `Epilogue` at (plane, y, x, output channel over all groups), whose parameter 0 is
    the sum.

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
    def strides(self) -> tuple[int, int, int]:
        """Along depth, height and width."""
        return self.stride_depth, self.stride_height, self.stride_width

    @property
    def steps(self) -> tuple[int, int, int]:
        """Distance of the taps of a class, along depth, height and width."""
        dilations = self.dilation_depth, self.dilation_height, self.dilation_width
        depth, height, width = (s // gcd(s, d) for s, d in zip(self.strides, dilations, strict=True))
        return depth, height, width

    @property
    def class_taps(self) -> tuple[int, int, int]:
        """Taps of a class, at most, along depth, height and width."""
        kernels = self.kernel_depth, self.kernel_height, self.kernel_width
        depth, height, width = (-(-k // step) for k, step in zip(kernels, self.steps, strict=True))
        return depth, height, width

    @property
    def product(self) -> Product:
        """The problem as the main loop sees it: a group and a phase are a batch, m counts its pixels, k runs over a class of taps."""
        k = prod(self.class_taps) * self.in_channels
        outs = self.out_depth, self.out_height, self.out_width
        return Product(
            batch=self.groups * prod(self.strides),
            m=self.batch * prod(-(-n // s) for n, s in zip(outs, self.strides, strict=True)),
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


class ConvTransposeFamily:
    """The transposed convolution family."""

    name = "conv_transpose"
    template = "conv_transpose.cu.jinja"
    headers = ("nautilus/kernels/conv_transpose.cuh",)
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
        """Return one block for each tile of a phase's pixels by output channels, phase and group."""
        return product.geometry(problem.product, schedule)


FAMILY = ConvTransposeFamily()

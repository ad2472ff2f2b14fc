"""Transposed convolution as matrix products that gather, one for each class of output pixels, channels last.

Output pixel o takes the taps r with o + pad - r · dilation a multiple of the stride. Pixels that are equal modulo the stride, a *phase*,
take the same taps, every `step`-th one, and find their input pixels as a convolution of stride 1 would.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod

from nautilus_cli.kernels import product
from nautilus_cli.kernels.product import Product, Schedule
from nautilus_cli.kernels.product_family import ProductFamily
from nautilus_cli.kernels.window import GroupedWindow

__all__ = ["FAMILY", "Problem", "Schedule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(GroupedWindow):
    """A transposed convolution: the window's strides and dilations are steps in the output, its pads are cut off the output.

    Functors: `X` at (plane, y, x, channel), channels over all groups, only inside the image; elsewhere it is zero. `Weight` at (output
    channel over all groups, first tap, k): along each dimension taps `first`, `first + step`, ... form a class; first taps count over all
    dimensions, `step` of each; k runs over the taps of a class (`class_taps` along each dimension) and a group's channels, channels
    fastest. It is zero where a class has fewer taps. `Epilogue` at (plane, y, x, output channel over all groups), whose parameter 0 is
    the sum.
    """

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
        outs = self.out_depth, self.out_height, self.out_width
        return self.gathered_product(
            batch=self.groups * prod(self.strides),
            m=self.batch * prod(-(-n // s) for n, s in zip(outs, self.strides, strict=True)),
            k=prod(self.class_taps) * self.in_channels,
        )


FAMILY = ProductFamily(name="conv_transpose", rules=product, problem_type=Problem, schedule_type=Schedule)

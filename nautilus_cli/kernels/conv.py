"""Convolution as a matrix product that gathers its rows from the image, channels last."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.ir.types import F32, DType
from nautilus_cli.kernels import product
from nautilus_cli.kernels.product import Product, Schedule
from nautilus_cli.kernels.product_family import ProductFamily
from nautilus_cli.kernels.window import Window

__all__ = ["FAMILY", "Problem", "Schedule"]


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


FAMILY = ProductFamily(name="conv", rules=product, problem_type=Problem, schedule_type=Schedule)

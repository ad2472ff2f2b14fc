"""Convolution as a matrix product that gathers its rows from the image, channels last."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.kernels import product
from nautilus_cli.kernels.product import Product, Schedule
from nautilus_cli.kernels.product_family import ProductFamily
from nautilus_cli.kernels.window import GroupedWindow

__all__ = ["FAMILY", "Problem", "Schedule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(GroupedWindow):
    """A convolution.

    Functors: `X` at (plane, y, x, channel), channels over all groups, only inside the image; outside it is zero. `Weight` at (output
    channel over all groups, k), where k runs over the window's planes, rows and columns and a group's channels, channels fastest.
    `Epilogue` at (plane, y, x, output channel over all groups), whose parameter 0 is the sum.
    """

    @property
    def product(self) -> Product:
        """The problem as the main loop sees it: m counts output pixels, n output channels, k runs over the window."""
        return self.gathered_product(batch=self.groups, m=self.pixels, k=self.taps * self.in_channels)


FAMILY = ProductFamily(name="conv", rules=product, problem_type=Problem, schedule_type=Schedule)

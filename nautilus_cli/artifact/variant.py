"""A model for one target, with its compiled code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from nautilus_cli.lowering.plan import Plan
from nautilus_cli.targets.base import Target


class Image(Protocol):
    """A module of code as the driver loads it: a cubin, or the shared library of an emulated target."""

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the kernels in it."""
        ...

    @property
    def data(self) -> bytes:
        """Its bytes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variant:
    """A model for one target.

    Attributes:
        target: what it runs on.
        plan: kernels, launches and memory.
        symbols: name of each of the plan's kernels in the images.
        images: any number of cubins; one for an emulated target.
    """

    target: Target
    plan: Plan
    symbols: tuple[str, ...]
    images: tuple[Image, ...]

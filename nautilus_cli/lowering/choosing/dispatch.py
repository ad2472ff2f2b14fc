"""Which of several kernels the host launches for the sizes of a run, as templates/host/patches.c picks it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from nautilus_cli.ir.substitution import substitute


class Conditional(Protocol):
    """What serves where its condition, of sizes, is at most 0."""

    @property
    def condition(self) -> int:
        """At most 0 where it serves."""
        ...


Case = TypeVar("Case", bound=Conditional)


def first_serving(cases: Iterable[Case], sizes: Mapping[str, int]) -> Case | None:
    """Return the first case whose condition holds at SIZES, by name of the dimension; None where none does."""
    return next((case for case in cases if substitute(case.condition, sizes) <= 0), None)

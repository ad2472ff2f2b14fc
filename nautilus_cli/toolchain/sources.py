"""What the toolchain compiles: a kernel's symbol and its text."""

from __future__ import annotations

from typing import Protocol


class KernelSource(Protocol):
    """A rendered kernel; `codegen` makes them."""

    @property
    def symbol(self) -> str:
        """The name that the driver finds it by."""
        ...

    @property
    def text(self) -> str:
        """CUDA source, complete: it includes what it needs and defines this one kernel."""
        ...

"""What every launch is held to, whatever the family."""

from __future__ import annotations

from collections.abc import Iterator

from nautilus_cli.ir.dims import upper
from nautilus_cli.kernels.limits import MOST_BLOCKS_X, MOST_BLOCKS_Y, MOST_THREADS


def thread_violations(threads: int) -> Iterator[str]:
    """Yield why a block cannot have so many threads."""
    if not 1 <= threads <= MOST_THREADS:
        yield f"{threads} threads a block; 1 to {MOST_THREADS} are possible"


def grid_violations(grid: tuple[int, int, int]) -> Iterator[str]:
    """Yield why there cannot be so many blocks along x or z; along y there are as many as can be, whatever the batch."""
    if upper(grid[0]) > MOST_BLOCKS_X or upper(grid[2]) > MOST_BLOCKS_Y:
        yield f"a grid of {grid} blocks is larger than a launch can be"

"""Products in tiles: how a grid of blocks shares out the results, and the threads of a block what a tile needs."""

from __future__ import annotations

from typing import Protocol

from nautilus_cli.ir.functions import minimum
from nautilus_cli.kernels.limits import MOST_BLOCKS_Y
from nautilus_cli.kernels.product.problem import Product


class Tiling(Protocol):
    """A schedule that brings tiles of both operands in vectors."""

    @property
    def threads(self) -> int:
        """Of a block."""
        ...

    @property
    def tile_m(self) -> int:
        """Rows of a block."""
        ...

    @property
    def tile_n(self) -> int:
        """Columns of a block."""
        ...

    @property
    def tile_k(self) -> int:
        """Steps of the sum that are brought together."""
        ...

    @property
    def vector_a(self) -> int:
        """Elements of A that are brought together."""
        ...

    @property
    def vector_b(self) -> int:
        """The same of B."""
        ...


def grid(shape: Product, schedule: Tiling, *, cluster_k: int = 1) -> tuple[int, int, int]:
    """Return the blocks along x (tiles, times those that share one), y and z (batches)."""
    tiles = -(-shape.m // schedule.tile_m) * -(-shape.n // schedule.tile_n)
    return tiles * cluster_k, minimum(shape.batch, MOST_BLOCKS_Y), -(-shape.batch // MOST_BLOCKS_Y)


def items(outer: int, schedule: Tiling, vector: int) -> int:
    """Return how many vectors of an operand's tile, of OUTER rows or columns, a thread brings."""
    return max(1, outer * schedule.tile_k // vector // schedule.threads)

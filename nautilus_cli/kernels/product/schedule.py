"""How a product is cut into blocks and register tiles."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How a product is cut into blocks and threads.

    Attributes:
        tile_m: rows of the result that a block computes.
        tile_n: columns of the result that a block computes.
        tile_k: steps of the sum that are in shared memory at once.
        thread_m: rows of a thread's register tile.
        thread_n: columns of a thread's register tile.
        slices_k: groups of threads that share out each tile's steps; their sums are added in order at the end.
        stages: tiles in shared memory: with 2, one fills while the other is read; with more, all but one are on their way, and operands
            that are only loaded are copied past registers.
        fragment: most neighbouring elements of a tile that a thread reads at once.
        vector_a: elements of A that a thread loads at once.
        vector_b: elements of B that a thread loads at once.
        vector_c: neighbouring results that the epilogue takes at once.
        group_m: tile rows that blocks run down before they move on along n.
        blocks: that a multiprocessor shall hold at once; the compiler keeps to the registers that leaves.
    """

    tile_m: int
    tile_n: int
    tile_k: int
    thread_m: int
    thread_n: int
    slices_k: int = 1
    stages: int = 2
    fragment: int = 4
    vector_a: int = 1
    vector_b: int = 1
    vector_c: int = 1
    group_m: int = 1
    blocks: int = 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return (self.tile_m // self.thread_m) * (self.tile_n // self.thread_n) * self.slices_k

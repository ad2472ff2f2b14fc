"""How a product with few rows is cut into blocks, warps and loads."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.kernels.limits import WARP_THREADS

ANY_NUMBER = ("tile_k", "stages", "blocks")
"""Fields that need not be powers of two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How a product is cut into blocks, warps and loads.

    Attributes:
        tile_m: rows of A that a block multiplies, all by every warp.
        tile_n: columns of the result that a block computes.
        tile_k: depth of A's rows in one stage of shared memory; a multiple of what all slices have on their way.
        thread_n: columns of which a thread loads weights: of as many loads where k is last, else of one load.
        lanes_k: lanes of a warp side by side along the depth; the others have other columns.
        loads: of each column that a thread has on their way.
        slices_k: warps that share out the depth of their columns; their sums are added in order at the end.
        stages: tiles of A's rows in shared memory; 1 where one tile is all.
        vector_a: elements of A that a thread brings at once.
        vector_b: weights that a thread loads at once.
        vector_c: neighbouring results that the epilogue takes at once.
        cluster_k: blocks of a cluster that share out the depth; their sums are added in order at the end. From sm_90 on.
        tensor_cores: whether mma multiplies.
        early_trigger: whether the next kernel's blocks may come as soon as all of this one's run, and read their weights beside them.
        blocks: that a multiprocessor shall hold at once; the compiler keeps to the registers that leaves.
    """

    tile_m: int
    tile_n: int
    tile_k: int
    thread_n: int
    lanes_k: int
    loads: int
    slices_k: int = 1
    stages: int = 1
    vector_a: int = 1
    vector_b: int = 1
    vector_c: int = 1
    cluster_k: int = 1
    tensor_cores: bool = False
    early_trigger: bool = True
    blocks: int = 1

    @property
    def warp_n(self) -> int:
        """Columns of a warp."""
        return self.thread_n * (WARP_THREADS // self.lanes_k)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.tile_n // self.warp_n * self.slices_k * WARP_THREADS

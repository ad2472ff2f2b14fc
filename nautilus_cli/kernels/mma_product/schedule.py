"""How a product by mma.sync is cut into blocks and warps."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.kernels.limits import WARP_THREADS


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How a product is cut into blocks and warps.

    Attributes:
        tile_m: rows of the result that a block computes.
        tile_n: columns of the result that a block computes.
        tile_k: steps of the sum in one stage of shared memory.
        warp_m: rows of a warp's register tile.
        warp_n: columns of a warp's register tile.
        slices_k: warps that share out each tile's depth; their sums are added in order at the end.
        stages: tiles in shared memory; all but one are on their way.
        vector_a: elements of A that a thread brings at once.
        vector_b: elements of B that a thread brings at once.
        vector_c: neighbouring results that the epilogue takes at once.
        group_m: tile rows that blocks run down before they move on along n.
        blocks: that a multiprocessor shall hold at once; the compiler keeps to the registers that leaves.
        cluster_k: blocks of a cluster that share out the depth; their sums are added in order at the end. From sm_90 on.
    """

    tile_m: int
    tile_n: int
    tile_k: int
    warp_m: int
    warp_n: int
    slices_k: int = 1
    stages: int = 3
    vector_a: int = 1
    vector_b: int = 1
    vector_c: int = 1
    group_m: int = 1
    blocks: int = 1
    cluster_k: int = 1

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return (self.tile_m // self.warp_m) * (self.tile_n // self.warp_n) * self.slices_k

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warps * WARP_THREADS

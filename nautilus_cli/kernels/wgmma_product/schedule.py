"""How a product by wgmma is cut into tiles and warpgroups."""

from __future__ import annotations

from dataclasses import dataclass

WARPGROUP_THREADS = 128

SWITCHES = ("swaps", "ping_pong", "slices_depth", "stores_boxes", "early_trigger")
"""Fields that are true or false; all others are numbers from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How a product is cut into tiles and warpgroups.

    Attributes:
        tile_m: rows of the result that a block computes at once.
        tile_n: columns of the result that a block computes at once.
        swaps: whether the transposed product is computed, so that columns of the result are the rows of an instruction, of which it has 64;
            tile_m, and what else speaks of rows, are then columns.
        consumers: warpgroups that multiply, 1 to 3; one more brings the tiles.
        ping_pong: whether each consumer has a tile of its own and they take turns; else they share the rows of one.
        slices_depth: whether consumers share out the depth of a tile, not its rows; their sums are added in order at the end.
        stages: tiles of 128 bytes of depth in shared memory.
        vector_a: elements that a thread loads at once of an A that is computed.
        cluster_m: blocks, side by side along m, that share the tiles of B.
        cluster_n: blocks, side by side along n, that share the tiles of A.
        cluster_k: blocks that share out the depth of one tile; their sums are added in order at the end.
        group_m: rows of clusters' tiles that are run down before they move on along n.
        vector_c: neighbouring results that the epilogue takes at once.
        stores_boxes: whether results leave through shared memory, as boxes of 64 rows of 128 bytes that bulk copies take.
        early_trigger: whether the next kernel's blocks may come as soon as all of this one's run, and bring a constant B beside them.
        residents: blocks that a multiprocessor holds at once, of this kernel, or of this one and the next.
        blocks: blocks that stay and walk over the tiles.
    """

    tile_m: int
    tile_n: int
    consumers: int
    swaps: bool = False
    ping_pong: bool = False
    slices_depth: bool = False
    stages: int = 4
    vector_a: int = 1
    cluster_m: int = 1
    cluster_n: int = 1
    cluster_k: int = 1
    group_m: int = 1
    vector_c: int = 1
    stores_boxes: bool = False
    early_trigger: bool = False
    residents: int = 1
    blocks: int = 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return (self.consumers + 1) * WARPGROUP_THREADS

    @property
    def cluster(self) -> int:
        """Blocks of a cluster."""
        return self.cluster_m * self.cluster_n * self.cluster_k

    @property
    def rows(self) -> int:
        """Rows of a tile that one consumer multiplies."""
        return self.tile_m if self.ping_pong or self.slices_depth else self.tile_m // self.consumers

    @property
    def parts(self) -> int:
        """Parts of a tile's depth whose sums are added at the end."""
        return self.cluster_k * (self.consumers if self.slices_depth else 1)

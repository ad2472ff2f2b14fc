"""What a target is: limits and features as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A GPU architecture, or the emulator.

    Attributes:
        name: as given to --target, for example `sm_90a`.
        capability: (major, minor) of the compute capability; (0, 0) for the emulator.
        exact: whether images run on this capability only (`a` targets), not on later minors of the same major.
        multiprocessors: of the part that schedules are ranked for.
        smem_bytes_block: most dynamic shared memory of a block.
        smem_bytes_multiprocessor: shared memory of a multiprocessor.
        registers_multiprocessor: 32-bit registers of a multiprocessor.
        threads_multiprocessor: most resident threads of a multiprocessor.
        l2_bytes: second-level cache.
        memory_bytes_per_us: device memory bandwidth.
        has_dependent_launch: griddepcontrol (sm_90).
        has_clusters: blocks that reach each other's shared memory (sm_90).
        clusters: (blocks, how many clusters of so many are resident where each block fills a multiprocessor): fewer than there are
            multiprocessors for, since a cluster lies within a group of these.
        has_wgmma: products by warpgroups (sm_90a alone).
        is_emulated: kernels run on the CPU.
        source: where the numbers are from.
    """

    name: str
    capability: tuple[int, int]
    exact: bool = False
    multiprocessors: int
    smem_bytes_block: int
    smem_bytes_multiprocessor: int
    registers_multiprocessor: int = 65536
    threads_multiprocessor: int
    l2_bytes: int
    memory_bytes_per_us: int
    has_dependent_launch: bool = False
    has_clusters: bool = False
    clusters: tuple[tuple[int, int], ...] = ()
    has_wgmma: bool = False
    is_emulated: bool = False
    source: str

    def resident_clusters(self, blocks: int) -> int:
        """Return how many clusters of so many blocks are resident where each block fills a multiprocessor."""
        return dict(self.clusters).get(blocks, self.multiprocessors // blocks)

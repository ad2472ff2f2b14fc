"""The emulator: the same kernels on the CPU, for machines without a GPU."""

from __future__ import annotations

from nautilus_cli.targets.base import Target

TARGET = Target(
    name="emulated",
    capability=(0, 0),
    # Few multiprocessors make the analytic ranking prefer large tiles, which cost the fewest fiber switches.
    multiprocessors=4,
    # Limits of sm_90a, so that every schedule that is legal there can be tried here.
    smem_bytes_block=227 * 1024,
    smem_bytes_multiprocessor=228 * 1024,
    registers_multiprocessor=65536,
    threads_multiprocessor=2048,
    l2_bytes=32 * 1024 * 1024,
    memory_bytes_per_us=20_000,
    has_dependent_launch=True,
    has_wgmma=True,
    is_emulated=True,
    source="Limits of a block and of a multiprocessor as for sm_90a; cache and bandwidth: round numbers of a desktop CPU, for ranking.",
)

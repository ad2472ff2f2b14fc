"""Ada; ranked for an L40S."""

from __future__ import annotations

from nautilus_cli.targets.base import Target

TARGET = Target(
    name="sm_89",
    capability=(8, 9),
    exact=False,
    multiprocessors=142,
    smem_bytes_block=99 * 1024,
    smem_bytes_multiprocessor=100 * 1024,
    registers_multiprocessor=65536,
    threads_multiprocessor=1536,
    l2_bytes=96 * 1024 * 1024,
    memory_bytes_per_us=864_000,
    has_dependent_launch=False,
    source="CUDA C++ Programming Guide 13, technical specifications table; NVIDIA L40S datasheet and the Ada white paper.",
)

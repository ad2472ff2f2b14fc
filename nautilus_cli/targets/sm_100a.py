"""Blackwell, data centre, with its architecture-specific instructions; ranked for a B200."""

from __future__ import annotations

from nautilus_cli.targets.base import Target

TARGET = Target(
    name="sm_100a",
    capability=(10, 0),
    exact=True,
    multiprocessors=148,
    smem_bytes_block=227 * 1024,
    smem_bytes_multiprocessor=228 * 1024,
    registers_multiprocessor=65536,
    threads_multiprocessor=2048,
    l2_bytes=126 * 1024 * 1024,
    memory_bytes_per_us=8_000_000,
    has_dependent_launch=True,
    has_clusters=True,
    source="CUDA C++ Programming Guide 13, technical specifications table; NVIDIA B200 datasheet and the Blackwell tuning guide (L2).",
)

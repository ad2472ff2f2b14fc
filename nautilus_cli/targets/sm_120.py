"""Blackwell, workstation; ranked for an RTX PRO 6000."""

from __future__ import annotations

from nautilus_cli.targets.base import Target

TARGET = Target(
    name="sm_120",
    capability=(12, 0),
    exact=False,
    multiprocessors=188,
    smem_bytes_block=99 * 1024,
    smem_bytes_multiprocessor=100 * 1024,
    registers_multiprocessor=65536,
    threads_multiprocessor=1536,
    l2_bytes=128 * 1024 * 1024,
    memory_bytes_per_us=1_792_000,
    has_dependent_launch=True,
    has_clusters=True,
    source="CUDA C++ Programming Guide 13, technical specifications table; NVIDIA RTX PRO 6000 datasheet; RTX Blackwell white paper.",
)

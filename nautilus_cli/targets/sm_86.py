"""Ampere, GA102; ranked for an A10."""

from __future__ import annotations

from nautilus_cli.targets.base import Target

TARGET = Target(
    name="sm_86",
    capability=(8, 6),
    exact=False,
    multiprocessors=72,
    smem_bytes_block=99 * 1024,
    smem_bytes_multiprocessor=100 * 1024,
    registers_multiprocessor=65536,
    threads_multiprocessor=1536,
    l2_bytes=6 * 1024 * 1024,
    memory_bytes_per_us=600_000,
    has_dependent_launch=False,
    source="CUDA C++ Programming Guide 13, technical specifications table; NVIDIA A10 datasheet and the GA102 white paper.",
)

"""Ampere, GA100; ranked for an A100 80 GB."""

from __future__ import annotations

from nautilus_cli.targets.base import Target

TARGET = Target(
    name="sm_80",
    capability=(8, 0),
    exact=False,
    multiprocessors=108,
    smem_bytes_block=163 * 1024,
    smem_bytes_multiprocessor=164 * 1024,
    registers_multiprocessor=65536,
    threads_multiprocessor=2048,
    l2_bytes=40 * 1024 * 1024,
    memory_bytes_per_us=2_039_000,
    has_dependent_launch=False,
    source="CUDA C++ Programming Guide 13, technical specifications table; NVIDIA A100 datasheet (80 GB SXM).",
)

"""Hopper with its architecture-specific instructions (wgmma, setmaxnreg); ranked for an H200."""

from __future__ import annotations

from nautilus_cli.targets.base import Target

TARGET = Target(
    name="sm_90a",
    capability=(9, 0),
    exact=True,
    multiprocessors=132,
    smem_bytes_block=227 * 1024,
    smem_bytes_multiprocessor=228 * 1024,
    registers_multiprocessor=65536,
    threads_multiprocessor=2048,
    l2_bytes=60 * 1024 * 1024,
    memory_bytes_per_us=4_800_000,
    has_dependent_launch=True,
    has_clusters=True,
    clusters=((2, 66), (3, 39), (4, 30), (6, 17), (8, 15)),
    has_wgmma=True,
    source="CUDA C++ Programming Guide 13, technical specifications table; NVIDIA H200 datasheet; L2 and clusters as an H200 reports them.",
)

"""Kernels to an emulated image: an x86-64 shared library that fills the driver table.

Several kernels share a translation unit, because parsing the headers costs more than a kernel does. How kernels are grouped
depends on their order alone, so the same kernels give the same bytes whatever the number of jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from nautilus_cli.toolchain import host_compiler
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.includes import IncludeScanner
from nautilus_cli.toolchain.pool import run_all
from nautilus_cli.toolchain.sources import KernelSource

KERNELS_PER_UNIT = 24


def units(kernels: Sequence[KernelSource]) -> list[Sequence[KernelSource]]:
    """Return the kernels in even groups of at most KERNELS_PER_UNIT, in order; at least two groups where there are two kernels."""
    count = max(-(-len(kernels) // KERNELS_PER_UNIT), min(2, len(kernels)))
    bounds = [len(kernels) * i // count for i in range(count + 1)] if count else [0]
    return [kernels[first:last] for first, last in pairwise(bounds)]


def image(
    kernels: Sequence[KernelSource],
    store: Cache,
    jobs: int,
    advance: Callable[[int], None] = lambda _: None,
    *,
    optimisation: str = host_compiler.OPTIMISATION,
) -> bytes:
    """Return the image of the kernels.

    Args:
        kernels: with distinct symbols.
        store: where objects and images are kept.
        jobs: compilers at once.
        advance: told the number of kernels that have just been compiled.
        optimisation: the compiler's option for kernels.

    Raises:
        ToolchainError: there is no C++ compiler, or it refuses a kernel.
    """
    scanner = IncludeScanner(host_compiler.include_folders())

    def compile_unit(unit: Sequence[KernelSource]) -> bytes:
        content = unit_object(unit, store, scanner, optimisation=optimisation)
        advance(len(unit))
        return content

    # Kernels first: their units take the longest. The runtime's sources are compiled on a cold cache only.
    work: list[Callable[[], bytes]] = [partial(compile_unit, unit) for unit in units(kernels)]
    work += runtime_objects(store, scanner)
    return host_compiler.link_image(run_all(lambda task: task(), work, jobs), store)


def unit_object(
    unit: Sequence[KernelSource], store: Cache, scanner: IncludeScanner, *, optimisation: str = host_compiler.OPTIMISATION
) -> bytes:
    """Return the object file of a translation unit of several kernels.

    Raises:
        ToolchainError: there is no C++ compiler, or it refuses a kernel.
    """
    # The line directive gives messages the kernel's own file and line.
    text = "\n".join(f'#line 1 "{kernel.symbol}.cu"\n{kernel.text}' for kernel in unit)
    return host_compiler.compile_object(text, store, scanner=scanner, optimisation=optimisation)


def runtime_objects(store: Cache, scanner: IncludeScanner) -> list[Callable[[], bytes]]:
    """Return what compiles each source of the emulator itself; every image needs them all."""
    return [partial(host_compiler.compile_object, source, store, scanner=scanner) for source in host_compiler.runtime_sources()]

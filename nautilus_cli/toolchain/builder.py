"""Rendered kernels to module images for a target.

A cubin holds one kernel: 24 small kernels on two cores take 1.06 s so and 0.85 s in fours, but a kernel that changes, or that another model
has too, is then the only one that is compiled or the one that is not. An emulated image holds all.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nautilus_cli import resources
from nautilus_cli.errors import InternalError, UsageError
from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain import emulated, nvrtc
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.includes import IncludeScanner
from nautilus_cli.toolchain.nvrtc import Cubin, Resources
from nautilus_cli.toolchain.pool import default_jobs, run_all
from nautilus_cli.toolchain.sources import KernelSource

Progress = Callable[[int, int], None]
"""Told how many kernels are compiled, and of how many; called from one thread at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A module as the driver loads it.

    Attributes:
        kind: `cubin` or `emulated`.
        capability: compute capability that it is for; (0, 0) for an emulated one.
        exact: whether it runs on that capability only.
        symbols: kernels in it.
        data: the bytes.
    """

    kind: str
    capability: tuple[int, int]
    exact: bool
    symbols: tuple[str, ...]
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What a build gave.

    Attributes:
        images: in order of the kernels.
        resources: of each kernel by symbol, where the compiler told; empty for an emulated image.
        logs: what the compiler said, by symbol, where it said anything.
    """

    images: tuple[Image, ...]
    resources: Mapping[str, Resources]
    logs: Mapping[str, str]


def build(
    kernels: Sequence[KernelSource],
    target: Target,
    *,
    store: Cache | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Build:
    """Compile kernels for a target, or take them from the cache.

    Args:
        kernels: with distinct symbols.
        target: what for.
        store: where results are kept; None for the user's cache.
        jobs: compilers at once; None for one a core.
        progress: told after each step; None to tell nobody.

    Raises:
        ToolchainError: a compiler is missing, or refuses a kernel.
        FileError: the cache cannot be written.
    """
    repeated = [symbol for symbol, times in Counter(kernel.symbol for kernel in kernels).items() if times > 1]
    if repeated:
        raise InternalError(f"kernels share the symbol '{repeated[0]}'")
    if jobs is not None and jobs < 1:
        raise UsageError(f"{jobs} is not a number of jobs.", where="--jobs", hint="Give 1 or more.")
    store = store or Cache.default()
    jobs = jobs or default_jobs()
    advance = _counter(len(kernels), progress)
    if target.is_emulated:
        data = emulated.image(kernels, store, jobs, advance)
        symbols = tuple(kernel.symbol for kernel in kernels)
        image = Image(kind="emulated", capability=target.capability, exact=target.exact, symbols=symbols, data=data)
        return Build(images=(image,), resources={}, logs={})

    scanner = IncludeScanner((resources.include(),))

    def compile_kernel(kernel: KernelSource) -> Cubin:
        cubin = nvrtc.compile_kernel(kernel.text, kernel.symbol, target, store, scanner=scanner)
        advance(1)
        return cubin

    cubins = run_all(compile_kernel, kernels, jobs)
    return Build(
        images=tuple(
            Image(kind="cubin", capability=target.capability, exact=target.exact, symbols=(kernel.symbol,), data=cubin.image)
            for kernel, cubin in zip(kernels, cubins, strict=True)
        ),
        resources={symbol: used for cubin in cubins for symbol, used in cubin.resources.items()},
        logs={kernel.symbol: cubin.log for kernel, cubin in zip(kernels, cubins, strict=True) if cubin.log.strip()},
    )


def _counter(total: int, progress: Progress | None) -> Callable[[int], None]:
    """Return a function that adds to what is done and tells PROGRESS."""
    lock = threading.Lock()
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        with lock:
            done += count
            if progress:
                progress(done, total)

    return advance

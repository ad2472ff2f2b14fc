"""Compiles the kernels of many models: each once, many to a translation unit, and joins what a group of models needs into one image."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nautilus_cli.codegen.render import Rendered
from nautilus_cli.errors import ToolchainError
from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain import emulated, host_compiler, nvrtc
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.includes import IncludeScanner
from tests.conformance.cases import hash_of

UNIT_LEAST, UNIT_MEAN, UNIT_MOST = 30, 64, 100
"""Kernels of a translation unit."""


def cut(kernels: Iterable[Rendered], jobs: int = 1) -> list[list[Rendered]]:
    """Return kernels in groups, in order.

    A group ends after a kernel whose hash says so, within the limits: so one kernel more or less changes one or two groups, and the
    others are found in the cache.
    """
    kernels = list(kernels)
    # Few kernels: as many groups as there are compilers at once.
    most = min(UNIT_MOST, max(1, -(-len(kernels) // jobs)))
    groups: list[list[Rendered]] = [[]]
    for kernel in kernels:
        group = groups[-1]
        group.append(kernel)
        if len(group) >= most or (len(group) >= UNIT_LEAST and hash_of(kernel.symbol) % UNIT_MEAN == 0):
            groups.append([])
    return [group for group in groups if group]


class EmulatedBuild:
    """Kernels compiled for the emulator.

    Attributes:
        refused: what the compiler said, by symbol of each kernel that it refuses.
        units: how many translation units there are.
    """

    def __init__(self, kernels: Iterable[Rendered], store: Cache, jobs: int) -> None:
        self.refused: dict[str, str] = {}
        self._store = store
        self._scanner = IncludeScanner(host_compiler.include_folders())
        self._unit_of: dict[str, int] = {}
        groups = cut(kernels, jobs)
        self.units = len(groups)
        with ThreadPoolExecutor(jobs) as pool:
            runtime = [pool.submit(task) for task in emulated.runtime_objects(store, self._scanner)]
            units = list(pool.map(self._objects, groups))
        self._runtime = [task.result() for task in runtime]
        self._objects_of = units
        for number, group in enumerate(groups):
            for kernel in group:
                self._unit_of[kernel.symbol] = number

    def _objects(self, group: Sequence[Rendered]) -> list[bytes]:
        """Return the object of a group; where the compiler refuses it, those of its halves, down to the kernel that is wrong."""
        try:
            return [emulated.unit_object(group, self._store, self._scanner)]
        except ToolchainError as error:
            if len(group) == 1:
                self.refused[group[0].symbol] = str(error)
                return []
        middle = len(group) // 2
        return [*self._objects(group[:middle]), *self._objects(group[middle:])]

    def groups(self, wanted: Mapping[str, Sequence[str]]) -> list[list[str]]:
        """Return models that share an image: neighbours, by the last unit that they need.

        Args:
            wanted: the symbols of each model's kernels.
        """
        found: dict[int, list[str]] = {}
        for key, symbols in wanted.items():
            found.setdefault(max((self._unit_of[s] for s in symbols), default=0), []).append(key)
        return [found[number] for number in sorted(found)]

    def image(self, symbols: Iterable[str]) -> bytes:
        """Return an image that holds these kernels, and more."""
        units = sorted({self._unit_of[symbol] for symbol in symbols})
        objects = [content for unit in units for content in self._objects_of[unit]]
        return host_compiler.link_image([*objects, *self._runtime], self._store)


class CubinBuild:
    """Kernels compiled for a GPU, a cubin each, as files.

    Attributes:
        refused: as that of EmulatedBuild.
    """

    def __init__(self, kernels: Iterable[Rendered], target: Target, store: Cache, jobs: int, folder: Path) -> None:
        self.refused: dict[str, str] = {}
        scanner = IncludeScanner(host_compiler.include_folders()[:1])

        def compile_kernel(kernel: Rendered) -> None:
            try:
                cubin = nvrtc.compile_kernel(kernel.text, kernel.symbol, target, store, scanner=scanner)
            except ToolchainError as error:
                self.refused[kernel.symbol] = str(error)
            else:
                (folder / f"{kernel.symbol}.cubin").write_bytes(cubin.image)

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(compile_kernel, kernels))

"""Many graphs in one emulated image: their kernels are compiled together, and every graph becomes a library of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import nautilus_cli
from nautilus_cli.artifact import bundle
from nautilus_cli.artifact.payload import Variant
from nautilus_cli.codegen.render import Rendered, render
from nautilus_cli.kernels.base import Choose
from nautilus_cli.lowering.plan import Plan
from nautilus_cli.lowering.planner import plan
from nautilus_cli.passes import pipeline
from nautilus_cli.runtime.model import EmulatorOptions
from nautilus_cli.targets.base import Target
from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain import host_compiler
from nautilus_cli.toolchain.builder import Image, build
from nautilus_cli.toolchain.cache import Cache
from tests.support.random_graphs.drawing import RandomGraph


def analytic(family: object, problem: object, on: Target) -> object:
    """Choose as the family ranks."""
    return family.choose(problem, on)  # type: ignore[attr-defined]


@dataclass(frozen=True, kw_only=True, eq=False)
class Compiled:
    """A graph on its way to a library.

    Attributes:
        drawn: the graph.
        plan: of its kernels.
        symbols: parallel to the plan's kernels.
    """

    drawn: RandomGraph
    plan: Plan
    symbols: tuple[str, ...]


class Batch:
    """Graphs whose kernels are in one image.

    Args:
        graphs: to compile.
        folder: for libraries.
        choose: picks schedules.
        store: cache of the toolchain.
    """

    def __init__(self, graphs: Sequence[RandomGraph], folder: Path, *, choose: Choose = analytic, store: Cache | None = None) -> None:
        self._target = target("emulated")
        self._folder = folder
        self._store = store or Cache.default()
        kernels: dict[str, Rendered] = {}
        self.compiled: list[Compiled] = []
        for drawn in graphs:
            planned = plan(pipeline.run(drawn.graph), self._target, choose)
            rendered = [render(kernel.request) for kernel in planned.kernels]
            kernels.update((kernel.symbol, kernel) for kernel in rendered)
            self.compiled.append(Compiled(drawn=drawn, plan=planned, symbols=tuple(kernel.symbol for kernel in rendered)))
        self.kernels = len(kernels)
        self._images: tuple[Image, ...] = build(list(kernels.values()), self._target, store=self._store).images

    def run(self, compiled: Compiled, options: EmulatorOptions, *, launch: str = "graph") -> Mapping[str, np.ndarray]:
        """Return the outputs of one graph, from a library that is loaded for it."""
        path = self._folder / f"lib{compiled.drawn.seed}.so"
        if not path.exists():
            variant = Variant(target=self._target, plan=compiled.plan, symbols=compiled.symbols, images=self._images)
            host = host_compiler.shared_library(self._store)
            bundle.write(path, host_library=host, variants=(variant,), model_digest=bytes(32), tools={}, producer="test")
        with nautilus_cli.load(path, emulator=options, launch=launch) as library:
            return library(compiled.drawn.feeds)

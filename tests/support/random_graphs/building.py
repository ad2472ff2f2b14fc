"""Many graphs in one emulated image: their kernels are compiled together, and every graph becomes a library of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np

import nautilus_cli
from nautilus_cli.artifact import bundle
from nautilus_cli.artifact.variant import Variant
from nautilus_cli.codegen.render import Rendered, render
from nautilus_cli.errors import NautilusError
from nautilus_cli.ir.graph import FusedGraph, Graph
from nautilus_cli.kernels.base import Choose, Family
from nautilus_cli.lowering.building import lowered
from nautilus_cli.lowering.choosing import choice
from nautilus_cli.lowering.plan import Plan
from nautilus_cli.lowering.planner import plan
from nautilus_cli.numerics import compare
from nautilus_cli.passes import pipeline
from nautilus_cli.runtime.description import EmulatorOptions
from nautilus_cli.targets.base import Target
from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain import host_compiler
from nautilus_cli.toolchain.builder import Image, build
from nautilus_cli.toolchain.cache import Cache
from tests.support.random_graphs.drawing import RandomGraph


def analytic(family: Family, problem: Any, on: Target) -> Any:
    """Choose as the family ranks."""
    return family.choose(problem, on)


class AnySchedule:
    """Chooses any legal schedule of the search space, so that kernels meet graphs that their ranking would keep from them."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def __call__(self, family: Family, problem: Any, on: Target) -> Any:
        """Return a schedule."""
        for step in (997, 31, 1):
            some = islice(family.schedules(problem, on), self._random.randrange(step), None, step)
            legal = [schedule for schedule in some if not family.violations(problem, schedule, on)]
            if legal:
                return self._random.choice(legal)
        return family.choose(problem, on)


def any_family(seed: int) -> Callable[..., Iterator[tuple[float, Any]]]:
    """Return what takes the place of the estimates by which families are chosen: tensor cores before others, but else at random."""
    random, found = Random(seed), choice._estimates

    def estimates(*given: Any) -> Iterator[tuple[float, Any]]:
        for _, (family, problem) in found(*given):
            yield random.random() + (family.name in ("gemm", "gemm_skinny")), (family, problem)

    return estimates


@dataclass(frozen=True, kw_only=True, eq=False)
class Compiled:
    """A graph on its way to a library.

    Attributes:
        drawn: the graph.
        plan: of its kernels.
        kernels: parallel to the plan's.
    """

    drawn: RandomGraph
    plan: Plan
    kernels: tuple[Rendered, ...]


def compiled(drawn: RandomGraph, fused: Callable[[Graph], FusedGraph] = pipeline.run) -> Compiled:
    """Plan and render a graph: half of all graphs with any schedule, a third of any family, a fifth with 64-bit indices.

    Args:
        drawn: the graph.
        fused: simplifies and fuses it.
    """
    choose: Choose = AnySchedule(drawn.seed) if drawn.seed % 2 else analytic
    limit = -1 if drawn.seed % 5 == 0 else lowered.INDEX_32_LIMIT
    estimates = any_family(drawn.seed) if drawn.seed % 3 == 2 else choice._estimates
    with mock.patch.object(lowered, "INDEX_32_LIMIT", limit), mock.patch.object(choice, "_estimates", estimates):
        planned = plan(fused(drawn.graph), target("emulated"), choose, fp32_mode="ffma")
    return Compiled(drawn=drawn, plan=planned, kernels=tuple(render(kernel.request) for kernel in planned.kernels))


def modes(seed: int) -> tuple[EmulatorOptions, ...]:
    """Return the ways in which the emulator runs the graph of a seed."""
    order = ("random", "reverse")[seed % 2]
    return EmulatorOptions(order="fifo", poison=True), EmulatorOptions(order=order, seed=seed, lazy=True, poison=True)


class Batch:
    """Graphs whose kernels are in one image.

    Args:
        graphs: to compile.
        folder: for libraries.
        fused: simplifies and fuses a graph.
        store: cache of the toolchain.
    """

    def __init__(
        self,
        graphs: Sequence[RandomGraph],
        folder: Path,
        *,
        fused: Callable[[Graph], FusedGraph] = pipeline.run,
        store: Cache | None = None,
    ) -> None:
        self._target = target("emulated")
        self._folder = folder
        self._store = store or Cache.default()
        self.compiled = [compiled(drawn, fused) for drawn in graphs]
        self.kernels = {kernel.symbol: kernel for one in self.compiled for kernel in one.kernels}
        self._images: tuple[Image, ...] = build(list(self.kernels.values()), self._target, store=self._store).images

    def write(self, one: Compiled) -> Path:
        """Write the library of a graph."""
        path = self._folder / f"lib{one.drawn.seed}.so"
        symbols = tuple(kernel.symbol for kernel in one.kernels)
        variant = Variant(target=self._target, plan=one.plan, symbols=symbols, images=self._images)
        host = host_compiler.shared_library(self._store)
        bundle.write(path, host_library=host, variants=(variant,), model_digest=bytes(32), tools={}, producer="test", fp32_mode="ffma")
        return path

    def failures(self, one: Compiled) -> list[str]:
        """Run the library of a graph in every mode, twice each; return what is wrong."""
        path = self.write(one)
        found = []
        for number, options in enumerate(modes(one.drawn.seed)):
            launch = ("graph", "stream")[(one.drawn.seed + number) % 2]
            try:
                with nautilus_cli.load(path, emulator=options, launch=launch) as library:
                    for _ in range(2):
                        found += mismatches(library(one.drawn.feeds), one.drawn)
            except NautilusError as error:
                found.append(f"graph {one.drawn.seed}, {options.order}: {error}")
        path.unlink()
        return found


def mismatches(found: Mapping[str, np.ndarray], drawn: RandomGraph) -> list[str]:
    """Return which outputs are not what a random graph gives."""
    results = {name: compare(found[name], expected, drawn.tolerances[name]) for name, expected in drawn.expected.items()}
    return [f"graph {drawn.seed}, {name}: {result}" for name, result in results.items() if not result.is_match]

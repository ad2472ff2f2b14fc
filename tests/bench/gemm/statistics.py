"""Measures two products with a norm of rows between them: as three kernels, and as two that leave and take statistics of the rows.

Usage:
    python -m tests.bench.gemm.statistics build FILE           compile the kernels for sm_90a; needs no GPU
    python -m tests.bench.gemm.statistics run FILE OUT.json    measure them; needs a GPU and torch

The best schedules by the ranking of a product with a bias and a residual, without statistics and with them, of a product with a bias of
what is normalised already and of what it normalises itself, and the norm as a row kernel: each alone, and the best behind each other.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nautilus_cli.ir.expression import Expression, Load
from nautilus_cli.ir.graph import Graph
from nautilus_cli.ir.index_map import from_strides, identity
from nautilus_cli.ir.types import F16, F32, TensorType
from nautilus_cli.kernels import gemm_mma, gemm_wgmma
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.lowering.planner import plan
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.passes import pipeline
from nautilus_cli.targets.registry import target
from tests.bench.gemm.parts import Part, Shape, command, compiled, ranked
from tests.emulated.building import Steps

SHAPES = (
    (128, 768, 768, 3072),
    (128, 768, 3072, 2304),
    (197, 768, 768, 3072),
    (197, 768, 3072, 2304),
    (512, 1024, 1024, 4096),
    (1024, 768, 3072, 3072),
    (4096, 768, 3072, 3072),
    (4096, 4096, 4096, 4096),
)
"""m, n and k of the product whose results are normalised, and n of the one that follows."""
PART = 32
BUILT = 4
GRAPH_US = 800
TURNS = 9
CHAINS = {
    "product, norm, consumer": ("product", "norm", "consumer"),
    "statistics, folded": ("statistics", "folded"),
    "product, consumer": ("product", "consumer"),
}
"""Kernels behind each other, the best of each."""

Launch = Callable[[int], None]
"""Launches something, told the number of the launch."""


def plain(slot: int, rows: int, columns: int) -> Expression:
    """Return a functor that only loads a matrix."""
    return Expression((Load(slot, F16, identity((1, rows, columns))),), (0,))


def producers(shape: Shape, part: int) -> Iterator[KernelRequest]:
    """Yield the best schedules of a product with a bias and a residual; with statistics of parts of its rows where PART is not 0."""
    m, n, k, _ = shape
    steps, where = Steps(), (1, m, n)
    biased = steps.apply("add", steps.parameter(0), steps.load(3, F16, from_strides(where, (0, 0, 1))))
    summed = steps.apply("add", biased, steps.load(4, F16, identity(where)))
    rounded = steps.apply("cast_f32_f16", summed) if part else summed
    steps.store(rounded, 2, F16, identity(where))
    functors: tuple[tuple[str, Expression], ...] = (("Epilogue", steps.expression(*[rounded][: bool(part)])),)
    if part:
        finish = Steps()
        for number in range(2):
            finish.store(finish.parameter(number), 5, F32, from_strides((1, m, n // part), (0, 2 * n // part, 2), number))
        functors = (*functors, ("Statistics", finish.expression()))
    yield from best((m, n, k), functors, 6 if part else 5, part_columns=part)


def consumers(shape: Shape, part: int) -> Iterator[KernelRequest]:
    """Yield the best schedules of a product with a bias; of rows that it normalises, by moments of parts of them, where PART is not 0."""
    m, k, _, n = shape
    steps, where = Steps(), (1, m, n)
    result = steps.parameter(0)
    functors: tuple[tuple[str, Expression], ...] = ()
    if part:
        scale = steps.apply("reciprocal", steps.apply("sqrt", steps.apply("add", steps.parameter(2), steps.constant(1e-5))))
        result = steps.apply("mul", result, scale)
        functors = (("Moments", Expression((Load(4, F32, identity((1, m, 2 * k // part))),), (0,))),)
    biased = steps.apply("add", result, steps.load(3, F32 if part else F16, from_strides(where, (0, 0, 1))))
    steps.store(biased, 2, F16, identity(where))
    functors = (("Epilogue", steps.expression()), *functors)
    yield from best((m, n, k), functors, 5 if part else 4, moment_parts=k // part if part else 0, moment_columns=part)


def best(
    extents: tuple[int, int, int], functors: tuple[tuple[str, Expression], ...], pointers: int, **more: int
) -> Iterator[KernelRequest]:
    """Yield the best schedules of a product of (m, n, k) extents, by the ranking, of different tiles."""
    m, n, k = extents
    functors = (("A", plain(0, m, k)), ("B", plain(1, n, k)), *functors)
    fields: dict[str, Any] = {"batch": 1, "m": m, "n": n, "k": k, "a_k_last": True, "b_k_last": True, "multiply": F16, **more}
    by_wgmma = gemm_wgmma.FAMILY.fitted(gemm_wgmma.Problem(**fields, b_is_constant=True), dict(functors))
    problems: tuple[tuple[str, Any], ...] = (("gemm_mma", gemm_mma.Problem(**fields, b_is_constant=True)), ("gemm_wgmma", by_wgmma))
    for name, problem, schedule in ranked(problems, lambda s: (s.tile_m, s.tile_n, s.threads, s.cluster_k), count=BUILT):
        yield KernelRequest(family=name, problem=problem, schedule=schedule, functors=functors, pointers=pointers)


def norm(shape: Shape) -> Graph:
    """Return the graph of one kernel that normalises rows."""
    m, n, *_ = shape
    s = GraphBuilder()
    x = s.input("x", TensorType(F16, (m, n)))
    weights = [s.constant(np.linspace(0.5, 1.5, n, dtype=np.float16)) for _ in range(2)]
    return Graph(tuple(s.inputs().items()), (("y", s.node("LayerNormalization", (x, *weights))),), tuple(s.nodes))


def built() -> Iterator[Part]:
    """Yield the kernels."""
    sm_90a = target("sm_90a")
    for shape in SHAPES:
        for part in (0, PART):
            for role, requests in (("statistics" if part else "product", producers), ("folded" if part else "consumer", consumers)):
                for number, request in enumerate(requests(shape, part)):
                    yield compiled(shape, role, request, number=number)
        (kernel,) = plan(pipeline.run(norm(shape)), sm_90a, lambda kind, problem, on: kind.choose(problem, on), fp32_mode="ffma").kernels
        yield compiled(shape, "norm", kernel.request, number=0, geometry=kernel.geometry)


def measure(shape: Shape, kernels: Sequence[Part], cuda: Any) -> list[dict[str, Any]]:
    """Time each kernel alone, and the best ones behind each other, with programmatic edges."""
    import torch

    types = {2: torch.half, 4: torch.float32}
    held: list[Any] = []

    def launcher(kernel: Part) -> Launch:
        found = {s.number: torch.rand(s.elements, device="cuda").to(types[s.dtype.bytes]) for s in kernel.slots}
        spare = torch.zeros(64, device="cuda")
        held.append((found, spare))
        function = cuda.function(kernel)
        block = cuda.block(kernel, [found.get(number, spare).data_ptr() for number in range(kernel.pointers)])
        return lambda _number: cuda.launch(kernel, function, block, is_dependent=True)

    single = {kernel.label: launcher(kernel) for kernel in kernels}
    alone = _medians({label: [call] for label, call in single.items()})
    best = {
        role: min((k.label for k in kernels if k.role == role), key=alone.__getitem__) for role in dict.fromkeys(k.role for k in kernels)
    }
    together = _medians({name: [single[best[role]] for role in roles] for name, roles in CHAINS.items()})
    print(f"-- {'x'.join(map(str, shape))}")
    for label in best.values():
        print(f"   {alone[label]:8.2f} us {label}")
    for name, us in together.items():
        print(f"   {us:8.2f} us {name}")
    return [{"shape": shape, "label": label, "us": us} for label, us in (*alone.items(), *together.items())]


def _medians(contenders: Mapping[str, Sequence[Launch]]) -> dict[str, float]:
    """Return the microseconds of each sequence of launches."""
    from tests.bench.gemm.measure import captured, in_turns, timed

    def sequence(calls: Sequence[Launch]) -> Launch:
        def run_all(number: int) -> None:
            for call in calls:
                call(number)

        return run_all

    graphs = {}
    for label, calls in contenders.items():
        estimate = timed(captured(sequence(calls), 4)) / 4
        launches = int(max(4, min(200, GRAPH_US / max(1.0, estimate))))
        graphs[label] = captured(sequence(calls), launches), launches
    return {label: statistics.median(times) for label, times in in_turns(graphs, TURNS).items()}


if __name__ == "__main__":
    sys.exit(command(sys.argv[1:], __doc__, built, measure))

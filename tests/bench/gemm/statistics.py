"""Measures what statistics of a product's rows cost, and what whoever normalises them could save.

Usage:
    python -m tests.bench.gemm.statistics build FILE           compile the kernels for sm_90a; needs no GPU
    python -m tests.bench.gemm.statistics run FILE OUT.json    measure them; needs a GPU and torch

Of each product with a bias and a residual, without statistics and with them, the best schedules by the ranking; LayerNormalization of its
result as one row kernel; and what would take its place: a row kernel that finishes the statistics, and a pointwise one that normalises.
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

SHAPES = ((128, 768, 768), (128, 768, 3072), (197, 768, 3072), (1576, 768, 768), (6304, 768, 3072), (4096, 2048, 2048))
"""m, n, k."""
PART = 32
BUILT = 4
GRAPH_US = 800
TURNS = 9
CHAINS = {
    "product, norm": ("product", "norm"),
    "product, moments": ("product", "moments"),
    "statistics, finish": ("statistics", "finish"),
    "statistics, finish, normalise": ("statistics", "finish", "normalise"),
}
"""Kernels behind each other, the best of each."""

Launch = Callable[[int], None]
"""Launches something, told the number of the launch."""


def products(shape: Shape, part: int) -> Iterator[KernelRequest]:
    """Yield the best schedules of a product with a bias and a residual; with statistics of parts of its rows where PART is not 0."""
    m, n, k = shape
    a, b = (Expression((Load(slot, F16, identity((1, rows, k))),), (0,)) for slot, rows in ((0, m), (1, n)))
    steps, where = Steps(), (1, m, n)
    biased = steps.apply("add", steps.parameter(0), steps.load(3, F16, from_strides(where, (0, 0, 1))))
    summed = steps.apply("add", biased, steps.load(4, F16, identity(where)))
    rounded = steps.apply("cast_f32_f16", summed) if part else summed
    steps.store(rounded, 2, F16, identity(where))
    functors: tuple[tuple[str, Expression], ...] = (("A", a), ("B", b), ("Epilogue", steps.expression(*[rounded][: bool(part)])))
    if part:
        finish = Steps()
        for number in range(2):
            finish.store(finish.parameter(number), 5, F32, from_strides((1, m, n // part), (0, 2 * n // part, 2), number))
        functors = (*functors, ("Statistics", finish.expression()))
    extents: dict[str, Any] = {
        "batch": 1,
        "m": m,
        "n": n,
        "k": k,
        "a_k_last": True,
        "b_k_last": True,
        "multiply": F16,
        "part_columns": part,
    }
    problems: tuple[tuple[str, Any], ...] = (
        ("gemm_mma", gemm_mma.Problem(**extents, b_is_constant=True)),
        ("gemm_wgmma", gemm_wgmma.Problem(**extents, b_is_constant=True)),
    )
    for name, problem, schedule in ranked(problems, lambda s: (s.tile_m, s.tile_n, s.threads), count=BUILT):
        yield KernelRequest(family=name, problem=problem, schedule=schedule, functors=functors, pointers=6 if part else 5)


def norms(shape: Shape) -> Iterator[tuple[str, Graph]]:
    """Yield the graphs of one kernel each that normalise rows: all of it, its statistics alone, the end of these, and what is left then."""
    m, n, _ = shape
    parts = n // PART
    s = GraphBuilder()
    x = s.input("x", TensorType(F16, (m, n)))
    weights = [s.constant(np.linspace(0.5, 1.5, n, dtype=np.float16)) for _ in range(2)]
    yield "norm", Graph(tuple(s.inputs().items()), (("y", s.node("LayerNormalization", (x, *weights))),), tuple(s.nodes))
    s = GraphBuilder()
    x = s.input("x", TensorType(F16, (m, n)))
    axis = s.constant(np.array([1]))
    wide = s.node("Cast", (x,), to=1)
    mean = s.node("ReduceMean", (wide, axis))
    distance = s.node("Sub", (wide, mean))
    variance = s.node("ReduceMean", (s.node("Mul", (distance, distance)), axis))
    scale = s.node("Reciprocal", (s.node("Sqrt", (s.node("Add", (variance, s.constant(np.float32(1e-5)))),)),))
    yield "moments", Graph(tuple(s.inputs().items()), (("mean", mean), ("scale", scale)), tuple(s.nodes))
    s = GraphBuilder()
    means, squares = (s.input(name, TensorType(F32, (m, parts))) for name in ("means", "squares"))
    axis = s.constant(np.array([1]))
    mean = s.node("ReduceMean", (means, axis))
    distance = s.node("Sub", (means, mean))
    own = s.node("Mul", (s.node("Mul", (distance, distance)), s.constant(np.float32(PART))))
    variance = s.node("Div", (s.node("ReduceSum", (s.node("Add", (squares, own)), axis)), s.constant(np.float32(n))))
    scale = s.node("Reciprocal", (s.node("Sqrt", (s.node("Add", (variance, s.constant(np.float32(1e-5)))),)),))
    yield "finish", Graph(tuple(s.inputs().items()), (("mean", mean), ("scale", scale)), tuple(s.nodes))
    s = GraphBuilder()
    x, mean, scale = (s.input(name, TensorType(t, (m, d))) for name, t, d in (("x", F16, n), ("mean", F32, 1), ("scale", F32, 1)))
    weights = [s.constant(np.linspace(0.5, 1.5, n, dtype=np.float32)) for _ in range(2)]
    moved = s.node("Mul", (s.node("Sub", (s.node("Cast", (x,), to=1), mean)), scale))
    result = s.node("Cast", (s.node("Add", (s.node("Mul", (moved, weights[0])), weights[1])),), to=10)
    yield "normalise", Graph(tuple(s.inputs().items()), (("y", result),), tuple(s.nodes))


def built() -> Iterator[Part]:
    """Yield the kernels."""
    sm_90a = target("sm_90a")
    for shape in SHAPES:
        for role, part in (("product", 0), ("statistics", PART)):
            for number, request in enumerate(products(shape, part)):
                yield compiled(shape, role, request, number=number)
        for role, graph in norms(shape):
            (kernel,) = plan(pipeline.run(graph), sm_90a, lambda kind, problem, on: kind.choose(problem, on)).kernels
            yield compiled(shape, role, kernel.request, number=0, geometry=kernel.geometry)


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
